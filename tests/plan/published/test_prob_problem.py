"""The problem: what is asked for is checked, and tasks are grouped by level and kind."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from bursar.beliefs.histogram import Histogram
from bursar.beliefs.performance import Performance, Profile
from bursar.model.dag import dag_of
from bursar.model.errors import InputError
from bursar.model.time import SECOND
from bursar.plan.published.prob_problem import Problem, by_level_and_kind, checked_groups

OFFER = Performance(1.0, Histogram.constant(0.0), Histogram.constant(0.0))
PROBLEM = Problem(
    dag_of([[], [], [0, 1], [0], [2, 3]]),
    [0, 0, 1, 2, 1],
    [Profile(task * SECOND, 10 * task, 100) for task in range(5)],
    [OFFER, OFFER],
    [1, 2],
    [0, 0, 0, 0, 7],
    50.0,
)


def test_profiles_are_rows():
    assert PROBLEM.rows()[3].tolist() == [3, 30, 100]
    assert PROBLEM.levels().tolist() == [0, 0, 1, 1, 2]
    assert PROBLEM.with_budget(3.0).budget == 3


def test_tasks_of_one_level_and_kind_are_a_group():
    assert by_level_and_kind(PROBLEM).tolist() == [0, 0, 1, 2, 3]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kinds": [0]}, "1 kinds for 5 tasks"),
        ({"profiles": []}, "0 profiles for 5 tasks"),
        ({"network_costs": [1.0]}, "1 network costs for 5 tasks"),
        ({"prices_per_second": [1.0]}, "1 prices for 2 offers"),
        ({"prices_per_second": [1.0, -1.0]}, "must be finite and not negative"),
        ({"network_costs": [0, 0, 0, 0, np.inf]}, "must be finite and not negative"),
        ({"budget": -1.0}, "a budget of -1"),
        ({"budget": float("nan")}, "a budget of nan"),
        ({"profiles": [Profile(-1)] * 5}, "less than no time"),
        ({"dag": dag_of([])}, "without tasks"),
    ],
)
def test_a_problem_that_cannot_be_solved_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        msgspec.structs.replace(PROBLEM, **change)


def test_groups_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="2 groups for 5 tasks"):
        checked_groups([0, 1], 5)
    with pytest.raises(InputError, match="without a gap"):
        checked_groups([0, 2], 2)
    with pytest.raises(InputError, match="without a gap"):
        checked_groups([-1, 0], 2)
