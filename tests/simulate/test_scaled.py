"""What is kept of a run whose machines come and go: demand and supply at any moment."""

from __future__ import annotations

import msgspec
import numpy as np

from bursar.engine.roles import Policy
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import MINUTE, SECOND
from bursar.model.work import Work
from bursar.model.workflow_builder import WorkflowBuilder
from bursar.model.workload import Arrival, Workload
from bursar.policies.place.backfill import BackfillPlacer
from bursar.policies.provision.react import React
from bursar.policies.replicate.none import NoReplicas
from bursar.simulate.scaled import NEVER, counted_at, demand_at, run_scaled, supply_at
from bursar.simulate.workloads.generate import generate
from bursar.simulate.workloads.spec import Poisson, SizeClass, WorkloadSpec

OFFER = Offer("one", Money.parse("0.01"), MINUTE, limit=2, boot=5 * SECOND)
MARKET = Market("USD", "undated", (OFFER,))


def fork(seconds=10):
    """One task, then two that need it."""
    builder = WorkflowBuilder("fork")
    builder.task("first", runtime=seconds)
    builder.task("left", needs=["first"], runtime=seconds)
    builder.task("right", needs=["first"], runtime=seconds)
    return Work.of_dag(builder.build())


def run_of(*arrivals):
    workload = Workload(tuple(Arrival(at, work) for at, work in arrivals))
    policy = Policy(React(MARKET), BackfillPlacer(seed=1), NoReplicas())
    return run_scaled(workload, MARKET, Goal(), policy)


def test_demand_and_supply_are_those_of_the_run():
    run = run_of((0, fork()))
    assert run.schedule.is_whole
    assert run.schedule.start.tolist() == [5 * SECOND, 15 * SECOND, 15 * SECOND]
    assert run.eligible.tolist() == [0, 15 * SECOND, 15 * SECOND]
    moments = np.array([0, 4, 5, 14, 15, 24, 25], np.int64) * SECOND
    every = np.ones(3, dtype=bool)
    demand = demand_at(moments, run.eligible, run.schedule.end, every)
    assert demand.tolist() == [1, 1, 1, 1, 2, 2, 0]
    assert supply_at(moments, run.stays, MARKET).tolist() == [0, 0, 2, 2, 2, 2, 0]
    assert counted_at(moments, *run.attempts).tolist() == [0, 0, 1, 1, 2, 2, 0]
    assert [stay.rented for stay in run.stays] == [0, 0]
    assert run.decisions[0].fleet == {"one": 2}


def test_a_task_whose_parents_are_never_done_is_never_wanted():
    goal = Goal(Money.parse("0.01"))  # one machine for a minute, and no more
    workload = Workload((Arrival(0, fork(40)),))
    policy = Policy(React(MARKET), BackfillPlacer(seed=1), NoReplicas())
    run = run_scaled(workload, MARKET, goal, policy)
    assert run.state.ended.status == "budget"
    assert run.schedule.end.tolist() == [45 * SECOND, -1, -1]
    moments = np.array([44, 50, 100], np.int64) * SECOND
    every = np.ones(3, dtype=bool)
    demand = demand_at(moments, run.eligible, run.schedule.end, every)
    assert demand.tolist() == [1, 2, 2]


def test_machines_are_busy_while_files_are_read_and_written():
    builder = WorkflowBuilder("pair")
    builder.task("make", runtime=10, writes={"part": 20_000_000})
    builder.task("use", runtime=10, reads={"part": 20_000_000})
    workload = Workload((Arrival(0, Work.of_dag(builder.build())),), bandwidth=10e6)
    fast = Market("USD", "undated", (msgspec.structs.replace(OFFER, speed=2.0),))
    policy = Policy(React(fast), BackfillPlacer(seed=1), NoReplicas())
    run = run_scaled(workload, fast, Goal(), policy)
    assert (run.schedule.start / SECOND).tolist() == [5, 12], "5 s run and 2 s write, at speed 2"
    assert (run.schedule.end / SECOND).tolist() == [12, 19]


def test_no_machine_idles_while_backfill_has_a_task_to_start_also_as_machines_come_and_go():
    small, arrivals = (SizeClass(1, 24, 38),), Poisson(rate=0.02)
    spec = WorkloadSpec(kinds=(("montage", 1.0), ("sipht", 1.0)), count=12, classes=small,
                        totals=300.0, arrivals=arrivals)  # fmt: skip
    market = Market("USD", "undated", (msgspec.structs.replace(OFFER, limit=6),))
    policy = Policy(React(market), BackfillPlacer(seed=1), NoReplicas())
    run = run_scaled(generate(spec), market, Goal(), policy)
    start, end = run.schedule.start, run.schedule.end
    assert run.schedule.is_whole
    ups = np.array([stay.up for stay in run.stays if stay.up is not None])
    assert len(ups) > 12, "machines come and go"
    moments = np.unique(np.concatenate([run.eligible, end, ups]))
    waiting = counted_at(moments, run.eligible, start)
    busy = counted_at(moments, start, end)
    assert waiting.max() > 6 and (end < NEVER).all()
    assert (busy == supply_at(moments, run.stays, market))[waiting > 0].all()
