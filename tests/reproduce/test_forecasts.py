"""Forecasts of runs come true about as often as they say, in a small part of `forecasts`."""

from __future__ import annotations

from statistics import fmean

import pytest

from bursar.model.work import Bag
from bursar.reproduce.forecast_cases import KINDS, ForecastCase, states_at
from bursar.reproduce.forecasts import judged_forecasts
from bursar.state import events as ev

CHEAP = (
    "by the hour, a fleet that stays, deadline",
    "by the hour, a fleet that stays, budget",
    "heavy tail, deadline",
    "failing tasks, both",
    "machines that are lost, both",
)


@pytest.fixture(scope="module")
def judged():
    return [
        one
        for kind in CHEAP
        for number in range(18)
        for one in judged_forecasts(ForecastCase(kind, number, "tests"), draws=8)
    ]


def test_the_chance_of_keeping_budget_and_deadline_is_calibrated(judged):
    """Some 260 forecasts of 90 runs: by chance alone, shares differ by 0.13 in a case of 20."""
    told = [one.made.chance for one in judged]
    assert fmean(told) == pytest.approx(fmean(one.is_kept for one in judged), abs=0.13)
    for low, high in ((0.0, 0.3), (0.3, 0.7), (0.7, 1.01)):
        some = [one for one in judged if low <= one.made.chance < high]
        assert len(some) > 20, "goals are neither safe nor hopeless"
        kept = fmean(one.is_kept for one in some)
        assert kept == pytest.approx(fmean(one.made.chance for one in some), abs=0.22)


def test_half_of_all_ends_are_below_the_p50_and_nine_in_ten_below_the_p90(judged):
    """The forecasts of a run share its luck: 90 runs deviate by 0.05, and 0.03 at the P90."""
    assert fmean(one.end < one.ends[1] for one in judged) == pytest.approx(0.5, abs=0.15)
    assert fmean(one.end <= one.ends[2] for one in judged) == pytest.approx(0.9, abs=0.12)
    assert fmean(one.cost <= one.costs[2] for one in judged) > 0.78


def test_a_state_at_a_moment_has_all_events_up_to_it():
    case = ForecastCase(CHEAP[0], 0)
    events = case.events()
    for moment, state in states_at(events, [case.typical // 2, 2 * case.typical]):
        assert state.events == sum(event.at <= moment for event in events)
    assert state.ended is not None


def test_goals_are_what_is_limited():
    for kind in KINDS:
        case = ForecastCase(kind, 0)
        assert (case.goal.deadline is None) == (case.kind.limited == "budget")
    arrived = next(one for one in case.events() if isinstance(one, ev.WorkArrived))
    assert isinstance(arrived.work.tasks, Bag)
