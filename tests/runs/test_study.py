"""Many simulated runs of a request: which simulation does them is no concern of who asks."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from bursar.model.goal import Goal, Limits
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import Work
from bursar.model.workflow_builder import WorkflowBuilder
from bursar.runs import study as studies
from bursar.runs.faults import Faults
from bursar.runs.request import Request
from bursar.runs.study import RunQuantiles, bag_subject, study, workflow_subject

SMALL = Offer("small", Money.parse("0.01"), billing=MINUTE, limit=4)
LARGE = Offer("large", Money.parse("0.03"), billing=MINUTE, limit=2, speed=2.0)
REQUEST = Request(market=Market("USD", "2026-01-01", (SMALL, LARGE)), goal=Goal(Money.parse("50")))
NOTHING_FAILS = Faults(failing=0.0, reliability=1.0, mean_life=None, notice=0, traces=())


def fan():
    work = WorkflowBuilder("fan")
    work.task("begin", runtime=60)
    for number in range(6):
        work.task(f"work-{number}", needs=["begin"], runtime=120)
    work.task("end", needs=[f"work-{number}" for number in range(6)], runtime=60)
    return Work.of_dag(work.build())


@pytest.fixture(scope="module")
def workflow():
    return workflow_subject(REQUEST, fan(), "fastest", 1.0)


@pytest.fixture
def by_engine(monkeypatch):
    """The seeds that the engine was asked for."""
    seen, simulated = [], studies.by_engine

    def noted(subject, faults, seed):
        seen.append(seed)
        return simulated(subject, faults, seed)

    monkeypatch.setattr(studies, "by_engine", noted)
    return seen


def test_a_planned_workflow_needs_no_engine_and_goes_as_in_the_engine(workflow, by_engine):
    fast = study(workflow, NOTHING_FAILS, range(8))
    assert by_engine == []
    patient = replace(workflow.request, limits=Limits(timeout=1000 * HOUR))
    slow = study(replace(workflow, request=patient), NOTHING_FAILS, range(8))
    assert by_engine == list(range(8))
    assert fast == slow


def test_what_may_fail_is_left_to_the_engine(workflow, by_engine):
    study(workflow, replace(NOTHING_FAILS, mean_life=100 * HOUR), range(2))
    assert by_engine == [0, 1]


def test_a_bag_is_simulated_by_the_engine_seed_by_seed(by_engine):
    subject = bag_subject(REQUEST, 20, 30 * SECOND, 5 * SECOND)
    watched = []

    def watch(seeds):
        for seed in seeds:
            watched.append(seed)
            yield seed

    found = study(subject, NOTHING_FAILS, range(3, 6), watch)
    assert watched == by_engine == [3, 4, 5]
    assert [one.tasks.done for one in found.runs] == [20, 20, 20]
    assert found.fleet == {"small": 4, "large": 2}
    again = study(subject, NOTHING_FAILS, range(3, 6))
    assert found == again, "the same seeds, the same runs"


BY_SECOND = Offer("second", Money.parse("0.001"), SECOND, MINUTE, 20, 30 * SECOND, 4)


def test_a_simulated_policy_knows_run_times_only_where_they_were_reported():
    market, goal = Market("USD", "2026-01-01", (BY_SECOND,)), Goal(Money.parse("5"))
    asked = Request(market=market, goal=goal)
    reported = replace(asked, runtime=60 * SECOND, deviation=10 * SECOND)
    learned, known = (
        study(bag_subject(one, 60, 60 * SECOND, 10 * SECOND), NOTHING_FAILS, range(4))
        for one in (asked, reported)
    )
    assert {one.status for one in known.runs} == {"done"}
    assert known.makespan_s.p50 < learned.makespan_s.p50


def test_a_spread_is_of_what_was_seen():
    assert RunQuantiles.of([3.0, 1.0, 2.0]) == RunQuantiles(2.0, 3.0, 3.0)
