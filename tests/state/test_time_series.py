"""Demand and supply over time are what they were, in limited memory."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.state.anything import OWNERS, Anything

from bursar.model.time import SECOND
from bursar.state import time_series
from bursar.state.read_only import view_of
from bursar.state.task_status import READY, RUNNING
from bursar.state.time_series import STEP, AccountSeries, TimeSeries


class Remembered:
    """Every change of a number, and what follows from it."""

    def __init__(self):
        self.changes = [(0, 0)]

    def note(self, at, value):
        self.changes.append((at, value))

    def at(self, moment):
        return [value for at, value in self.changes if at <= moment][-1]

    def mean(self, begin, end):
        times = sorted({begin, end, *(at for at, _ in self.changes if begin < at < end)})
        spans = pairwise(times)
        return sum(self.at(one) * (other - one) for one, other in spans) / (end - begin)


@given(st.lists(st.tuples(st.sampled_from((0, 1, STEP - 1, STEP, 7 * STEP)), st.integers(-5, 9))))
def test_values_and_means_at_steps_are_those_of_all_changes(changes):
    series, all_of_them, now = TimeSeries(), Remembered(), 0
    for gone, by in changes:
        now += gone
        series.change(by, now)
        all_of_them.note(now, series.value)
    steps = range(0, now + 3 * STEP, STEP)
    assert [series.at(step) for step in steps] == [all_of_them.at(step) for step in steps]
    for begin, end in pairwise(steps):
        assert series.mean(begin, end) == pytest.approx(all_of_them.mean(begin, end))
        assert series.mean(0, end) == pytest.approx(all_of_them.mean(0, end))


def test_of_long_ago_only_means_over_long_times_are_known(monkeypatch):
    monkeypatch.setattr(time_series, "KEPT", 16)
    series, all_of_them, rng = TimeSeries(), Remembered(), Random(1)
    for number in range(500):
        series.change(rng.randint(-3, 5), number * STEP)
        all_of_them.note(number * STEP, series.value)
        assert len(series.times) <= 2 * 16
    steps = range(484 * STEP, 500 * STEP, STEP)
    assert [series.at(step) for step in steps] == [all_of_them.at(step) for step in steps]
    kept = series.times
    assert series.mean(0, kept[3]) == pytest.approx(all_of_them.mean(0, kept[3]))
    assert series.mean(kept[1], kept[9]) == pytest.approx(all_of_them.mean(kept[1], kept[9]))


def test_intervals_that_have_ended_are_reported_with_the_last_at_the_end():
    series = AccountSeries()
    for number in range(1, 7):
        series.change(1, number * 10 * SECOND, "ann")
    assert series.means(20 * SECOND, 2, 55 * SECOND) == [0.5, 2.5]
    assert series.means(20 * SECOND, 9, 55 * SECOND, "ann") == [0.5, 2.5]
    assert series.means(10 * SECOND, 3, 60 * SECOND) == [3, 4, 5]
    assert series.means(10 * SECOND, 3, 60 * SECOND, "bob") == [0, 0, 0]
    assert (series.now(), series.now("ann"), series.now("bob")) == (6, 6, 0)


def eligible(state, owners):
    return sum(
        state.status[task] in (READY, RUNNING)
        and state.work[state.work_of(task) - 1][1].owner in owners
        for task in range(1, state.total + 1)
    )


def slots_up(state, accounts):
    machines = [one for one in state.machines.values() if one.up is not None]
    return sum(one.offer.slots for one in machines if one.account in accounts)


@given(st.integers(0, 10**9), st.integers(0, 80))
def test_demand_and_supply_are_those_of_a_look_at_everything_also_after_a_resume(seed, resumed):
    run, whose = Anything(Random(seed)), {"": OWNERS, **{owner: (owner,) for owner in OWNERS}}
    reported = {(what, one): Remembered() for what in ("demand", "supply") for one in whose}
    for number in range(81):
        if number:
            run.happen()
        if number == resumed:
            run.resume()
        for account, owners in whose.items():
            reported["demand", account].note(run.scene.at, eligible(run.state, owners))
            reported["supply", account].note(run.scene.at, slots_up(run.state, owners))
    view = view_of(run.state)
    for (what, account), all_of_them in reported.items():
        series = view.demand if what == "demand" else view.supply
        assert series.now(account) == all_of_them.changes[-1][1]
        for step in range(0, run.scene.at + STEP, STEP):
            assert series.at(step, account) == all_of_them.at(step)
        for count in range(1, 9):
            expected = all_of_them.mean(0, count * STEP)
            assert series.mean(0, count * STEP, account) == pytest.approx(expected)


def test_elasticity_metrics_follow_from_demand_and_supply_at_steps():
    demand, supply, machines = AccountSeries(), AccountSeries(), 5
    wanted, there = (2, 4, 4, 3, 1), (2, 3, 4, 4, 2)
    for number in range(5):
        demand.change(wanted[number] - demand.now(), number * STEP)
        supply.change(there[number] - supply.now(), number * STEP)
    steps = range(0, 5 * STEP, STEP)
    pairs = [(demand.at(step), supply.at(step)) for step in steps]
    whole = len(pairs) * machines
    assert sum(max(0, d - s) for d, s in pairs) / whole == pytest.approx(0.04)
    assert sum(max(0, s - d) for d, s in pairs) / whole == pytest.approx(0.08)
    assert sum(max(0, s - d) / max(d, 1) for d, s in pairs) / 5 == pytest.approx(0.2667, abs=1e-4)
    assert sum(d > s for d, s in pairs) / 5 == 0.2
    assert sum(s > d for d, s in pairs) / 5 == 0.4
    assert supply.mean(0, 5 * STEP) == 3
