from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bursar.execute.timers import Timers

KEYS = st.integers(0, 5)
STEPS = st.one_of(
    st.tuples(st.just("set"), KEYS, st.integers(0, 50)),
    st.tuples(st.just("discard"), KEYS, st.just(0)),
    st.tuples(st.just("due"), st.just(0), st.integers(0, 50)),
)


@given(st.lists(STEPS, max_size=300))
def test_timers_do_as_a_plain_table_does(steps):
    timers, table = Timers(), {}
    for what, key, time in steps:
        if what == "set":
            timers.set(("t", key), time)
            table["t", key] = time
        elif what == "discard":
            timers.discard(("t", key))
            table.pop(("t", key), None)
        else:
            wanted = sorted((when, name) for name, when in table.items() if when <= time)
            assert timers.due(time) == [name for _, name in wanted]
            for _, name in wanted:
                del table[name]
        assert timers.next() == min(table.values(), default=None)


def test_forgotten_times_do_not_pile_up():
    timers = Timers()
    for number in range(10_000):
        timers.set(("timeout", number), 1_000_000 + number)
        timers.discard(("timeout", number))
    assert len(timers._heap) < 200
    assert timers.next() is None
