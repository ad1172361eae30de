"""What the kernels know of run times is what the beliefs know, and their bounds hold."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bursar.beliefs.unified import UnifiedRuntimes
from bursar.kernels.tail_sample import (
    expected,
    gather,
    learn,
    least_expected,
    make_sample,
    most_expected,
    quotient,
)
from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import HOUR
from bursar.plan.bag.executions import BagExecutor, proportions

OFFERS = [
    Offer(name, Money.parse(1), HOUR, speed=speed)
    for name, speed in (("slow", 1.0), ("fast", 3.0), ("middle", 1.7))
]
TIMES = st.lists(st.integers(1, 2000), min_size=1, max_size=80)


def learned(first, later):
    """A sample and beliefs that know the same run times, all of the first offer."""
    times = np.array([*first, *later])
    rows = {offer.name: np.maximum(1, times) for offer in OFFERS}
    setup = BagExecutor(OFFERS, {offer.name: 1 for offer in OFFERS}, rows)._setup
    sample = make_sample(setup)
    unfinished = np.arange(len(times)) >= len(first)
    gather(setup, sample, np.zeros(len(times), np.int64), unfinished)
    beliefs = UnifiedRuntimes(proportions(OFFERS))
    for time in later:
        learn(setup, sample, time)
    for time in times:
        beliefs.learn("slow", int(time))
    return setup, sample, beliefs


@settings(max_examples=60)
@given(TIMES, TIMES, st.integers(0, 2100))
def test_the_expected_total_is_that_of_the_beliefs(first, later, elapsed):
    _, sample, beliefs = learned(first, later)
    assert expected(sample, elapsed) == beliefs.expected_total("slow", elapsed)


@settings(max_examples=60)
@given(TIMES, TIMES, st.integers(0, 2100))
def test_a_mean_is_between_its_bounds(first, later, elapsed):
    _, sample, _ = learned(first, later)
    longer = [time for time in [*first, *later] if time > elapsed]
    if longer:
        mean = sum(longer) / len(longer)
        least, most = least_expected(sample, elapsed), most_expected(sample, elapsed)
        assert least - 1e-6 <= mean <= most + 1e-6


@settings(max_examples=60)
@given(TIMES, TIMES, st.integers(0, 2100))
def test_an_attempt_out_of_reach_is_not_expected_to_end_sooner_anew(first, later, elapsed):
    _, sample, beliefs = learned(first, later)
    for source, offer in enumerate(OFFERS):
        total = beliefs.expected_total(offer.name, elapsed)
        for target, new in enumerate(OFFERS):
            anew = beliefs.expected_total(offer.name, elapsed, on=new.name)
            if total - elapsed > anew:
                assert elapsed < sample.reach[source, target]


@given(st.integers(0, 1 << 51), st.integers(1, 1 << 40))
def test_a_quotient_is_rounded_down(amount, parts):
    assert quotient(amount, parts) == amount // parts
