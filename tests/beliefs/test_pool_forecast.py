"""The rest of a run is foreseen as it will be, where it differs from what has been."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.beliefs.incidence import Incidence, current_reliability
from bursar.beliefs.pool_forecast import Awaited, foresee, most_likely
from bursar.beliefs.reliability import History, Instance, LastEnding

UNTRIED, RETURNED, FAILED = LastEnding
NOBODY = Awaited(np.zeros(0), np.zeros(0))
TIMEOUT = 4_000


def pool(*, bad=0.0, silent=0.0, growth=0.0, machines=100, until=3_500, seed=1):
    """Machines that work one task after another; of a bad one nothing returns.

    A machine that fell silent is given up and replaced. The first tasks take 1,000 on average.
    """
    rng, instances = Random(seed), []
    for _ in range(machines):
        sent, standing, is_bad = rng.randint(0, 300), UNTRIED, rng.random() < bad
        while sent < until:
            takes = round(rng.randint(600, 1_400) * (1 + growth * sent / until))
            if is_bad or rng.random() < silent:
                instances.append(Instance(sent, until=sent + TIMEOUT, standing=standing))
                takes, standing, is_bad = TIMEOUT, FAILED, rng.random() < bad
            else:
                instances.append(Instance(sent, takes, standing=standing))
                standing = RETURNED
            sent += takes
    return History.of(instances)


def test_machines_that_returned_a_result_are_trusted_more_than_others():
    history = pool(bad=0.3, machines=300)
    found = foresee(history, 3_500)
    assert current_reliability(history, 3_500, TIMEOUT).after < 0.95
    assert found.gamma.after > 0.99
    stuck = found.gamma.at(int(history.sent[0]))
    assert stuck == pytest.approx(0.7, abs=0.08), "of the untried ones"


def test_losses_among_those_under_way_are_foreseen_better_than_by_the_mean_of_all():
    ours, before, now = [], [], 3_500
    for seed in range(20):
        history = pool(bad=0.15, silent=0.02, growth=0.3, seed=seed)
        seen = history.seen_at(now)
        is_under_way = (history.sent < now) & (history.ended > now)
        lost = int((history.ended - history.sent == TIMEOUT)[is_under_way].sum())
        sent = seen.sent[is_under_way[: len(seen)]]
        found = foresee(history, now)
        ours.append(expected_losses(sent, now, found.gamma, found.turnarounds) - lost)
        times = Incidence.of(seen, now).turnarounds()
        gamma = current_reliability(history, now, TIMEOUT)
        before.append(expected_losses(sent, now, gamma, times) - lost)
    assert abs(np.mean(ours)) < 1.5
    assert np.mean(np.abs(ours)) < 0.5 * np.mean(np.abs(before))


def expected_losses(sent, now, gamma, times):
    nothing = np.zeros(0, dtype=np.int64)
    awaited = Awaited.of(now - sent, times, nothing)
    return sum(1 - float(awaited.hopes(gamma.at(int(at)))[place]) for place, at in enumerate(sent))


def test_turnaround_times_are_those_of_the_present():
    means = [
        float(foresee(pool(growth=0.5, machines=200, seed=seed), 3_500).turnarounds.mean())
        for seed in range(5)
    ]
    assert np.mean(means) == pytest.approx(1_500, rel=0.05)


def test_without_a_trend_turnaround_times_are_those_that_were_seen():
    usual, found = [], []
    for seed in range(20):
        history = pool(seed=seed)
        usual.append(float(Incidence.of(history.seen_at(3_500), 3_500).turnarounds().mean()))
        found.append(float(foresee(history, 3_500).turnarounds.mean()))
    assert np.mean(found) == pytest.approx(np.mean(usual), rel=0.015)
    assert sum(ours == seen for ours, seen in zip(found, usual, strict=True)) > 8


def test_without_a_loss_a_pool_is_not_taken_as_perfect():
    found = foresee(History.of([Instance(n, 10) for n in range(99)]), 1_000)
    whole = 99.5 / 100
    assert found.gamma.after == pytest.approx((99 + whole) / 100)
    assert (found.gamma.boundaries, len(found.losses)) == ((), 0)


def test_a_standing_of_which_nothing_is_known_is_taken_as_all():
    known = [Instance(n, 10 if n % 4 else None, None if n % 4 else n + 40) for n in range(400)]
    fresh = Instance(995, standing=FAILED)
    found = foresee(History.of([*known, fresh]), 1_000)
    assert found.gamma.at(995) == pytest.approx(0.75, abs=0.01)


def test_of_those_that_were_sent_together_gamma_is_the_mean():
    good = [Instance(n, 10, standing=RETURNED) for n in range(100)]
    poor = [Instance(n, until=n + 20, standing=FAILED) for n in range(100)]
    young = [Instance(999, standing=RETURNED), Instance(999, standing=FAILED)]
    found = foresee(History.of([*good, *poor, *young]), 1_000)
    assert found.gamma.boundaries == (1_000,)
    assert found.gamma.values == pytest.approx((0.5,), abs=0.02)


def test_what_is_silent_for_longer_than_any_result_took_is_lost():
    awaited = Awaited.of(np.array([5, 30]), np.array([10, 20]), np.zeros(0, dtype=np.int64))
    assert list(awaited.hopes(0.9)) == pytest.approx([0.9, 0.0])
    reported = Awaited.of(np.array([15]), np.array([10, 20]), np.array([12]))
    assert list(reported.hopes(0.9)) == pytest.approx([1.0]), "a loss would be known"


def test_what_was_called_back_tells_nothing():
    known = [Instance(n, 10) for n in range(50)]
    called_back = [Instance(n, until=n + 1, is_withdrawn=True) for n in range(50)]
    alone, both = (foresee(History.of(each), 99) for each in (known, [*known, *called_back]))
    assert both.gamma == alone.gamma


@given(results=st.integers(0, 50), losses=st.integers(0, 50), guess=st.floats(0.1, 0.9))
def test_where_all_is_known_the_share_is_counted(results, losses, guess):
    share = most_likely(results, results + losses, NOBODY, guess)
    assert share == pytest.approx((results + guess) / (results + losses + 1))


@given(
    results=st.integers(0, 50),
    losses=st.integers(0, 50),
    late=st.lists(st.floats(0, 1), min_size=1, max_size=20),
)
def test_the_share_lies_between_all_that_are_awaited_being_lost_and_none(results, losses, late):
    awaited = Awaited(np.array(late), np.ones(len(late)))
    instances = results + losses + len(late)
    share = most_likely(results, instances, awaited, 0.5)
    assert share >= (results + 0.5) / (instances + 1) - 1e-9
    assert share <= (results + len(late) + 0.5) / (instances + 1) + 1e-9
