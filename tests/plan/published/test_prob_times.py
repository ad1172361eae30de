"""Times of tasks: made as they are one by one, and static ones that are too short or too long."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.beliefs.histogram import Histogram
from bursar.beliefs.performance import Performance, Profile, time_on
from bursar.model.errors import InputError
from bursar.model.time import SECOND
from bursar.plan.published.prob_operations import Piece
from bursar.plan.published.prob_times import Distributions, Samples, Scalars


def performance(speed, disk, network, spread=0.4, seed=0):
    rng = np.random.default_rng(seed)
    return Performance(
        speed,
        Histogram.from_bandwidths(disk * rng.lognormal(0, spread, 2000)),
        Histogram.from_bandwidths(network * rng.lognormal(0, spread, 2000)),
    )


OFFERS = [performance(1, 1e6, 5e5, 0.8, 1), performance(4, 3e6, 4e6, 0.3, 2)]


def piece(profiles, offers):
    rows = [(one.work / SECOND, one.disk_bytes, one.network_bytes) for one in profiles]
    return Piece(np.array(rows, dtype=float), np.array(offers))


PROFILES = st.builds(
    Profile,
    st.integers(0, 1000 * SECOND),
    st.just(0) | st.integers(1, 10**9),
    st.just(0) | st.integers(1, 10**9),
)


@given(PROFILES, st.integers(0, 1))
def test_a_time_is_what_the_profile_takes_on_the_offer(profile, offer):
    times = Distributions(OFFERS)
    found, exact = times.generate(piece([profile], [offer])), time_on(profile, OFFERS[offer])
    assert found.mean == pytest.approx(exact.mean, rel=1e-9)
    np.testing.assert_allclose(found.values, exact.values, rtol=0.005)
    assert times.expected(piece([profile], [0]).profiles)[0, offer] == pytest.approx(exact.mean)
    assert times.tally.generated == 1


@pytest.mark.parametrize("ratio", [0.27, 0.55, 1.09])
def test_tasks_of_like_ratios_have_nearly_their_own_shape(ratio):
    profile = Profile(0, 10**8, int(10**8 * ratio))
    found = Distributions(OFFERS).generate(piece([profile], [0]))
    np.testing.assert_allclose(found.values, time_on(profile, OFFERS[0]).values, rtol=0.002)


def test_tasks_beside_each_other_take_as_long_as_the_last_of_them():
    profiles = [Profile(number * SECOND, 10**7, 10**6 * number) for number in range(1, 9)]
    offers = [0, 1] * 4
    times = Distributions(OFFERS)
    found = times.generate(piece(profiles, offers))
    each = [time_on(one, OFFERS[offer]) for one, offer in zip(profiles, offers, strict=True)]
    exact = reduce(Histogram.maximum, each)
    np.testing.assert_allclose(found.values, exact.values, rtol=0.03)
    assert (times.tally.generated, times.tally.maxima) == (8, 7)


def test_the_average_is_too_short_and_the_worst_case_too_long():
    profile = Profile(10 * SECOND, 10**8, 10**8)
    rows = piece([profile], [0]).profiles
    average, worst = Scalars.average(OFFERS), Scalars.worst(OFFERS)
    true = Distributions(OFFERS).expected(rows)
    assert np.all(average.expected(rows) < true)
    assert np.all(worst.expected(rows) > 1.5 * true)
    steady = [performance(1, 1e6, 1e6, 0.0)]
    same = [made.expected(rows)[0, 0] for made in (Scalars.average(steady), Scalars.worst(steady))]
    assert same == pytest.approx([Distributions(steady).expected(rows)[0, 0]] * 2)


def test_the_average_is_the_volume_by_the_mean_bandwidth():
    """The example of section 2.2, with a disk that does 1 or 3 bytes a second."""
    pace = Histogram.from_bandwidths([1.0, 3.0], bins=2)
    offer = [Performance(1.0, pace, Histogram.constant(0.0, 2))]
    twelve = np.array([[0.0, 12.0, 5.0]])
    assert Scalars.average(offer).expected(twelve)[0, 0] == pytest.approx(6)
    assert Distributions(offer).expected(twelve)[0, 0] == pytest.approx(8)


def test_scalars_are_added_and_compared():
    times = Scalars.average(OFFERS)
    found = times.generate(piece([Profile(SECOND), Profile(8 * SECOND)], [0, 1]))
    assert found == 2
    assert times.add(found, 3.0) == 5
    assert times.maximum([1.0, 4.0, 2.0]) == 4
    assert times.is_greater(2.0, 1.0, bounds=True)
    assert not times.is_greater(2.0, 2.0, bounds=False)
    assert times.distribution(5.0) == Histogram.constant(5.0)
    assert (times.tally.adds, times.tally.maxima, times.tally.compared_fully) == (1, 3, 2)


def test_samples_agree_with_distributions():
    rng = np.random.default_rng(3)
    drawn, reckoned = Samples(OFFERS, rng, 20_000), Distributions(OFFERS)
    profiles = [Profile(SECOND, 10**7, 10**6), Profile(SECOND, 10**7, 0), Profile(SECOND, 0, 10**6)]
    some, one = piece(profiles, [0, 1, 0]), piece(profiles[:1], [1])
    samples, exact = (
        times.maximum([times.add(times.generate(some), times.generate(one)), times.generate(some)])
        for times in (drawn, reckoned)
    )
    assert drawn.mean(samples) == pytest.approx(reckoned.mean(exact), rel=0.03)
    found = drawn.distribution(samples)
    for share in (0.1, 0.5, 0.9):
        assert found.quantile(share) == pytest.approx(exact.quantile(share), rel=0.03)
    assert drawn.tally.operations == reckoned.tally.operations == 6
    longer = drawn.add(samples, samples)
    assert drawn.is_greater(longer, samples, bounds=True)
    assert not drawn.is_greater(samples, longer, bounds=True)


def test_what_was_drawn_is_independent_of_itself_when_used_again():
    times = Samples(OFFERS, np.random.default_rng(4), 20_000)
    one = times.generate(piece([Profile(0, 10**7)], [0]))
    assert times.add(one, one).var() == pytest.approx(2 * one.var(), rel=0.25)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Distributions([]), "no offer"),
        (lambda: Samples(OFFERS, np.random.default_rng(0), 0), "0 samples"),
        (lambda: Distributions([performance(0, 1, 1)]), "speed 0"),
        (
            lambda: Distributions(
                [Performance(1.0, Histogram.constant(1.0, 2), Histogram.constant(1.0, 3))]
            ),
            "different numbers of bins",
        ),
    ],
)
def test_offers_that_cannot_be_reckoned_with_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
