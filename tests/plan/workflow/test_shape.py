import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.model.workflow_builder import WorkflowBuilder
from bursar.plan.workflow.shape import critical_path, levels, shape, upward_ranks


def built(runtimes, edges):
    flow = WorkflowBuilder()
    for task, runtime in enumerate(runtimes):
        needs = [f"t{parent}" for parent, child in edges if child == task]
        flow.task(f"t{task}", needs=needs, runtime=runtime)
    return flow.build()


@st.composite
def dags(draw, known=True):
    count = draw(st.integers(1, 8))
    times = st.integers(0, 100).map(float) | (st.just(0.0) if known else st.none())
    runtimes = draw(st.lists(times, min_size=count, max_size=count))
    tasks = st.integers(0, count - 1)
    pairs = draw(st.sets(st.tuples(tasks, tasks)))
    hidden = draw(st.permutations(range(count)))
    return runtimes, {(hidden[one], hidden[two]) for one, two in pairs if one < two}


def ways(edges, task):
    """Every way from a task to an end."""
    below = [child for parent, child in edges if parent == task]
    return [[task, *way] for child in below for way in ways(edges, child)] or [[task]]


@given(dags())
def test_levels_and_ranks_are_those_of_the_longest_ways(given):
    runtimes, edges = given
    dag = built(runtimes, edges)
    backwards = {(child, parent) for parent, child in edges}
    for task in range(len(dag)):
        assert levels(dag)[task] == max(len(way) for way in ways(backwards, task)) - 1
        longest = max(sum(runtimes[one] for one in way) for way in ways(edges, task))
        assert upward_ranks(dag)[task] == longest


@given(dags())
def test_the_critical_path_is_a_way_and_the_longest(given):
    runtimes, edges = given
    found = shape(built(runtimes, edges))
    path = list(found.critical_path)
    all_ways = [way for task in range(len(runtimes)) for way in ways(edges, task)]
    assert path in all_ways
    longest = max(sum(runtimes[task] for task in way) for way in all_ways)
    assert sum(runtimes[task] for task in path) == longest == found.critical_path_s


@given(dags(known=False))
def test_parallelism_is_from_one_to_the_number_of_tasks(given):
    runtimes, edges = given
    found = shape(built(runtimes, edges))
    assert 1 - 1e-9 <= found.lop <= len(runtimes) + 1e-9
    assert found.depth <= len(runtimes)
    assert found.width * found.depth >= len(runtimes)
    assert (found.critical_path_s is None) == (None in runtimes)


def test_parallelism_is_work_over_the_critical_path():
    fork = {(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 4)}
    found = shape(built([10, 30, 20, 10, 10], fork))
    assert found.work_s == 80
    assert found.critical_path_s == 50
    assert found.critical_path == (0, 1, 4)
    assert found.lop == pytest.approx(80 / 50)
    assert (found.depth, found.width) == (3, 3)


def test_without_all_run_times_tasks_are_counted():
    found = shape(built([10, None, 10, 500], {(0, 1), (1, 2)}))
    assert found.critical_path == (0, 1, 2)
    assert found.work_s is None
    assert found.critical_path_s is None
    assert found.lop == pytest.approx(4 / 3)


def test_parts_that_do_not_touch_are_one_workflow():
    found = shape(built([5, 5, 7], {(0, 1)}))
    assert (found.depth, found.width, found.critical_path_s) == (2, 2, 10)


def test_the_critical_path_can_be_asked_for_other_weights():
    dag = built([1, 1, 1, 1], {(0, 1), (1, 3), (2, 3)})
    assert critical_path(dag) == (0, 1, 3)
    assert critical_path(dag, np.array([1.0, 1.0, 9.0, 1.0])) == (2, 3)


def test_a_chain_of_two_hundred_thousand_tasks_has_as_many_levels():
    flow = WorkflowBuilder()
    for task in range(200_000):
        flow.task(f"t{task}", needs=[f"t{task - 1}"] if task else (), runtime=0.5)
    found = shape(flow.build())
    assert (found.depth, found.width, found.lop) == (200_000, 1, 1.0)
    assert found.critical_path_s == 100_000
    assert found.critical_path == tuple(range(200_000))
