"""What a sample tells of tasks longer than any it has."""

from __future__ import annotations

import numpy as np
import pytest

from bursar.beliefs.tail_shapes import (
    MISSING_SHAPE,
    chance_of_missing,
    draw_tails,
    l_kurtosis,
    l_skewness,
    likely_shape,
    longest_kind,
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


@pytest.mark.parametrize(
    ("draw", "kurtosis"),
    [("uniform", 0.0), ("normal", 0.1226), ("exponential", 1 / 6), ("pareto", 0.359)],
)
def test_the_l_kurtosis_is_that_of_the_distribution(draw, kurtosis):
    """Hosking 1990, table 1; of a generalised Pareto distribution by its formula."""
    found = np.mean([l_kurtosis(sample_of(draw, seed)) for seed in range(20)])
    assert found == pytest.approx(kurtosis, abs=0.02)


def test_heavier_bags_have_heavier_tails():
    shapes = [usual_shape(sample_of(one)) for one in ("uniform", "normal", "exponential", "pareto")]
    assert shapes == sorted(shapes)


@pytest.mark.parametrize(
    ("draw", "skewness"), [("uniform", 0.0), ("normal", 0.0), ("exponential", 1 / 3)]
)
def test_the_l_skewness_is_that_of_the_distribution(draw, skewness):
    """Hosking 1990, table 1."""
    found = np.mean([l_skewness(sample_of(draw, seed)) for seed in range(20)])
    assert found == pytest.approx(skewness, abs=0.01)


def test_a_power_tail_is_seen_before_its_longest_tasks_are():
    """Of samples with the same L-kurtosis, the one whose logarithms lean to the long side."""
    rng = np.random.default_rng(6)
    bags = {
        "pareto": lambda: 1 + rng.pareto(2.5, 30),
        "weibull": lambda: rng.weibull(0.7, 30),
    }
    shapes = {}
    for name, draw in bags.items():
        samples = [np.sort(draw()) for _ in range(600)]
        alike = [one for one in samples if 0.25 < l_kurtosis(one) < 0.3]
        shapes[name] = np.mean([likely_shape(one) for one in alike])
    assert shapes["pareto"] > shapes["weibull"] + 0.2


def test_logarithms_that_lean_to_the_short_side_do_not_end_a_tail():
    flat = np.linspace(0.1, 1.9, 60)
    assert l_skewness(np.log(flat)) < -0.2
    assert likely_shape(flat) == usual_shape(flat)
    assert likely_shape(flat) < -0.5


@pytest.mark.parametrize("size", [1, 2, 4])
def test_a_tiny_sample_tells_no_skewness(size):
    sample = np.array([1.0, 10.0, 100.0, 101.0][:size])
    assert l_skewness(sample) == 0
    assert likely_shape(sample) == usual_shape(sample)


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


def test_one_long_task_is_no_kind():
    sample = np.append(np.linspace(1, 2, 29), 9.0)
    assert longest_kind(sample) == 30


def test_tasks_like_no_other_tell_that_long_ones_may_be_missing():
    """Good and Turing: what was seen once tells of what was not seen."""
    alike = np.linspace(10, 20, 30)
    odd = np.sort(np.append(alike[3:], [0.1, 0.5, 2.0]))
    assert chance_of_missing(alike) < 0.01
    assert chance_of_missing(odd) > 0.15
    tails = draw_tails(odd, 4000, np.random.default_rng(0))
    goes_on = tails.longest == 0
    assert usual_shape(odd) > 0.1
    assert np.mean(goes_on) == pytest.approx(chance_of_missing(odd), abs=0.03)
    assert (tails.scale[goes_on] == MISSING_SHAPE).all()


def test_run_times_far_apart_tell_the_same():
    kinds = np.sort(np.concatenate([np.linspace(1, 1.2, 15), np.linspace(50, 60, 15)]))
    assert chance_of_missing(kinds) > 0.1


def test_more_draws_go_on_where_the_tail_would_end_with_the_sample():
    """Two kinds far apart, and nothing beyond: a third may be missing. 15 tasks do not tell."""
    rng = np.random.default_rng(3)
    ended = np.sort(np.concatenate([np.linspace(1, 30, 25), np.full(5, 31.0), np.full(10, 0.2)]))
    assert usual_shape(ended) < -0.5
    for sample, times in ((ended, 1.5), (ended[::2], 0.9)):
        goes_on = np.mean(draw_tails(sample, 4000, rng).longest == 0)
        assert times < goes_on / chance_of_missing(sample) < times + 0.6


def test_a_large_sample_is_not_likely_to_miss_a_kind():
    odd = np.sort(np.append(np.linspace(10, 20, 27), [0.1, 0.5, 2.0]))
    many = np.sort(np.append(np.linspace(10, 20, 5997), [0.1, 0.5, 2.0]))
    assert chance_of_missing(many) < chance_of_missing(odd) / 5


def test_tasks_that_are_all_alike_have_no_tail():
    tails = draw_tails(np.full(30, 7.0), 20, np.random.default_rng(0))
    assert not tails.longest.any()
    assert not tails.scale.any()
    assert threshold_counts(1) == []
    assert max(threshold_counts(2)) == 1
