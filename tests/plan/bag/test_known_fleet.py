"""The fleet for known run times: as fast as the budget nearly surely allows."""

from __future__ import annotations

import numpy as np
import pytest

from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.past_runtimes import PastRuntimes
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.plan.bag.known_fleet import ENOUGH, KnownRuntimes, _lognormal, _values, known_fleet

SMALL = Offer("small", Money.parse("0.00002"), SECOND, MINUTE, 30, 45 * SECOND, 2)
LARGE = Offer("large", Money.parse("0.000088"), SECOND, MINUTE, 30, 45 * SECOND, 8)
LEAST = 200 * 180 * 0.00001
"""What 200 tasks of three minutes cost at least."""


def fleet_for(factor, **options):
    known = KnownRuntimes(180 * SECOND, **{"deviation": 40 * SECOND, **options})
    return known_fleet((SMALL, LARGE), 200, known, Money.parse(f"{factor * LEAST:.6f}"))


def two_kinds(tasks=1000):
    """One task in ten takes ten times as long as the others; the mean is three minutes."""
    short = 180 * SECOND / 1.9
    return PastRuntimes.of(round(short * (10 if one % 10 == 0 else 1)) for one in range(tasks))


@pytest.mark.parametrize("factor", [1.1, 1.25, 1.6, 3.0])
def test_the_budget_does_nearly_surely_where_any_fleet_has_it(factor):
    found = fleet_for(factor)
    assert found.chance > 0.95
    assert float(found.upper_cost) <= factor * LEAST


def test_more_money_makes_it_faster():
    times = [fleet_for(factor).upper_time for factor in (1.1, 1.25, 1.6, 3.0)]
    assert times == sorted(times, reverse=True)
    assert times[-1] < times[0] / 3


def test_where_no_fleet_does_the_cheapest_tells_what_is_needed():
    found = fleet_for(0.85)
    assert found.chance == 0
    assert LEAST < float(found.cost) < 1.1 * LEAST


def test_less_is_sure_where_run_times_differ_more():
    calm, wild = (fleet_for(1.1, deviation=spread * SECOND) for spread in (10, 200))
    assert calm.upper_time < wild.upper_time or calm.chance > wild.chance


@pytest.mark.parametrize("spread", [0.0, 0.2, 1.5])
def test_run_times_have_the_mean_and_deviation_that_were_said(spread):
    sample = _lognormal(60e6, spread)
    assert sample.mean() == pytest.approx(60e6, rel=0.001)
    assert sample.std() == pytest.approx(spread * 60e6, rel=0.2, abs=1e3)


def test_a_history_is_planned_with_as_it_is():
    """No task takes longer than the longest before: the time is known much better than by moments.

    Of the same mean and deviation, a lognormal bag would have much longer tasks.
    """
    past = two_kinds()
    moments = fleet_for(1.6, deviation=past.deviation)
    history = fleet_for(1.6, deviation=past.deviation, past=past)
    longest = past.times[-1]
    assert longest < history.time
    assert history.upper_time < 1.3 * history.time
    assert history.upper_time < moments.upper_time


def test_what_a_short_history_may_have_missed_is_drawn_too():
    """With few tasks nobody knows how often the long ones come: the fleet keeps more money back."""
    few, many = (fleet_for(1.25, past=two_kinds(tasks)) for tasks in (ENOUGH // 5, 10 * ENOUGH))
    assert few.upper_cost > few.cost
    assert few.upper_time > many.upper_time or few.chance < many.chance


def test_no_fleet_next_to_the_best_is_faster_and_as_sure():
    found = fleet_for(1.25)
    assert found.chance > 0.95
    for offer in (SMALL, LARGE):
        more = Money.parse(f"{1.25 * LEAST + float(offer.price) * 600:.6f}")
        known = KnownRuntimes(180 * SECOND, 40 * SECOND)
        assert known_fleet((SMALL, LARGE), 200, known, more).upper_time <= found.upper_time


def test_money_that_is_left_counts_before_any_draw_exceeds_the_budget():
    """Fleets that end at the same time in all of 40 draws, within the budget in each or in none."""
    barely, well, amply, never = values_of([990, 950, 900, 1100], SECOND)
    assert barely > well + 0.5
    assert well == pytest.approx(amply, abs=1e-3)
    assert never == np.inf


def values_of(units, billing, more=0):
    """Of fleets that end at the same time; in one draw of 40 so many more units are charged."""
    charged = np.repeat(units, 40).reshape(len(units), 40, 1)
    charged[:, 0] += more
    ends = np.full((len(units), 40), 1000 * SECOND)
    offer = Offer("one", Money(1_000_000), billing)
    return _values(ends, charged, (offer,), Money(1_000_000_000)).tolist()


def test_whole_hours_that_the_budget_just_pays_are_as_good_as_fewer():
    barely, amply, never = values_of([999, 900, 1100], HOUR)
    assert barely == pytest.approx(amply, abs=1e-3)
    assert never == np.inf
    now_and_then, _, _ = values_of([999, 900, 1100], HOUR, more=20)
    assert now_and_then > amply + 0.2, "one draw in 40 takes another hour"


def test_a_fleet_that_fills_an_hour_is_found():
    """176 slots do 835 tasks of 12 minutes in 57 minutes, for all but 0.8 % of the money."""
    eight = Offer("eight", Money.parse("0.36"), HOUR, limit=25, boot=90 * SECOND, slots=8)
    known = KnownRuntimes(round(0.84 * 729) * SECOND, 60 * SECOND)
    found = known_fleet((eight,), 835, known, Money.parse("8"))
    assert found.fleet == {"eight": 22}
    assert found.chance == 1
    assert found.upper_time < HOUR
