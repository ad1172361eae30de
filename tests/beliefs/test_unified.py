"""One histogram over all offers."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bursar.beliefs import unified
from bursar.beliefs.unified import SortedTimes, UnifiedRuntimes
from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE
from bursar.testing import Scene

TIMES = st.lists(st.integers(0, 200), max_size=60)
SLOPES = st.integers(10_000, 100_000_000)
"""From a hundredth of the speed of the canonical offer to a hundred times of it."""


@given(times=TIMES, bound=st.integers(-1, 201), largest=st.integers(2, 8))
def test_the_mean_of_longer_times_is_that_of_a_plain_list(times, bound, largest):
    kept, unified.LARGEST_BUCKET = unified.LARGEST_BUCKET, largest
    try:
        found = SortedTimes.of(times[: len(times) // 2])
        for time in times[len(times) // 2 :]:
            found.add(time)
    finally:
        unified.LARGEST_BUCKET = kept
    longer = [time for time in times if time > bound]
    assert found.mean_above(bound) == (sum(longer) // len(longer) if longer else None)


@given(st.lists(st.integers(0, 10**12), max_size=300), st.lists(st.integers(-1, 10**12)))
def test_many_means_are_those_of_one_bound_each(times, bounds):
    found = SortedTimes()
    for place, time in enumerate(times):
        found.add(time)
        if place == len(times) // 3:
            found.means_above(np.array([0]))
    plain = [found.mean_above(bound) for bound in bounds]
    wanted = [bound if mean is None else mean for mean, bound in zip(plain, bounds, strict=True)]
    assert found.means_above(np.array(bounds, dtype=np.int64)).tolist() == wanted


@given(st.lists(st.integers(0, 10**14), min_size=1), SLOPES, SLOPES)
def test_totals_of_many_attempts_are_those_of_each(elapsed, here, there):
    """Also after years, which times a slope would fit in no machine integer."""
    known = UnifiedRuntimes({"here": here, "there": there})
    known.learn("there", 40 * MINUTE)
    sources, ages = np.zeros(len(elapsed), dtype=np.int64), np.array(elapsed)
    times = known.elsewhere(("here", "there"), sources, ages, ages)
    for found, on in (
        (times.here, "here"),
        (times.on("here"), "here"),
        (times.on("there"), "there"),
    ):
        assert found.tolist() == [known.expected_total("here", one, on=on) for one in elapsed]


@given(
    st.lists(st.integers(0, 10**9), min_size=1),
    st.lists(st.integers(0, 10**9), min_size=1),
    SLOPES,
    SLOPES,
)
def test_nothing_is_expected_to_take_longer_than_the_longest(finished, elapsed, here, there):
    known = UnifiedRuntimes({"here": here, "there": there})
    assert known.longest("elsewhere", 0) is None
    for time in finished:
        known.learn("there", time)
    sources, ages = np.zeros(len(elapsed), dtype=np.int64), np.array(elapsed)
    times = known.elsewhere(("here", "there"), sources, ages, ages).here
    longest = known.longest("here", max(elapsed))
    assert longest is not None
    assert times.max() <= longest


def test_run_times_of_all_offers_are_one_histogram():
    known = UnifiedRuntimes({"slow": 1_000_000, "fast": 2_000_000})
    known.learn("slow", 40 * MINUTE)
    known.learn("fast", 10 * MINUTE)
    assert known.expected_total("slow", 0) == 30 * MINUTE
    assert known.expected_total("slow", 20 * MINUTE) == 40 * MINUTE
    assert known.expected_total("fast", 10 * MINUTE) == 20 * MINUTE
    assert known.expected_total("slow", 20 * MINUTE, on="fast") == 20 * MINUTE


def test_a_task_that_outlasts_all_is_known_to_have_run_so_long_only():
    known = UnifiedRuntimes({"slow": 1_000_000})
    known.learn("slow", MINUTE)
    assert known.expected_total("slow", HOUR) == HOUR


def test_speeds_are_learned_from_mean_run_times_where_none_are_given():
    known = UnifiedRuntimes()
    assert known.pace("fast") is None
    for _ in range(5):
        known.learn("slow", 30 * MINUTE)
        known.learn("fast", 10 * MINUTE)
    assert known.convert(30 * MINUTE, "slow", "fast") == 10 * MINUTE
    assert known.convert(10 * MINUTE, "fast", "slow") == 30 * MINUTE
    assert known.expected_total("fast", 0) == 10 * MINUTE
    assert known.pace("fast") < known.pace("slow")


@given(st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), st.integers(1, 1000)), min_size=1))
def test_what_is_learned_is_never_lost(finished):
    known = UnifiedRuntimes()
    for offer, runtime in finished:
        known.learn(offer, runtime)
    assert sum(map(len, known.histogram()._buckets)) == len(finished)


def test_lines_are_drawn_anew_as_more_becomes_known():
    known = UnifiedRuntimes()
    for _ in range(10):
        known.learn("slow", 60)
        known.learn("fast", 30)
    assert known.convert(60, "slow", "fast") == 30
    for _ in range(90):
        known.learn("fast", 10)
    assert known.convert(60, "slow", "fast") == 12, "a mean of 12 by now"


def test_an_offer_without_a_line_is_reported_by_one_that_has_one():
    """Tasks take as long on both, so `new` is as fast as `known` was said to be."""
    known = UnifiedRuntimes({"known": 2_000_000, "base": 1_000_000})
    known.learn("new", 50)
    known.learn("known", 50)
    known.learn("new", 50)
    assert known.convert(50, "new", "base") == 100
    assert known.convert(50, "new", "known") == 50


def test_only_the_attempt_that_counts_is_learned_from():
    scene = Scene(Offer("any", Money.parse(1)), tasks=1)
    known = UnifiedRuntimes({"any": 1_000_000})
    attempts = [scene.start(1, scene.machine()) for _ in range(2)]
    for attempt in attempts:
        scene.pass_time(MINUTE)
        scene.end(attempt)
        known.saw(scene.events[-1], scene.state)
    assert known.expected_total("any", 0) == MINUTE


def test_many_means_stay_right_as_times_come_one_by_one():
    """So many that those which came late are put among the others."""
    rng, found = Random(1), SortedTimes()
    bounds = np.arange(0, 1_000, 50)
    for count in range(1, 3 * unified.FEW):
        found.add(rng.randrange(1_000))
        if count % 100 == 0:
            wanted = [found.mean_above(int(bound)) for bound in bounds]
            assert found.means_above(bounds).tolist() == wanted
