"""Makespans by distributions relative to dominators: exact where they say so, and their tools."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bursar.beliefs.histogram import BINS, Histogram, greatest
from bursar.model.errors import InputError
from bursar.plan.published.dominators import (
    Dominated,
    dominators,
    lay_region,
    without_early,
    without_superfluous,
)
from bursar.plan.workflow.graph import Graph
from bursar.plan.workflow.makespan import WorkflowTimes

SHARES = (0.5, 0.9, 0.99)


@st.composite
def workflows(draw, most=14):
    """Parents of each task, numbered in an order that suits."""
    tasks = draw(st.integers(1, most))
    return [
        draw(st.lists(st.integers(0, task - 1), unique=True, max_size=4)) if task else []
        for task in range(tasks)
    ]


def timed(parents, seed, deviation=0.5):
    rng = np.random.default_rng(seed)
    means = rng.uniform(1, 20, len(parents))
    rows = [[Histogram.from_samples(m * rng.lognormal(0, deviation, 400))] for m in means]
    return WorkflowTimes(Graph.of(parents), rows)


def paths_to(parents, task):
    """All ways from the begin to a task, as lists of tasks."""
    if not parents[task]:
        return [[task]]
    return [[*path, task] for parent in parents[task] for path in paths_to(parents, parent)]


@given(workflows(9))
def test_a_dominator_is_on_every_way(parents):
    found = dominators(parents, range(len(parents)))
    for task in range(len(parents)):
        ways = [path[:-1] for path in paths_to(parents, task)]
        common = [one for one in ways[0] if all(one in way for way in ways)]
        assert found[task] == (common[-1] + 1 if common else 0)


@given(workflows(9))
def test_superfluous_edges_are_those_with_a_longer_way(parents):
    kept = without_superfluous(parents, range(len(parents)))
    for task, row in enumerate(parents):
        for parent in row:
            ways = [path for path in paths_to(parents, task) if parent in path[:-2]]
            assert (parent in kept[task]) == (not ways)


@given(workflows(), st.integers(0, 10**6))
def test_parents_that_are_left_out_never_end_last(parents, seed):
    rng = np.random.default_rng(seed)
    shortest = rng.uniform(0, 5, len(parents))
    longest = shortest + rng.uniform(0, 3, len(parents))
    kept = without_early(parents, range(len(parents)), shortest.tolist(), longest.tolist())
    times = rng.uniform(shortest, longest)
    ends = []
    for task, row in enumerate(parents):
        begin = max((ends[parent] for parent in row), default=0.0)
        assert max((ends[parent] for parent in kept[task]), default=0.0) == begin
        ends.append(begin + times[task])


@settings(max_examples=25)
@given(st.integers(1, 25), st.integers(0, 10**6))
def test_it_is_exact_where_no_two_ways_share_a_task_before_they_meet(tasks, seed):
    """In-trees: each task but the last has one child."""
    rng = np.random.default_rng(seed)
    parents = [[] for _ in range(tasks)]
    for task in range(tasks - 1):
        parents[int(rng.integers(task + 1, tasks))].append(task)
    workflow, offers = timed(parents, seed), [0] * tasks
    found = Dominated(workflow).makespan(offers)
    sampled = workflow.sample(offers, 100_000)
    assert found.mean == pytest.approx(sampled.mean(), rel=0.01)
    shares = np.searchsorted(np.sort(sampled), found.values, side="right") / len(sampled)
    assert np.abs(shares - np.arange(1, BINS + 1) / BINS).max() <= 0.015


def test_it_is_exact_where_ways_part_at_one_task_and_meet_at_one():
    """Several diamonds, one in another, one after the other."""
    parents = [[], [0], [0], [1], [1], [3, 4], [2, 5], [6], [6], [7, 8], [9]]
    workflow, offers = timed(parents, 5), [0] * len(parents)
    found, sampled = Dominated(workflow).makespan(offers), workflow.sample(offers, 200_000)
    assert found.mean == pytest.approx(sampled.mean(), rel=0.005)
    for share in SHARES:
        assert found.quantile(share) == pytest.approx(np.quantile(sampled, share), rel=0.01)


def test_a_long_chain_of_short_tasks_does_not_blur():
    parents = [[task - 1] if task else [] for task in range(1000)]
    workflow, offers = timed(parents, 1, deviation=0.3), [0] * 1000
    found, sampled = Dominated(workflow).makespan(offers), workflow.sample(offers, 20_000)
    for share in (0.01, *SHARES):
        assert found.quantile(share) == pytest.approx(np.quantile(sampled, share), rel=0.01)


def test_chains_side_by_side_need_few_rows():
    parents = [[task - 50] if task >= 50 else [] for task in range(1000)]
    times = np.ones(1000)
    assert lay_region(Graph.of(parents), times, 2 * times).rows <= 3


def test_a_shared_task_is_counted_once():
    rng = np.random.default_rng(3)
    shared = Histogram.from_samples(rng.exponential(100, 20_000))
    short = Histogram.from_samples(rng.uniform(9, 11, 20_000))
    workflow = WorkflowTimes(Graph.of([[]] + [[0]] * 10), [[shared]] + [[short]] * 10)
    found = Dominated(workflow).makespan([0] * 11)
    right = shared + greatest([short] * 10)
    for share in SHARES:
        assert found.quantile(share) == pytest.approx(right.quantile(share), rel=0.01)


@settings(max_examples=60)
@given(workflows(20), st.integers(0, 10**6))
def test_where_ways_share_tasks_otherwise_it_is_too_long_rather_than_too_short(parents, seed):
    workflow, offers = timed(parents, seed), [0] * len(parents)
    found, sampled = Dominated(workflow).makespan(offers), workflow.sample(offers, 20_000)
    assert found.mean >= 0.98 * sampled.mean()
    assert found.mean <= 1.5 * sampled.mean()


@given(workflows(), st.integers(0, 10**6))
def test_constants_are_added_to_within_a_cell(parents, seed):
    rng = np.random.default_rng(seed)
    times = [[Histogram.constant(value)] for value in rng.uniform(0, 9, len(parents))]
    workflow, offers = WorkflowTimes(Graph.of(parents), times), [0] * len(parents)
    known = workflow.sample(offers, 1)[0]
    assert Dominated(workflow).makespan(offers).mean == pytest.approx(known, rel=0.005)


def test_tasks_that_take_no_time_are_no_trouble():
    nothing = Histogram.constant(0.0)
    workflow = WorkflowTimes(Graph.of([[], [0], [0], [1, 2]]), [[nothing]] * 4)
    assert Dominated(workflow).makespan([0] * 4) == nothing


def test_the_offers_decide():
    parents = [[], [], [0, 1]]
    fast, slow = Histogram.constant(1.0), Histogram.constant(10.0)
    dominated = Dominated(WorkflowTimes(Graph.of(parents), [[fast, slow]] * 3))
    assert dominated.makespan([0, 0, 0]).mean == pytest.approx(2, rel=0.005)
    assert dominated.makespan([0, 1, 0]).mean == pytest.approx(11, rel=0.005)
    assert dominated.makespan([1, 1, 1]).mean == pytest.approx(20, rel=0.005)


def test_a_parent_that_is_named_twice_counts_once():
    rng = np.random.default_rng(8)
    times = [[Histogram.from_samples(rng.exponential(3, 500))] for _ in range(3)]
    once, twice = (
        Dominated(WorkflowTimes(Graph.of(parents), times)).makespan([0] * 3)
        for parents in ([[], [], [0, 1]], [[], [], [0, 1, 0]])
    )
    assert once == twice


def test_moves_are_refused():
    one = Histogram.constant(1.0)
    with pytest.raises(InputError, match="sample the makespan"):
        Dominated(WorkflowTimes(Graph.of([[], [0]]), [[one], [one]], [2.0]))
