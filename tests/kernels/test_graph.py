import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bursar.kernels.graph import levels_of, ranks_of
from bursar.model.dag import grouped, topological_order


def children_of(count, edges):
    pairs = np.array(sorted(edges), dtype=np.int64).reshape(-1, 2)
    return grouped(pairs[:, 0], pairs[:, 1], count, count)


def parents_of(count, edges):
    return children_of(count, {(child, parent) for parent, child in edges})


def parent_counts(count, edges):
    found = np.zeros(count, dtype=np.int64)
    for _, child in edges:
        found[child] += 1
    return found


dags = st.integers(1, 10).flatmap(
    lambda count: st.tuples(
        st.just(count),
        st.sets(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))),
        st.lists(st.floats(0, 1e6), min_size=count, max_size=count),
    )
)


@settings(max_examples=60)
@given(dags)
def test_the_compiled_loops_find_what_the_plain_ones_find(dag):
    count, edges, weights = dag
    children, waiting = children_of(count, edges), parent_counts(count, edges)
    order = topological_order(children, waiting)
    if len(order) < count:
        return
    levels = levels_of(children, order, large=False)
    assert np.array_equal(levels, levels_of(children, order, large=True))
    parents, own = parents_of(count, edges), np.array(weights)
    moves = np.arange(len(edges)) / 7
    for given_moves in (None, moves):
        ranks = ranks_of(parents, order, own, given_moves, large=False)
        assert np.array_equal(ranks, ranks_of(parents, order, own, given_moves, large=True))


def test_an_upward_rank_is_the_longest_way_to_the_end_moves_included():
    edges = {(0, 1), (0, 2), (1, 3), (2, 3)}
    parents, order = parents_of(4, edges), np.arange(4, dtype=np.int32)
    weights = np.array([1.0, 2.0, 5.0, 3.0])
    assert ranks_of(parents, order, weights).tolist() == [9, 5, 8, 3]
    moves = np.array([9.0, 0.0, 0.0, 0.0])  # from 0 to 1
    assert ranks_of(parents, order, weights, moves).tolist() == [15, 5, 8, 3]


def test_a_cycle_and_what_is_behind_it_stay_out_of_the_order():
    edges = {(0, 1), (1, 2), (2, 1), (2, 3)}
    order = topological_order(children_of(4, edges), parent_counts(4, edges))
    assert order.tolist() == [0]
