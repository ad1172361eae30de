"""Metrics of elasticity: hand examples, and a slow, literal transcription of the formulas."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.model.errors import InvariantError
from bursar.model.time import MINUTE
from bursar.report.elasticity import (
    charged_hours,
    elastic_slowdowns,
    elasticity,
    moments,
)


def test_the_hand_example_comes_out():
    found = elasticity([2, 4, 4, 3, 1], [2, 3, 4, 4, 2], 5)
    assert found.under == pytest.approx(0.04)
    assert found.over == pytest.approx(0.08)
    assert found.under_normalised == pytest.approx(0.05)
    assert found.over_normalised == pytest.approx(0.26666667)
    assert found.under_time == pytest.approx(0.2)
    assert found.over_time == pytest.approx(0.4)
    assert found.over_trend == pytest.approx(0.5)
    assert found.under_trend == 0
    assert found.supply == 3


def sign(value):
    return (value > 0) - (value < 0)


def literal(demand, supply, idle, size):
    """Equations 4.1 to 4.10, symbol by symbol, where demand never exceeds the system."""
    steps = range(len(demand))
    total = len(demand)
    change = max(1, total - 1)
    signs = [
        (sign(supply[t] - supply[t - 1]), sign(demand[t] - demand[t - 1])) for t in steps if t > 0
    ]
    return (
        sum(max(demand[t] - supply[t], 0) for t in steps) / (total * size),
        sum(max(supply[t] - demand[t], 0) for t in steps) / (total * size),
        sum(max(demand[t] - supply[t], 0) / max(demand[t], 1) for t in steps) / total,
        sum(max(supply[t] - demand[t], 0) / max(demand[t], 1) for t in steps) / total,
        sum(idle[t] for t in steps) / (total * size),
        sum(demand[t] > supply[t] for t in steps) / total,
        sum(supply[t] > demand[t] for t in steps) / total,
        sum(s > d for s, d in signs) / change,
        sum(s < d for s, d in signs) / change,
        sum(supply) / total,
    )


counts = st.integers(0, 9)


@given(st.lists(st.tuples(counts, counts, counts), min_size=1, max_size=30))
def test_metrics_agree_with_a_literal_transcription(steps):
    demand, supply, idle = ([step[column] for step in steps] for column in range(3))
    found = elasticity(demand, supply, 9, idle=idle)
    ours = (
        found.under,
        found.over,
        found.under_normalised,
        found.over_normalised,
        found.idle,
        found.under_time,
        found.over_time,
        found.over_trend,
        found.under_trend,
        found.supply,
    )
    assert ours == pytest.approx(literal(demand, supply, idle, 9))


def test_steps_with_demand_beyond_the_system_do_not_count():
    calm = elasticity([1, 1, 2, 2], [1, 1, 2, 2], 2)
    burst = elasticity([1, 1, 7, 9, 2, 2], [1, 1, 0, 2, 2, 2], 2)
    assert burst == calm


def test_a_system_that_was_never_large_enough_has_no_metrics():
    with pytest.raises(InvariantError, match="beyond the size"):
        elasticity([3, 4], [2, 2], 2)


def test_idle_slots_are_those_that_are_reported():
    assert elasticity([2, 2], [2, 2], 4, idle=[1, 0]).idle == pytest.approx(0.125)


def test_each_stay_of_a_machine_is_charged_in_whole_hours():
    stays = [(0, 61 * MINUTE), (100 * MINUTE, 101 * MINUTE)]
    assert charged_hours(stays) == 3


def test_moments_are_those_of_all_works():
    assert moments([1.0, 1.0]).kurtosis == -3
    found = moments([1.0, 1.0, 1.0, 5.0])
    assert (found.mean, found.deviation) == pytest.approx((2.0, 3**0.5))
    assert found.skewness == pytest.approx(1.1547, abs=1e-4)


def test_an_elastic_slowdown_compares_the_same_work():
    assert elastic_slowdowns([12.0, 30.0], [10.0, 30.0]).tolist() == pytest.approx([1.2, 1.0])
