"""What the sample book makes of samples that cannot be compared. Tests of a live one: policies."""

from __future__ import annotations

import pytest

from bursar.beliefs.samples import REPLICATED, SampleLog
from bursar.model.market import Offer
from bursar.model.money import Money

OFFERS = tuple(Offer(name, Money.parse(1)) for name in ("small", "large"))


def book(small: dict[int, int], large: dict[int, int]) -> SampleLog:
    made = SampleLog()
    made.runtimes = {"small": small, "large": large}
    made.replicated = sorted(set(small) & set(large))
    return made


def test_run_times_on_a_line_are_converted_by_it_without_a_word():
    known = book({1: 100, 2: 200, 3: 300, 4: 400}, {1: 60, 2: 110, 3: 160})
    assert list(known.samples(OFFERS)["large"]) == [60, 110, 160, 210]
    assert known.cautions(OFFERS) == []


def test_run_times_that_fall_where_others_rise_are_converted_by_their_means_and_that_is_said():
    known = book({1: 10, 2: 20, 3: 30, 4: 40}, {1: 9, 2: 6, 3: 3})
    assert list(known.samples(OFFERS)["large"]) == [9, 6, 3, 40 * 18 // 60]
    (reported,) = known.cautions(OFFERS)
    assert "large do not follow those on small" in reported
    assert "in proportion to the means" in reported


def test_equal_run_times_are_converted_by_their_ratio():
    known = book(dict.fromkeys(range(1, 9), 100), dict.fromkeys(range(1, 4), 25))
    assert list(known.samples(OFFERS)["large"]) == [25] * 8
    assert known.cautions(OFFERS) == []


@pytest.mark.parametrize("large", [{}, {1: 5}])
def test_an_offer_on_which_every_task_fails_is_named_and_one_success_saves_it(large):
    known = book({1: 10, 2: 20}, large)
    known.failures = {"large": REPLICATED}
    assert known.is_hopeless("large") is not bool(large)
    assert ("every task failed on large" in known.cautions(OFFERS)) is not bool(large)
    assert ("large" in known.samples(OFFERS)) is bool(large)


def test_a_single_offer_has_nothing_to_be_compared_with():
    known = book({1: 10, 2: 20}, {})
    assert known.cautions(OFFERS[:1]) == []
    assert list(known.samples(OFFERS[:1])["small"]) == [10, 20]
