"""Pre-processing: paths against plain enumeration, the published example, and large workflows."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.model.dag import dag_of
from bursar.model.errors import InputError
from bursar.plan.published.prob_paths import preprocess


@st.composite
def parents_of_tasks(draw, most=9):
    """The parents of each task, numbered at random."""
    tasks = draw(st.integers(1, most))
    names = draw(st.permutations(range(tasks)))
    parents = [[] for _ in range(tasks)]
    for place in range(tasks):
        parents[names[place]] = draw(
            st.lists(st.sampled_from(names[:place]), unique=True) if place else st.just([])
        )
    return parents


@st.composite
def layers_of_tasks(draw):
    """The parents of each task, all in the layer before: paths of one length."""
    widths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    parents, before = [], []
    for width in widths:
        here = list(range(len(parents), len(parents) + width))
        least = 1 if before else 0
        some = st.lists(st.sampled_from(before or [0]), unique=True, min_size=least)
        parents += [draw(some) if before else [] for _ in here]
        before = here
    return parents


def all_paths(parents):
    children = [[c for c, row in enumerate(parents) if task in row] for task in range(len(parents))]

    def ways(task):
        return [(task, *way) for child in children[task] for way in ways(child)] or [(task,)]

    return [way for task, row in enumerate(parents) if not row for way in ways(task)]


def as_tasks(found):
    return [tuple(found.nodes[node] for node in path) for path in found.paths]


def montage(pictures, overlaps):
    """Pictures are projected, pairs fitted, all fits joined; each picture corrected, then added.

    `overlaps` are the pictures of each fit.
    """
    fits = len(overlaps)
    parents = [[] for _ in range(pictures)] + [list(pair) for pair in overlaps]
    concat, model = pictures + fits, pictures + fits + 1
    parents += [list(range(pictures, pictures + fits)), [concat]]
    parents += [[model, picture] for picture in range(pictures)]
    parents += [list(range(model + 1, model + 1 + pictures))]
    return parents + [[len(parents) + step] for step in range(-1, 2)]


FIGURE_4 = montage(4, [(0,), (0, 1), (0, 2), (1, 2), (1, 3), (2, 3)])
"""20 tasks as in figure 4, whose eleven edges from projections to fits give its counts"""


def test_the_published_example_becomes_one_path():
    found = preprocess(dag_of(FIGURE_4))
    assert found.enumerated.paths == 48
    assert (found.pruned.paths, found.pruned.adds, found.pruned.maxima) == (44, 352, 43)
    assert (found.bound.paths, found.bound.adds, found.bound.maxima) == (1, 8, 11)
    assert found.bound.total / found.pruned.total == pytest.approx(0.05, abs=0.005)
    (path,) = as_tasks(found)
    assert [len(node) for node in path] == [4, 6, 1, 1, 4, 1, 1, 1, 1]


def test_each_pruning_can_be_switched_off():
    dag = dag_of(FIGURE_4)
    plain = preprocess(dag, prune=False, binding=False)
    assert sorted(as_tasks(plain)) == sorted(
        tuple((task,) for task in path) for path in all_paths(FIGURE_4)
    )
    assert plain.enumerated == plain.pruned == plain.bound
    assert preprocess(dag, binding=False).bound.paths == 44
    assert preprocess(dag, prune=False).pruned.paths == 48


@given(parents_of_tasks())
def test_a_path_is_pruned_exactly_where_another_has_all_its_tasks(parents):
    paths = all_paths(parents)
    critical = [one for one in paths if not any(set(one) < set(other) for other in paths)]
    found = preprocess(dag_of(parents), binding=False)
    assert sorted(as_tasks(found)) == sorted(tuple((t,) for t in path) for path in critical)
    assert found.enumerated.paths == len(paths)
    assert found.enumerated.adds == sum(len(path) - 1 for path in paths)
    assert found.pruned == found.bound


@given(parents_of_tasks() | layers_of_tasks())
def test_bound_paths_cover_all_paths_and_take_no_more_operations(parents):
    dag = dag_of(parents)
    plain, bound = preprocess(dag, binding=False), preprocess(dag)
    for path in as_tasks(plain):
        assert any(
            len(path) == len(other)
            and all(set(a) <= set(b) for a, b in zip(path, other, strict=True))
            for other in as_tasks(bound)
        )
    assert bound.bound.total <= plain.bound.total
    assert bound.pruned == plain.pruned
    assert len(set(bound.nodes)) == len(bound.nodes)


@given(parents_of_tasks() | layers_of_tasks())
def test_paths_are_bound_until_there_is_no_gain(parents):
    paths = as_tasks(preprocess(dag_of(parents)))
    for number, one in enumerate(paths):
        for other in paths[:number]:
            if len(one) == len(other):
                differ = sum(a != b for a, b in zip(one, other, strict=True))
                assert len(one) - differ - 1 <= 0


def test_paths_that_differ_at_two_places_apart_are_bound_as_well():
    first, second = [[], []], [[1, 0], [0], [1], [1, 0]]
    third, fourth = [[5, 4], [3, 2, 4], [5, 3]], [[7, 6, 8], [8], [7], [7, 6, 8]]
    found = preprocess(dag_of([*first, *second, *third, *fourth])).bound
    assert (found.paths, found.total) == (5, 33)


@given(layers_of_tasks(), st.integers(0, 10))
def test_no_more_pairs_are_bound_than_allowed(parents, most):
    dag = dag_of(parents)
    before = preprocess(dag, binding=False).bound.paths
    found = preprocess(dag, most_bindings=most)
    assert before - found.bound.paths <= most
    if before - found.bound.paths < most:
        assert found.bound.paths == preprocess(dag, most_bindings=before).bound.paths


def test_paths_of_two_tasks_are_not_bound():
    assert preprocess(dag_of([[], [], [0, 1]])).bound.paths == 2
    assert preprocess(dag_of([[], [], []])).bound.paths == 3
    assert preprocess(dag_of([[], [], [0, 1], [2]])).bound.paths == 1


def test_millions_of_paths_become_one_in_seconds():
    side = 40
    overlaps = [(at, at + 1) for at in range(side * side) if (at + 1) % side]
    overlaps += [(at, at + side) for at in range(side * (side - 1))]
    parents = montage(side * side, overlaps)
    begin = time.perf_counter()
    found = preprocess(dag_of(parents))
    assert time.perf_counter() - begin < 20
    assert found.enumerated.paths == 2 * len(overlaps) * side**2 + side**2
    assert found.pruned.paths == 2 * len(overlaps) * side**2
    assert (found.bound.paths, found.bound.adds) == (1, 8)


def test_too_many_paths_are_refused():
    parents = [[]]
    for _ in range(30):  # two ways on each of thirty steps, of different lengths
        last = len(parents) - 1
        parents += [[last], [last + 1], [last], [last + 2, last + 3]]
    with pytest.raises(InputError, match=r"1,073,741,824 paths.*sampling"):
        preprocess(dag_of(parents))
    with pytest.raises(InputError, match="48 paths to evaluate, more than 47"):
        preprocess(dag_of(FIGURE_4), prune=False, binding=False, most_paths=47)
    with pytest.raises(InputError, match="without tasks"):
        preprocess(dag_of([]))
