"""What is under way is reckoned with: the slow are not missing among the recent."""

from random import Random

import numpy as np
import pytest

from bursar.beliefs.incidence import Incidence, current_reliability
from bursar.beliefs.reliability import History, Instance, online_reliability
from bursar.model.time import LONGEST


def made(count, reliability, draw, every=10, reported=0.0, seed=1):
    """Instances one after another; the lost are told at half their time, or never."""
    rng = Random(seed)
    instances = []
    for number in range(count):
        sent, takes = number * every, draw(rng)
        if rng.random() < reliability:
            instances.append(Instance(sent, takes))
        else:
            until = sent + takes // 2 if rng.random() < reported else None
            instances.append(Instance(sent, until=until))
    return History.of(instances)


def test_where_all_is_known_shares_are_what_they_were():
    history = History.of([Instance(0, 3), Instance(0, 5), Instance(0, until=4), Instance(0, 9)])
    found = Incidence.of(history, 100)
    assert list(found.times) == [3, 4, 5, 9]
    assert list(found.returned) == pytest.approx([0.25, 0, 0.25, 0.25])
    assert list(found.lost) == pytest.approx([0, 0.25, 0, 0])
    assert found.reliability == pytest.approx(0.75)
    assert list(found.turnarounds()) == [3, 5, 9]
    assert list(found.losses()) == [4]


def test_losses_that_are_never_reported_take_ages():
    history = History.of([Instance(0, until=4), Instance(0), Instance(0), Instance(0, 5)])
    losses = Incidence.of(history, 100).losses()
    assert (losses == LONGEST).mean() == pytest.approx(2 / 3, abs=0.01)
    assert losses[0] == 4


def test_the_mean_and_the_reliability_are_not_biased_by_what_is_under_way():
    now, raw, means, shares = 4000, [], [], []
    for seed in range(20):
        seen = made(400, 0.9, lambda rng: rng.randint(500, 3000), seed=seed).seen_at(now)
        raw.append(float(seen.turnarounds().mean()))
        found = Incidence.of(seen, now)
        means.append(float(found.turnarounds().mean()))
        shares.append(found.reliability)
    assert np.mean(raw) < 1600, "the slow are missing"
    assert np.mean(means) == pytest.approx(1750, rel=0.02)
    assert np.mean(shares) == pytest.approx(0.9, abs=0.01)


def test_gamma_is_nearer_to_the_truth_than_by_the_published_formula():
    ours, published = [], []
    for seed in range(30):
        history = made(400, 0.95, lambda rng: rng.randint(500, 3000), reported=0.5, seed=seed)
        ours.append(current_reliability(history, 4000, 7000).after - 0.95)
        published.append(online_reliability(history, 4000, 7000).after - 0.95)
    assert np.mean(np.abs(ours)) < np.mean(np.abs(published))
    assert abs(np.mean(ours)) < 0.02


def test_a_set_is_expected_to_return_what_has_and_what_may():
    history = made(200, 0.8, lambda rng: rng.randint(500, 1500), reported=1.0)
    gamma = current_reliability(history, 2000, 6000)
    assert all(0 <= value <= 1 for value in gamma.values)
    assert gamma.values[-1] == pytest.approx(gamma.after, abs=0.02), "the last were just sent"
