"""Offers that look best in a sample are believed to be so no more than luck allows."""

from __future__ import annotations

import numpy as np
import pytest

from bursar.beliefs.offer_scales import draw_scales, possible_of_one_bag
from bursar.model.time import MINUTE


def samples_of(
    factors: list[float], seed: int, size: int = 30, spread: float = 1.0
) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [
        (rng.lognormal(0.0, spread, size) * factor * MINUTE).astype(np.int64) for factor in factors
    ]


def test_the_offer_whose_sample_came_out_shortest_is_not_taken_for_as_fast_as_that():
    """Six offers are alike; the mean of the best is too short by a third, what is believed not."""
    naive, believed = [], []
    for seed in range(20):
        samples = samples_of([1.0] * 6, seed)
        found = possible_of_one_bag(samples, [1.0] * 6, 100, np.random.default_rng(seed))
        best = int(np.argmin([sample.mean() for sample in samples]))
        true = np.exp(0.5) * MINUTE
        naive.append(samples[best].mean() / true)
        believed.append(float(np.median(found[best].mean())) / true)
    assert np.mean(naive) < 0.8
    assert 0.88 < np.mean(believed) < 1.12


def test_offers_that_differ_clearly_are_kept_apart():
    samples = samples_of([1.0, 4.0], 1, size=60, spread=0.3)
    slow, fast = draw_scales(samples, [1.0, 1.0], 200, np.random.default_rng(0)).usual
    assert fast - slow == pytest.approx(np.log(4), abs=0.15)


def test_given_speeds_are_believed_until_the_samples_contradict_them():
    speeds = [1.0, 2.0]
    agreeing = samples_of([1.0, 0.5], 2)
    reported = draw_scales(agreeing, speeds, 400, np.random.default_rng(0))
    untold = draw_scales(agreeing, [1.0, 1.0], 400, np.random.default_rng(0))
    assert reported.drawn.std() < untold.drawn.std()
    wrong = samples_of([1.0, 2.0], 2, size=200, spread=0.2)
    one, other = draw_scales(wrong, speeds, 400, np.random.default_rng(0)).usual
    assert other - one == pytest.approx(np.log(2), abs=0.2)


def test_dear_slots_are_believed_to_be_fast_where_the_samples_agree():
    """Speeds grow with prices; the offer that looks best for its price was lucky."""
    speeds = [1.0, 1.3, 1.6, 2.0, 2.6, 3.2]
    with_prices, without = [], []
    for seed in range(20):
        samples = samples_of([1 / speed for speed in speeds], seed)
        true = np.exp(0.5) * MINUTE / np.array(speeds)
        for prices, believed in ((speeds, with_prices), ([], without)):
            rng = np.random.default_rng(seed)
            found = possible_of_one_bag(samples, [1.0] * 6, 100, rng, prices)
            middle = np.array([float(np.median(one.mean())) for one in found])
            best = int(np.argmin(middle * speeds))
            believed.append(middle[best] / true[best])
    assert np.mean(without) < 0.85
    assert np.mean(with_prices) > 0.9


def test_prices_that_the_samples_contradict_are_not_believed():
    samples = samples_of([1.0, 0.5, 0.25, 0.125], 3, size=60, spread=0.3)
    found = draw_scales(samples, [1.0] * 4, 400, np.random.default_rng(0), [8.0, 4.0, 2.0, 1.0])
    assert np.diff(found.usual) == pytest.approx(np.full(3, -np.log(2)), abs=0.2)


def test_offers_that_cost_nothing_tell_nothing_by_their_price():
    samples = samples_of([1.0, 2.0], 4)
    free = draw_scales(samples, [1.0, 1.0], 50, np.random.default_rng(0), [0.0, 0.0])
    untold = draw_scales(samples, [1.0, 1.0], 50, np.random.default_rng(0))
    assert (free.usual == untold.usual).all()
