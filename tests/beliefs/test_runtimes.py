"""What is learned about run times, one offer or all."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.beliefs.regression import Line, Regression
from bursar.beliefs.runtimes import RuntimeBelief, Runtimes
from bursar.model.errors import InputError

TIMES = st.lists(st.integers(1, 10**9), min_size=1, max_size=60)


def belief(times, keep: int = 4096) -> RuntimeBelief:
    made = RuntimeBelief(Random(0), keep)
    for time in times:
        made.learn(time)
    return made


@given(TIMES)
def test_the_moments_are_those_of_everything_learned(times):
    made = belief(times, keep=3)
    assert made.count == len(times)
    assert made.mean == pytest.approx(np.mean(times))
    assert made.speed == pytest.approx(1 / np.mean(times))
    expected = np.std(times, ddof=1) if len(times) > 1 else 0
    assert made.deviation == pytest.approx(expected, abs=1)


@given(TIMES, st.integers(0, 10**9))
def test_a_running_task_is_expected_to_take_the_mean_of_those_that_took_longer(times, elapsed):
    made = belief(times)
    longer = [time for time in times if time > elapsed]
    if longer:
        assert made.expected(elapsed) == pytest.approx(np.mean(longer))
    assert made.expected(elapsed) >= elapsed
    assert made.remaining(elapsed) == pytest.approx(made.expected(elapsed) - elapsed)


def test_a_task_that_is_late_is_expected_to_be_as_late_again():
    made = belief([10] * 20)
    assert made.remaining(15) == 5
    assert made.remaining(100) == 90


def test_the_published_average_counts_unfinished_tasks_as_those_that_took_longer():
    """T_i of section 2.2.1."""
    made = belief([10, 20, 30])
    assert made.average() == 20
    assert made.average([15]) == pytest.approx((60 + 25) / 4)
    assert made.average([15, 25]) == pytest.approx((60 + 25 + 30) / 5)


def test_learning_after_a_question_changes_the_answer():
    made = belief([10, 20])
    assert made.expected(15) == 20
    made.learn(40)
    assert made.expected(15) == 30
    assert made.quantile(1.0) == 40


def test_sorted_values_lag_behind_by_half_a_percent_at_the_most():
    made = belief(range(1, 1001))
    assert made.quantile(1.0) == 1000
    for time in range(1001, 1011):
        made.learn(time)
    assert made.quantile(1.0) >= 1005


def test_a_million_run_times_are_kept_as_a_fair_choice():
    made = belief(range(200_000), keep=2000)
    assert len(made.kept) == 2000
    assert made.count == 200_000
    # A choice that favours early or late ones would be off by many standard errors (58 each).
    assert np.mean(made.kept) == pytest.approx(100_000, abs=4 * 57_735 / 2000**0.5)
    assert made.quantile(0.5) == pytest.approx(100_000, abs=6_000)


def test_unfinished_tasks_correct_the_favour_for_short_ones():
    """Sixty tasks of 1 to 60 s start together; after 30 s only the short half has finished."""
    made = belief(range(1, 31))
    assert made.mean == 15.5
    assert made.mean_with([30.0] * 30) > 22
    sample = made.sample([30.0] * 30)
    assert len(sample) == 60
    assert np.mean(sample <= 30) == pytest.approx(0.5, abs=0.02)


def test_a_long_running_task_is_not_taken_for_a_short_one():
    made = belief([10] * 20)
    assert made.sample([500.0]).max() >= 500
    assert made.mean_with([500.0]) == pytest.approx((200 + 500) / 21, rel=0.05)


@given(TIMES)
def test_unfinished_tasks_that_just_began_tell_nothing(times):
    made = belief(times)
    assert made.mean_with([0.0] * 5) == pytest.approx(made.mean, rel=0.6)
    assert set(made.sample([0.0])) <= set(times)


def test_nothing_known_is_an_error_and_not_a_number():
    empty = RuntimeBelief(Random(0))
    for question in (empty.expected, empty.sample, empty.average, lambda: empty.quantile(0.5)):
        with pytest.raises(InputError, match="no run time"):
            question()


LINES = Regression("slow", {"slow": Line(1, 0), "fast": Line(0.5, 0), "mixed": Line(0.25, 100)})


def test_all_offers_speak_for_each_other_once_there_are_lines():
    runtimes = Runtimes(Random(0))
    runtimes.learn("slow", 1000)
    runtimes.learn("fast", 1000)
    assert (runtimes.mean("slow"), runtimes.mean("fast")) == (1000, 1000)
    assert not runtimes.knows("mixed")
    runtimes.adopt(LINES)
    assert (runtimes.mean("slow"), runtimes.mean("fast")) == (1500, 750)
    assert runtimes.mean("mixed") == 475
    runtimes.learn("mixed", 850)
    assert runtimes.mean("slow") == 2000
    assert runtimes.quantile("fast", 0.5) == 1000


def test_a_running_task_is_estimated_on_the_canonical_offer_and_converted_back():
    """The three estimates of section 5.1: t_c, t_s and t_t."""
    runtimes = Runtimes(Random(0))
    for time in (1000, 2000, 4000):
        runtimes.learn("slow", time)
    runtimes.adopt(LINES)
    assert runtimes.expected("fast", 600) == 1500
    assert runtimes.remaining("fast", 600) == 900
    assert runtimes.expected_elsewhere("fast", 600, "slow") == 3000
    assert runtimes.expected_elsewhere("fast", 600, "mixed") == 850
    assert runtimes.expected("fast", 5000) > 5000


def test_an_offer_without_a_line_speaks_only_for_itself():
    runtimes = Runtimes(Random(0))
    runtimes.adopt(LINES)
    runtimes.learn("slow", 1000)
    runtimes.learn("odd", 30)
    assert runtimes.mean("odd") == 30
    assert runtimes.mean("slow") == 1000
    assert runtimes.expected("odd", 10) == 30
    assert runtimes.expected_elsewhere("slow", 10, "odd") == 30
    sample, name = runtimes.sample("odd")
    assert (list(sample), name) == ([30], "")
    with pytest.raises(InputError, match="'none'"):
        runtimes.mean("none")


def test_samples_of_offers_with_lines_are_the_same_tasks_in_the_same_order():
    runtimes = Runtimes(Random(0))
    for time in (4000, 1000, 2000):
        runtimes.learn("slow", time)
    runtimes.learn("fast", 4000)
    runtimes.adopt(LINES)
    slow, slow_name = runtimes.sample("slow")
    mixed, mixed_name = runtimes.sample("mixed")
    assert slow_name == mixed_name == "slow"
    assert list(slow) == [1000, 2000, 4000, 8000]
    assert list(mixed) == [350, 600, 1100, 2100]
    running, _ = runtimes.sample("slow", {"fast": [6000.0], "odd": [1.0]})
    assert len(running) == 5
    assert running.max() >= 12000


def test_learning_a_million_run_times_takes_constant_time_each():
    """A policy may ask after every single task."""
    made = RuntimeBelief(Random(0), keep=512)
    for time in range(20_000):
        made.learn(time % 977 + 1)
        made.expected(500.0)
    assert made.expected(500.0) == pytest.approx(739, rel=0.05)
