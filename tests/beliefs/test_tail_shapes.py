"""What a sample tells of tasks longer than any it has."""

from __future__ import annotations

import numpy as np
import pytest

from bursar.beliefs.tail_shapes import draw_tails, l_kurtosis, threshold_counts, usual_shape


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


def test_a_sample_leaves_several_shapes_possible_and_a_larger_one_fewer():
    spreads = [
        np.std(draw_tails(sample_of("exponential", 1, size), 500, np.random.default_rng(0)).shape)
        for size in (30, 3000)
    ]
    assert 0.05 < spreads[1] < spreads[0] < 0.4


def test_of_several_kinds_only_the_longest_makes_the_tail():
    """Six of thirty tasks take five times as long: thresholds among the short ones do not fit."""
    rng = np.random.default_rng(2)
    sample = np.sort(np.concatenate([rng.normal(1, 0.1, 24), rng.normal(5, 0.5, 6)]))
    tails = draw_tails(sample, 500, rng)
    assert np.mean(tails.longest < 6) > 0.8


def test_tasks_that_are_all_alike_have_no_tail():
    tails = draw_tails(np.full(30, 7.0), 20, np.random.default_rng(0))
    assert not tails.longest.any()
    assert threshold_counts(1) == []
    assert max(threshold_counts(2)) == 1
