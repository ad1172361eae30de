"""Columns: rows by number, as a dictionary would hold them, in the order of the numbers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bursar.policies.columns import Columns

steps = st.lists(st.tuples(st.booleans(), st.integers(0, 40), st.integers(0, 9)), max_size=200)


@given(steps)
def test_rows_are_those_of_a_dictionary_in_the_order_of_their_numbers(steps):
    columns, plain = Columns(2), {}
    for is_put, number, value in steps:
        if is_put:
            columns.put((number, value))
            plain[number] = value
        else:
            columns.drop(number)
            plain.pop(number, None)
        assert len(columns) == len(plain)
        assert columns[0].tolist() == sorted(plain)
        assert columns[1].tolist() == [plain[one] for one in sorted(plain)]
    for number in range(41):
        wanted = sorted(plain).index(number) if number in plain else None
        assert columns.row_of(number) == wanted


def test_room_is_that_of_the_rows_however_many_came_and_went():
    columns = Columns(1)
    for number in range(10_000):
        columns.put((number,))
        columns.drop(number - 5)
    assert columns[0].tolist() == list(range(9_995, 10_000))
    assert columns._table.shape[1] <= 32
