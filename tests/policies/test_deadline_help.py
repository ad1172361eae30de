"""A spot offer in the market does not make a deadline fail that would be met without it."""

from __future__ import annotations

from random import Random

import pytest

from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import Bag
from bursar.runs.faults import Faults
from bursar.runs.request import Request
from bursar.runs.study import Subject, study
from bursar.simulate.faults import given
from bursar.simulate.spot_trace import SpotTrace

SPOT = Offer("spot", Money.parse("0.0003"), SECOND, MINUTE, 10, 45 * SECOND, pool="unreliable")
SURE = Offer("sure", Money.parse("0.0009"), SECOND, MINUTE, 15, 45 * SECOND, slots=2)
ABSENT = SpotTrace(HOUR, (0,) * 999 + (10,))
"""comes so late that no run sees it"""


def runs_with(trace, *, deadline, budget=None, seeds=range(3), tasks=100, mean=3 * MINUTE):
    def runtimes(seed):
        rng = Random(seed)
        return given([rng.randrange(mean // 2, 3 * mean // 2) for _ in range(tasks)])

    request = Request(
        market=Market("USD", "undated", (SPOT, SURE)),
        goal=Goal(deadline=deadline, budget=budget),
        bag=Bag(count=tasks),
    )
    return study(Subject(request, runtimes), Faults(0.0, 1.0, None, 0, (trace,)), seeds).runs


def test_a_deadline_is_met_where_no_spot_machine_ever_comes():
    for one in runs_with(ABSENT, deadline=30 * MINUTE):
        assert one.tasks.done == 100
        assert one.makespan_s <= 30 * 60


def test_a_deadline_is_met_where_spot_machines_go_all_the_time():
    flaky = SpotTrace(2 * MINUTE, (10, 0, 3, 0, 0))
    for one in runs_with(flaky, deadline=40 * MINUTE):
        assert one.tasks.done == 100


def test_reliable_machines_are_left_out_where_spot_does_it_in_time():
    for one in runs_with(SpotTrace(HOUR, (10,)), deadline=10 * HOUR):
        assert one.tasks.done == 100
        assert float(one.money.committed) < 100 * 250 * 0.0003


def test_where_the_budget_pays_no_reliable_machine_for_the_rest_none_is_rented_for_the_deadline():
    steady = SpotTrace(HOUR, (4,))
    budget = Money.parse("7")  # the rest would cost 8.10 at least on reliable machines of one slot
    for one in runs_with(steady, deadline=80 * MINUTE, budget=budget, mean=5 * MINUTE):
        assert float(one.money.committed) <= 7


@pytest.mark.parametrize("seed", range(12))
def test_a_deadline_on_random_spot_is_met(seed):
    rng = Random(seed)
    seen = [rng.choice((0, 0, 2, 5, 10)) for _ in range(60)]
    trace = SpotTrace(3 * MINUTE, (*seen, 10))
    for one in runs_with(trace, deadline=45 * MINUTE, seeds=range(seed, seed + 3)):
        assert one.tasks.done == 100
