"""What a sample tells of tasks longer than any it has."""

from __future__ import annotations

import numpy as np
import pytest

from bursar.beliefs.sample_kinds import chance_of_missing, longest_kind
from bursar.beliefs.tail_shapes import (
    MISSING_SHAPE,
    draw_tails,
    shape_by_kurtosis,
    threshold_counts,
    usual_shape,
)


def sample_of(draw: str, seed: int = 0, size: int = 4000) -> np.ndarray:
    rng = np.random.default_rng(seed)
    draws = {
        "uniform": rng.uniform(1, 2, size),
        "normal": rng.normal(10, 1, size),
        "exponential": rng.exponential(1, size),
        "pareto": 1 + rng.pareto(2.5, size),
    }
    return np.sort(draws[draw])


def test_heavier_bags_have_heavier_tails():
    shapes = [usual_shape(sample_of(one)) for one in ("uniform", "normal", "exponential", "pareto")]
    assert shapes == sorted(shapes)


def test_logarithms_that_lean_to_the_long_side_tell_of_a_heavier_tail():
    """A power tail leans there, a Weibull one to the other side; a lognormal one to neither."""
    rng = np.random.default_rng(4)
    moved = {
        name: usual_shape(sample) - shape_by_kurtosis(sample)
        for name, sample in (
            ("Pareto", np.sort(1 + rng.pareto(2.5, 4000))),
            ("lognormal", np.sort(rng.lognormal(0, 1, 4000))),
            ("Weibull", np.sort(rng.weibull(0.8, 4000))),
        )
    }
    assert moved["Pareto"] > 0.1
    assert moved["lognormal"] == pytest.approx(0, abs=0.02)
    assert moved["Weibull"] < -0.05


def test_a_sample_leaves_several_shapes_possible_and_a_larger_one_fewer():
    spreads = [
        np.std(draw_tails(sample_of("exponential", 1, size), 500, np.random.default_rng(0)).shape)
        for size in (30, 3000)
    ]
    assert 0.05 < spreads[1] < spreads[0] < 0.4


def test_of_several_kinds_only_the_longest_makes_the_tail():
    """Six of thirty tasks take five times as long: no threshold is among the short ones."""
    rng = np.random.default_rng(2)
    sample = np.sort(np.concatenate([rng.normal(1, 0.1, 24), rng.normal(5, 0.5, 6)]))
    assert longest_kind(sample) == 6
    assert (draw_tails(sample, 500, rng).longest < 6).all()


def test_some_draws_go_on_beyond_a_sample_with_tasks_like_no_other():
    odd = np.sort(np.append(np.linspace(11, 20, 27), [0.1, 0.5, 2.0]))
    tails = draw_tails(odd, 4000, np.random.default_rng(0))
    goes_on = tails.longest == 0
    assert np.mean(goes_on) == pytest.approx(chance_of_missing(odd), abs=0.03)
    assert (tails.scale[goes_on] == MISSING_SHAPE).all()


def test_more_draws_go_on_where_the_tail_would_end_with_the_sample():
    """Two kinds far apart, and nothing beyond: a third may be missing. 15 tasks do not tell."""
    rng = np.random.default_rng(3)
    ended = np.sort(np.concatenate([np.linspace(1, 30, 25), np.full(5, 31.0), np.full(10, 0.2)]))
    assert usual_shape(ended) < -0.5
    for sample, times in ((ended, 1.5), (ended[::2], 0.9)):
        goes_on = np.mean(draw_tails(sample, 4000, rng).longest == 0)
        assert times < goes_on / chance_of_missing(sample) < times + 0.6


def test_tasks_that_are_all_alike_have_no_tail():
    tails = draw_tails(np.full(30, 7.0), 20, np.random.default_rng(0))
    assert not tails.longest.any()
    assert not tails.scale.any()
    assert threshold_counts(1) == []
    assert max(threshold_counts(2)) == 1
