"""The bags of the thesis have the moments that the thesis prints."""

from __future__ import annotations

import numpy as np
import pytest

from bursar.model.time import MINUTE
from bursar.simulate.distributions import BAGS, MULTI_MODAL, truncated_levy


def minutes(bag: str, count: int = 400_000) -> np.ndarray:
    return BAGS[bag](np.random.default_rng(7), count) / MINUTE


@pytest.mark.parametrize(
    ("bag", "mean", "deviation"),
    [
        ("normal", 15.0, 5**0.5),
        ("late-normal", 60.0, 5**0.5),
        ("levy", 14.80, 11.13),  # a bag of 1,000 in section 4.5.5 has 14.70 and 11.37
        ("multi-modal", 7.98, 6.27),
    ],
)
def test_bags_have_the_published_mean_and_deviation(bag, mean, deviation):
    drawn = minutes(bag)
    assert drawn.mean() == pytest.approx(mean, rel=0.01)
    assert drawn.std() == pytest.approx(deviation, rel=0.01)


@pytest.mark.parametrize("bag", BAGS)
@pytest.mark.parametrize("count", [0, 1, 5])
def test_a_bag_has_as_many_tasks_as_asked_for_and_none_takes_no_time(bag, count):
    drawn = BAGS[bag](np.random.default_rng(count), count)
    assert len(drawn) == count
    assert drawn.dtype == np.int64
    assert (drawn >= 1).all()


def test_the_levy_bag_is_cut_at_its_longest_task_and_follows_the_density_below():
    drawn = truncated_levy(np.random.default_rng(1), 300_000) / MINUTE
    assert drawn.max() <= 45
    # erfc(sqrt(6/x)) / erfc(sqrt(6/45)) is the share of tasks up to x minutes (section 4.4.2).
    from math import erfc

    for longest in (5, 10, 20, 40):
        share = erfc((6 / longest) ** 0.5) / erfc((6 / 45) ** 0.5)
        assert (drawn <= longest).mean() == pytest.approx(share, abs=0.004)


def test_the_multi_modal_bag_has_two_humps_a_gap_and_a_tail():
    drawn = minutes("multi-modal")
    near = [np.mean(abs(drawn - at) < 1) for at in (3.5, 8.0, 12.0, 25.0, 37.0)]
    assert near[0] > 3 * near[1]
    assert near[2] > 3 * near[1]
    assert near[3] < near[4] < 0.01
    assert sum(p.weight for p in (*MULTI_MODAL.humps, *MULTI_MODAL.stretches)) == pytest.approx(1)


def test_the_deviation_of_the_multi_modal_bag_is_as_hard_to_estimate_as_published():
    """Tables 4.2b and 4.4b: the interval at 90 % holds for 55 % (n = 30) and 57 % (n = 100)."""
    from bursar.beliefs.bounds import OfferBelief

    rng = np.random.default_rng(3)
    truth = 6.27 * MINUTE
    for size, published in ((30, 0.55), (100, 0.57)):
        samples = BAGS["multi-modal"](rng, size * 1500).reshape(-1, size)
        intervals = [OfferBelief.of(sample).deviation_interval(0.9) for sample in samples]
        held = np.mean([i.low <= truth <= i.high for i in intervals])
        assert held == pytest.approx(published, abs=0.06)


def test_the_same_seed_draws_the_same_bag():
    for draw in BAGS.values():
        first, second = (draw(np.random.default_rng(5), 50) for _ in range(2))
        assert (first == second).all()
