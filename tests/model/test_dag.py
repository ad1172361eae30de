import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bursar.model.dag import grouped

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
