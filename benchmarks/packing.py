"""A workflow of 10,568 tasks packed onto machines of four offers: compiled, beside the engine.

The Montage of `makespan`, and each task meant for an offer at random; the offers have 64 machines
each. Everything is on one core and waits for nothing, so that processor time is what counts;
compiling does not. The engine executes the first sample only, which must take and cost the same.
"""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from benchmarks.makespan import Instance, read_workflow
from benchmarks.measure import Goal, Line, Result, best_of
from bursar.engine.roles import Policy
from bursar.model.assigned import Assigned
from bursar.model.dag import dag_of
from bursar.model.goal import Goal as RunGoal
from bursar.model.market import Market, Offer
from bursar.model.money import ZERO, Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import Work
from bursar.model.workflow import Workflow
from bursar.plan.workflow.packing import Packing
from bursar.plan.workflow.urgency import urgency
from bursar.policies.place.assigned import AssignedPlacer
from bursar.policies.provision.prob import Prob
from bursar.policies.replicate.none import NoReplicas
from bursar.simulate.faults import ModelledBehaviour
from bursar.simulate.run import simulate
from bursar.state.events import AnyEvent, PlanChosen, WorkArrived
from bursar.state.state import RunState
from bursar.state.view import Machine

Integers = NDArray[np.int64]

MACHINES = 64
SAMPLES = 100
SPREAD = 0.3
LEAST_MILLIONS = 3.0
OFFERS = (
    Offer("tiny", Money.parse("0.0001"), SECOND, boot=30 * SECOND),
    Offer("small", Money.parse("0.01"), MINUTE, boot=30 * SECOND, speed=1.5),
    Offer("medium", Money.parse("0.05"), 10 * MINUTE, boot=MINUTE, speed=2.0),
    Offer("large", Money.parse("0.50"), HOUR, boot=MINUTE, speed=3.0, slots=2),
)


def make_flow(workflow: Instance) -> Workflow:
    tasks = len(workflow.parents)
    return Workflow(
        name=workflow.name,
        names=tuple(map(str, range(tasks))),
        parents=tuple(map(tuple, workflow.parents)),
        kind_names=("any",),
        kinds=(0,) * tasks,
        runtimes=tuple(workflow.runtimes),
    )


def draw_runtimes(workflow: Instance, assigned: Integers) -> Integers:
    """Each task's run time on its offer, times a factor of median 1."""
    rng = np.random.default_rng(1)
    speeds = np.array([offer.speed for offer in OFFERS])[assigned]
    factors = rng.lognormal(0, SPREAD, (SAMPLES, len(assigned)))
    drawn = factors * np.array(workflow.runtimes) / speeds * SECOND
    runtimes: Integers = np.maximum(1, np.rint(drawn)).astype(np.int64)
    return runtimes


def execute(flow: Workflow, assigned: Integers, runtimes: Integers) -> RunState:
    """One execution, with the engine."""
    names, times = tuple(offer.name for offer in OFFERS), runtimes.tolist()
    plan = PlanChosen(
        0,
        "plan",
        dict.fromkeys(names, MACHINES),
        0,
        0,
        ZERO,
        ZERO,
        assigned=Assigned(names, tuple(assigned.tolist())),
    )

    def runtime(task: int, machine: Machine) -> int:
        return int(times[task - 1])

    prob = Prob()
    policy = Policy(prob, AssignedPlacer(prob), NoReplicas())
    arrivals: list[AnyEvent] = [WorkArrived(0, Work(flow)), plan]
    market = Market("USD", "undated", OFFERS)
    return simulate(market, RunGoal(), arrivals, policy, ModelledBehaviour(runtime))


def measure(rounds: int) -> Result:
    workflow = read_workflow()
    flow, dag = make_flow(workflow), dag_of(workflow.parents)
    assigned = np.random.default_rng(0).integers(0, len(OFFERS), len(dag))
    runtimes = draw_runtimes(workflow, assigned)
    packing, fleet = Packing(dag, urgency(flow), OFFERS), [MACHINES] * len(OFFERS)
    packing.run(assigned, fleet, runtimes[:1])  # compiled, or loaded, before the clock runs

    def sample() -> float:
        began = time.process_time()
        packing.run(assigned, fleet, runtimes)
        return time.process_time() - began

    best = best_of({"bursar": sample}, rounds)["bursar"]
    began = time.process_time()
    state = execute(flow, assigned, runtimes[0])
    engine = time.process_time() - began
    found = packing.run(assigned, fleet, runtimes[:1])
    same = found.makespans[0] == state.last_settled and found.cost(0) == state.ledger.committed
    assert same, "the engine executes it otherwise"
    millions = len(dag) * SAMPLES / best / 1e6
    note = f"{len(dag) / engine:,.0f} tasks a second, {engine * SAMPLES / best:,.0f} times as long"
    return Result(
        title=f"{len(dag):,} tasks ({workflow.name}) packed onto {sum(fleet)} machines",
        lines=[
            Line(f"{SAMPLES:,} executions", 1000 * best, "ms", "on one core"),
            Line("the engine, once", 1000 * engine, "ms", note),
        ],
        goals=[Goal("tasks a second", millions, ">=", LEAST_MILLIONS, "million")],
    )
