"""Run times from before: all of them, or as many quantiles as a journal holds."""

from __future__ import annotations

from random import Random
from statistics import fmean, pstdev

import pytest

from bursar.model.past_runtimes import MOST, PastRuntimes


def test_few_are_kept_as_they_are_from_short_to_long():
    past = PastRuntimes.of([3, 1, 0, 2])
    assert past.times == (1, 1, 2, 3)
    assert past.count == 4


def test_many_are_represented_by_quantiles_with_the_same_mean_and_about_the_deviation():
    rng = Random(1)
    times = [round(1e6 * rng.lognormvariate(0, 1)) for _ in range(20_011)]
    past = PastRuntimes.of(times)
    assert len(past.times) == MOST
    assert past.count == 20_011
    assert past.mean == pytest.approx(fmean(times), rel=1e-3)
    assert past.deviation == pytest.approx(pstdev(times), rel=0.1)
    assert list(past.times) == sorted(past.times)
