"""Workflows in arrays: rows of numbers, and workflows of which only the edges are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.model.dag import dag_of, grouped
from bursar.model.errors import InputError

pairs = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 4)), max_size=30)


@given(pairs)
def test_rows_hold_what_belongs_to_them_once_and_ascending(given):
    table = np.array(given, dtype=np.int64).reshape(-1, 2)
    found = grouped(table[:, 0], table[:, 1], 7, 5)
    for row in range(7):
        assert found.of(row).tolist() == sorted({item for at, item in given if at == row})
    assert found.counts().tolist() == [len(found.of(row)) for row in range(7)]
    assert list(zip(found.rows().tolist(), found.items.tolist(), strict=True)) == sorted(set(given))


def test_rows_without_anything_are_rows():
    nothing = np.array([], dtype=np.int64)
    found = grouped(nothing, nothing, 3, 0)
    assert [found.of(row).tolist() for row in range(3)] == [[], [], []]
    assert found == grouped(nothing, nothing, 3, 9)
    assert found != grouped(nothing, nothing, 4, 0)


@st.composite
def parents_of_tasks(draw):
    """The parents of each task, numbered at random."""
    tasks = draw(st.integers(0, 12))
    names = draw(st.permutations(range(tasks)))
    parents = [[] for _ in range(tasks)]
    for place in range(tasks):
        parents[names[place]] = draw(
            st.lists(st.sampled_from(names[:place]), unique=True) if place else st.just([])
        )
    return parents


@given(parents_of_tasks())
def test_every_task_comes_after_its_parents(parents):
    dag = dag_of(parents)
    place = {int(task): number for number, task in enumerate(dag.order)}
    assert sorted(place) == list(range(len(parents)))
    assert (len(dag), dag.edges) == (len(parents), sum(map(len, parents)))
    for task, row in enumerate(parents):
        assert dag.parents.of(task).tolist() == sorted(row)
        assert all(place[parent] < place[task] for parent in row)
        assert all(task in dag.children.of(parent) for parent in row)


@pytest.mark.parametrize(
    ("parents", "message"),
    [
        ([[1], [0]], "task 0 waits for itself"),
        ([[], [1]], "task 1 waits for itself"),
        ([[3]], "not in the workflow"),
        ([[-1]], "not in the workflow"),
    ],
)
def test_what_is_no_workflow_is_refused(parents, message):
    with pytest.raises(InputError, match=message):
        dag_of(parents)
