"""Workloads whose fleet follows demand, placed by the compiled loop just as by the engine."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.simulate.plain_placing import PlainTask, PlainWork
from tests.simulate.test_placing import KEYED, RESERVING, plain_works
from tests.simulate.whole_fleet import arriving

from bursar.beliefs.estimates import GivenByOffer
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, SECOND
from bursar.model.workload import Arrival, Workload
from bursar.policies.presets import AUTOSCALERS
from bursar.policies.provision.fixed import Fixed
from bursar.reproduce.autoscaling_setting import BOOT, market_of
from bursar.reproduce.autoscaling_setting import workload_of as published_workload
from bursar.runs.scaling_study import ScalingSetting, policy_for
from bursar.simulate import changing_fleet
from bursar.simulate.estimate_errors import EstimateError
from bursar.simulate.placing_world import why_not_compiled
from bursar.simulate.scaled import run_scaled

PLACERS = st.one_of(st.sampled_from([one for one in KEYED if "wheft" not in one]), RESERVING)
PROVISIONERS = (*AUTOSCALERS, "react:release=at-once", "plan:release=at-once")


@st.composite
def markets(draw):
    """Machines of one or several speeds, few enough that tasks wait, gone soon if idle."""
    speeds = draw(st.sampled_from([(1.0,), (2.0,), (0.5, 1.0), (1.0, 1.0, 2.0)]))
    offers = [
        Offer(
            f"offer-{place}",
            Money.parse(draw(st.sampled_from(["0.01", "0.02"]))),
            draw(st.sampled_from([1, 5, 7, 600])) * SECOND,
            limit=draw(st.sampled_from([1, 2, 3, 5])),
            boot=draw(st.sampled_from([0, 0, 1, 4, 12])) * SECOND,
            speed=speed,
        )
        for place, speed in enumerate(speeds)
    ]
    return Market("USD", "undated", tuple(offers))


def in_seconds(works):
    """The same works, with seconds for microseconds.

    No estimate is 0: `scf` rents nothing for tasks of which it expects that.
    """
    return [
        replace(
            work,
            arrived=work.arrived * SECOND,
            tasks=[
                replace(
                    task, runtime=task.runtime * SECOND, estimate=max(1, task.estimate) * SECOND
                )
                for task in work.tasks
            ],
        )
        for work in works
    ]


def workload_of(works):
    return Workload(tuple(Arrival(event.at, event.work) for event in arriving(works)))


def both(works, setting, provisioner, placer, seed=0):
    """The same by the engine and by the compiled loop."""
    workload = workload_of(works)
    known = np.array([task.estimate for work in works for task in work.tasks], np.int64)
    runs = []
    for by_engine in (True, False):
        policy = policy_for(workload, setting, provisioner, placer, known)
        assert not why_not_compiled(workload, setting.market, setting.goal, policy)
        run = run_scaled(
            workload, setting.market, setting.goal, policy, seed=seed, by_engine=by_engine
        )
        run.state.check()
        runs.append(run)
    return runs


def check_alike(by_engine, by_loop):
    """Every start, machine, fleet and charge."""
    assert by_engine.schedule.is_whole
    for column in ("start", "end", "machine"):
        found = [getattr(one.schedule, column).tolist() for one in (by_engine, by_loop)]
        assert found[0] == found[1], column
    assert by_engine.stays == by_loop.stays
    assert by_engine.decisions == by_loop.decisions
    before, after = by_engine.state, by_loop.state
    assert list(before.ledger.charges()) == list(after.ledger.charges())
    assert before.ledger.committed == after.ledger.committed
    assert before.ended == after.ended
    assert before.log.task == after.log.task


@pytest.mark.parametrize("provisioner", PROVISIONERS)
@settings(max_examples=30, deadline=None)
@given(
    works=plain_works(),
    market=markets(),
    placer=PLACERS,
    interval=st.sampled_from([2, 3, 10]),
    seed=st.integers(0, 2**40),
)
def test_starts_fleets_and_charges_are_those_of_the_engine(
    provisioner, works, market, placer, interval, seed
):
    setting = ScalingSetting(market=market, provisioners=(provisioner,), interval=interval * SECOND)
    check_alike(*both(in_seconds(works), setting, provisioner, placer, seed))


@pytest.mark.parametrize("kind", ["learned", "unknown"])
@settings(max_examples=100, deadline=None)
@given(
    works=plain_works(),
    market=markets(),
    provisioner=st.sampled_from(["react", "plan", "token"]),
    placer=PLACERS.filter(lambda placer: "owm" not in placer),
)
def test_run_times_that_nobody_knows_are_learned_as_by_the_engine(
    kind, works, market, provisioner, placer
):
    longer = in_seconds(works)
    for work in longer:
        work.tasks[:] = [replace(one, runtime=max(one.runtime, SECOND)) for one in work.tasks]
    setting = ScalingSetting(
        market=market,
        provisioners=(provisioner,),
        interval=3 * SECOND,
        error=EstimateError(kind),
    )
    check_alike(*both(longer, setting, provisioner, placer))


@settings(max_examples=30, deadline=None)
@given(works=plain_works(), market=markets(), placer=PLACERS)
def test_more_machines_than_expected_and_more_events_at_once_change_nothing(works, market, placer):
    setting = ScalingSetting(market=market, provisioners=("react",), interval=3 * SECOND)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(changing_fleet, "ROOM", 1)
        patch.setattr(changing_fleet, "MOST_LOGGED", 2)
        check_alike(*both(in_seconds(works), setting, "react", placer))


@pytest.mark.parametrize(
    ("provisioner", "placer"),
    [("conpaas", "backfill"), ("plan", "fwp"), ("token", "fdws"), ("hist", "fes:life=lazy")],
)
def test_a_workload_of_the_thesis_is_simulated_as_by_the_engine(provisioner, placer):
    workload, market = published_workload("1", 40, seed=43), market_of(BOOT)
    setting = ScalingSetting(market=market, provisioners=(provisioner,))
    found = [
        run_scaled(
            workload,
            market,
            Goal(),
            policy_for(workload, setting, provisioner, placer),
            seed=7,
            by_engine=by_engine,
        )
        for by_engine in (True, False)
    ]
    check_alike(*found)
    assert len(found[0].decisions) > 100 and len(found[0].stays) > 20


ONE = Offer("one", Money.parse("0.01"), HOUR, limit=2)
TWO = Offer("two", Money.parse("0.02"), HOUR, limit=2, speed=2.0)
PAIR = [PlainWork(0, [PlainTask(SECOND, SECOND), PlainTask(0, SECOND, (0,))])]


def reason_for(offers=(ONE,), goal=Goal(), placer="backfill", error="none", **changes):  # noqa: B008
    """Why a workload is simulated by the engine alone."""
    workload, market = workload_of(PAIR), Market("USD", "undated", offers)
    setting = ScalingSetting(
        market=market, provisioners=("react",), goal=goal, error=EstimateError(error)
    )
    policy = policy_for(workload, setting, "react", placer)
    policy = msgspec.structs.replace(policy, **changes)
    return why_not_compiled(workload, market, goal, policy)


def test_what_the_compiled_loop_does_not_do_is_left_to_the_engine():
    assert reason_for() == ""
    assert "at any event" in reason_for(provisioner=Fixed({"one": 1}))
    assert "not compiled" in reason_for(placer="follow")
    assert "not compiled" in reason_for(placer="wheft")
    assert "budget" in reason_for(goal=Goal(Money.parse("1")))
    assert "budget" in reason_for(goal=Goal(deadline=HOUR))
    assert "several slots" in reason_for((msgspec.structs.replace(ONE, slots=2),))
    assert "another way" in reason_for(runtimes=GivenByOffer({"one": [1, 1]}))
    assert "no length" in reason_for(error="learned")
    assert "waits for machines" in reason_for((ONE, TWO), placer="owm", error="unknown")
    assert reason_for((ONE,), placer="owm", error="unknown") == ""
