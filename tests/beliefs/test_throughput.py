"""Throughput of offers, smoothed: equations 5.1 to 5.13 of the workload thesis by hand."""

from __future__ import annotations

from math import inf

import pytest

from bursar.beliefs.throughput import Ewma, MovingAverage, rates_of

OFFERS = ("small", "large")


def test_a_rate_is_tasks_done_for_each_machine():
    found = rates_of({"small": 6, "large": 9}, {"small": 2, "large": 3, "huge": 0})
    assert found == {"small": 3.0, "large": 3.0, "huge": 0.0}


@pytest.mark.parametrize("make", [MovingAverage, Ewma])
def test_before_anything_is_done_all_offers_share_alike(make):
    believed = make(OFFERS)
    assert believed.shares == {"small": 0.5, "large": 0.5}
    assert believed.depth == inf
    assert believed.mean == 0


def test_a_moving_average_counts_intervals_in_which_something_was_done():
    believed = MovingAverage(OFFERS, look_back=3)
    for small, large in ((1, 3), (0, 0), (2, 2)):
        believed.saw({"small": small, "large": large})
    assert believed.shares == pytest.approx({"small": (0.25 + 0.5) / 2, "large": (0.75 + 0.5) / 2})
    assert believed.mean == 2
    assert believed.depth == 2
    for _ in range(4):
        believed.saw({"small": 0, "large": 0})
    assert believed.depth == inf, "what is known is too old"


def test_where_one_offer_did_nothing_all_share_alike():
    believed = MovingAverage(OFFERS)
    believed.saw({"small": 4, "large": 0})
    assert believed.shares == {"small": 0.5, "large": 0.5}
    assert believed.mean == 2


def test_an_ewma_fades():
    believed = Ewma(OFFERS, smoothing=0.75)
    believed.saw({"small": 1, "large": 3})
    assert believed.shares == pytest.approx({"small": 0.4375, "large": 0.5625})
    assert believed.depth == 2, "a depth without end is nothing to fade from"
    believed.saw({"small": 9, "large": 9})
    assert believed.depth == 4
    assert believed.mean == 9, "demand counts the last interval only"
    believed.saw({"small": 0, "large": 4})
    assert believed.shares == {"small": 0.5, "large": 0.5}
    believed.saw({"small": 0, "large": 0})
    assert believed.depth == inf
