"""Kinds of tasks in a sample, and what tells that one may be missing."""

from __future__ import annotations

import numpy as np
import pytest

from bursar.beliefs.sample_kinds import (
    LEAST_GAP,
    MOST_GAP,
    chance_of_missing,
    longest_kind,
    relative_gap,
)


def test_one_task_in_ten_is_a_kind_however_much_it_varies():
    rng = np.random.default_rng(2)
    sample = np.sort(np.concatenate([rng.normal(1, 0.1, 24), rng.uniform(4, 9, 6)]))
    assert longest_kind(sample) == 6


def test_three_long_tasks_are_a_kind_if_they_are_close_to_each_other():
    """Not if they are as far from each other as from the rest: that is a tail."""
    body = np.linspace(1, 1.5, 57)
    assert longest_kind(np.append(body, [5.0, 5.5, 6.0])) == 3
    assert longest_kind(np.append(body, [4.0, 9.0, 22.0])) == 60


def test_one_long_task_is_no_kind():
    sample = np.append(np.linspace(1, 2, 29), 9.0)
    assert longest_kind(sample) == 30


def test_tasks_like_no_other_tell_that_long_ones_may_be_missing():
    """Good and Turing: what was seen once tells of what was not seen."""
    alike = np.linspace(10, 20, 30)
    odd = np.sort(np.append(alike[3:], [0.1, 0.5, 2.0]))
    assert chance_of_missing(alike) < 0.01
    assert chance_of_missing(odd) > 0.1


def test_run_times_far_apart_tell_the_same():
    kinds = np.sort(np.concatenate([np.linspace(1, 1.2, 15), np.linspace(50, 60, 15)]))
    assert chance_of_missing(kinds) > 0.1


def test_a_large_sample_is_not_likely_to_miss_a_kind():
    odd = np.sort(np.append(np.linspace(10, 20, 27), [0.1, 0.5, 2.0]))
    many = np.sort(np.append(np.linspace(10, 20, 5997), [0.1, 0.5, 2.0]))
    assert chance_of_missing(many) < chance_of_missing(odd) / 5


@pytest.mark.parametrize("size", [30, 60, 120])
def test_gaps_of_one_smooth_kind_are_about_usual(size):
    """Whatever the deviation of its run times."""
    rng = np.random.default_rng(size)
    for deviation in (0.1, 1.0):
        gaps = [relative_gap(np.sort(rng.normal(0, deviation, size))) for _ in range(100)]
        assert np.mean(gaps) == pytest.approx(1.0, abs=0.15)


def test_several_kinds_leave_a_larger_gap():
    """So that a kind is more likely to be missing than where the same tasks have no gap."""
    rng = np.random.default_rng(3)
    smooth = np.sort(rng.normal(0, 1, 60))
    apart = np.where(smooth > 0, smooth + 2, smooth)
    assert relative_gap(smooth) < relative_gap(apart) == MOST_GAP
    assert relative_gap(np.linspace(0, 1, 60)) == LEAST_GAP


def test_gaps_of_few_or_equal_tasks_tell_nothing():
    assert relative_gap(np.array([0.0, 0.1, 5.0])) == 1.0
    assert relative_gap(np.zeros(30)) == 1.0
