"""L-moments of samples are those of their distributions."""

from __future__ import annotations

import numpy as np
import pytest

from bursar.beliefs.l_moments import EXPONENTIAL_KURTOSIS, l_kurtosis, l_skewness


def ratios_of(draw: str) -> tuple[float, float]:
    """Means over samples of 4,000."""
    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        draws = {
            "uniform": rng.uniform(1, 2, 4000),
            "normal": rng.normal(10, 1, 4000),
            "exponential": rng.exponential(1, 4000),
            "pareto": 1 + rng.pareto(2.5, 4000),
        }
        sample = np.sort(draws[draw])
        found.append((l_skewness(sample), l_kurtosis(sample)))
    skewness, kurtosis = np.mean(found, axis=0)
    return float(skewness), float(kurtosis)


@pytest.mark.parametrize(
    ("draw", "skewness", "kurtosis"),
    [
        ("uniform", 0.0, 0.0),
        ("normal", 0.0, 0.1226),
        ("exponential", 1 / 3, 1 / 6),
        ("pareto", 0.538, 0.359),
    ],
)
def test_the_ratios_are_those_of_the_distribution(draw, skewness, kurtosis):
    """Hosking 1990, table 1; of a generalised Pareto distribution by its formulas."""
    assert ratios_of(draw) == pytest.approx((skewness, kurtosis), abs=0.02)


def test_few_or_equal_values_tell_nothing():
    for sample in (np.array([1.0, 2.0, 9.0]), np.full(30, 7.0)):
        assert l_skewness(sample) == 0.0
        assert l_kurtosis(sample) == EXPONENTIAL_KURTOSIS
