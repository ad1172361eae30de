"""The cases of `plan-bounds` are drawn by chance, and bounds hold in a small part of them."""

from __future__ import annotations

from statistics import fmean

import numpy as np
import pytest

from bursar.reproduce.plan_bounds import CHOICES, DEMANDED, FURTHER, outcomes_of
from bursar.reproduce.plan_bounds_cases import (
    BILLINGS,
    DRAWS,
    OTHER,
    SAMPLED,
    WAYS,
    bounds_case,
)


def test_cases_have_all_markets_sample_sizes_and_ways_to_sample():
    cases = [bounds_case("normal 0.2", number) for number in range(18)]
    found = {(case.billing, case.sampled, case.way) for case in cases}
    assert len(found) == len(BILLINGS) * len(SAMPLED) * len(WAYS)
    assert any(case.shown != case.market for case in cases)
    assert set(DEMANDED) | set(FURTHER) >= set(DRAWS)


@pytest.mark.parametrize("family", DRAWS)
def test_run_times_have_a_mean_of_one(family):
    drawn = DRAWS[family](np.random.default_rng(0), 300_000)
    assert drawn.mean() == pytest.approx(1.0, rel=0.03)
    assert drawn.min() > 0


def test_other_tasks_are_sampled_on_each_offer_where_the_case_says_so():
    for number in range(9):
        case = bounds_case("lognormal 1.5", number)
        first, second = list(case.samples().values())[:2]
        like = np.corrcoef(np.log(first), np.log(second))[0, 1]
        assert (abs(like) < 0.6) == (case.way == OTHER)


@pytest.mark.parametrize("family", ["lognormal 1.5", "Weibull 0.8", "uniform"])
def test_bounds_hold_for_skewed_and_flat_run_times(family):
    """Few samples, so the limits are wide; before, the first held in 30 to 80 %."""
    found = [one for number in range(18) for one in outcomes_of(bounds_case(family, number), 10)]
    for choice in CHOICES:
        some = [one for one in found if one.choice == choice]
        assert fmean(one.time for one in some) > 0.72
        assert fmean(one.cost for one in some) > 0.72
    assert fmean(one.time for one in found) > 0.8
