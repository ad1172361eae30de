import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bursar.kernels.graph import levels_of, ranks_of
from bursar.model.dag import grouped, topological_order


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
    order = topological_order(children, waiting)
    if len(order) < count:
        return
    levels = levels_of(children, order, large=False)
    assert np.array_equal(levels, levels_of(children, order, large=True))
    ranks = ranks_of(children, order, np.array(weights), large=False)
    assert np.array_equal(ranks, ranks_of(children, order, np.array(weights), large=True))


def test_a_cycle_and_what_is_behind_it_stay_out_of_the_order():
    edges = {(0, 1), (1, 2), (2, 1), (2, 3)}
    order = topological_order(children_of(4, edges), parent_counts(4, edges))
    assert order.tolist() == [0]
