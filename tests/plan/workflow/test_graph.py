"""A workflow as arrays: any order of numbers is sorted, and what is no workflow is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.model.errors import InputError
from bursar.plan.workflow.graph import Graph


@st.composite
def parents_of_tasks(draw):
    """The parents of each task, numbered at random."""
    tasks = draw(st.integers(1, 12))
    names = draw(st.permutations(range(tasks)))
    parents = [[] for _ in range(tasks)]
    for place in range(tasks):
        parents[names[place]] = draw(
            st.lists(st.sampled_from(names[:place]), unique=True) if place else st.just([])
        )
    return parents


@given(parents_of_tasks())
def test_every_task_comes_after_its_parents(parents):
    graph = Graph.of(parents)
    place = {int(task): number for number, task in enumerate(graph.order)}
    assert sorted(place) == list(range(len(parents)))
    assert (graph.tasks, graph.edges) == (len(parents), sum(map(len, parents)))
    for task, row in enumerate(parents):
        first, last = graph.parents_start[task : task + 2]
        assert graph.parents[first:last].tolist() == row
        assert all(place[parent] < place[task] for parent in row)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Graph.of([[1], [0]]), "task 0 waits for itself"),
        (lambda: Graph.of([[], [1]]), "task 1 waits for itself"),
        (lambda: Graph.of([[3]]), "not in the workflow"),
        (lambda: Graph.of([[-1]]), "not in the workflow"),
        (lambda: Graph(np.array([0, 0, 1]), np.array([0]), np.array([1, 0])), "comes before"),
        (lambda: Graph(np.array([0, 0, 1]), np.array([0]), np.array([0, 0])), "every task once"),
        (lambda: Graph(np.array([0, 0, 1]), np.array([5]), np.array([0, 1])), "not in the"),
        (lambda: Graph(np.array([0, 1]), np.array([0]), np.array([0, 1])), "must ascend"),
    ],
)
def test_what_is_no_workflow_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
