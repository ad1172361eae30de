from hypothesis import given
from hypothesis import strategies as st

from bursar.model.strategy import Strategy, read_strategy, write_strategy
from bursar.model.time import DAY

TIMES = st.tuples(st.integers(0, DAY), st.integers(1, DAY)).map(sorted)


@given(st.none() | st.integers(0, 9), TIMES, st.floats(1e-9, 1))
def test_what_is_written_is_read_exactly(copies, times, ratio):
    strategy = Strategy(copies, *times, ratio)
    assert read_strategy(write_strategy(strategy)) == strategy
