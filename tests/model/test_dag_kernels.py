import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bursar.model.dag import grouped
from bursar.model.dag_kernels import levels_of, ranks_of, topological_order


def children_of(count, edges):
    pairs = np.array(sorted(edges), dtype=np.int64).reshape(-1, 2)
    return grouped(pairs[:, 0], pairs[:, 1], count, count)


def parent_counts(count, edges):
    found = np.zeros(count, dtype=np.int64)
    for _, child in edges:
        found[child] += 1
    return found


graphs = st.integers(1, 10).flatmap(
    lambda count: st.tuples(
        st.just(count),
        st.sets(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))),
        st.lists(st.floats(0, 1e6), min_size=count, max_size=count),
    )
)


@settings(max_examples=60)
@given(graphs)
def test_the_compiled_loops_find_what_the_plain_ones_find(graph):
    count, edges, weights = graph
    children, waiting = children_of(count, edges), parent_counts(count, edges)
    plain = topological_order(children, waiting, large=False)
    assert np.array_equal(plain, topological_order(children, waiting, large=True))
    if len(plain) < count:
        return
    levels = levels_of(children, plain, large=False)
    assert np.array_equal(levels, levels_of(children, plain, large=True))
    ranks = ranks_of(children, plain, np.array(weights), large=False)
    assert np.array_equal(ranks, ranks_of(children, plain, np.array(weights), large=True))


@pytest.mark.parametrize("large", [False, True])
def test_a_cycle_and_what_is_behind_it_stay_out_of_the_order(large):
    edges = {(0, 1), (1, 2), (2, 1), (2, 3)}
    order = topological_order(children_of(4, edges), parent_counts(4, edges), large=large)
    assert order.tolist() == [0]
