import shutil
import sqlite3
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from types import NoneType, UnionType
from typing import Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bursar.journal.database import FORMAT
from bursar.journal.reader import BATCH, JournalReader
from bursar.journal.writer import JournalWriter
from bursar.model.errors import BursarError, InputError, JournalError
from bursar.model.money import LARGEST, Money
from bursar.model.strategy import Strategy
from bursar.state import events as ev

SIMPLE = {
    NoneType: st.none(),
    bool: st.booleans(),
    int: st.integers(-(2**63), 2**63 - 1),
    float: st.floats(allow_nan=False, allow_infinity=False),
    str: st.text(),
    Money: st.integers(-LARGEST, LARGEST).map(Money),
}


def values_of(hint):
    """Any value of a type, as the fields of events are declared."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint in SIMPLE:
        return SIMPLE[hint]
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (Union, UnionType):
        return st.one_of(*map(values_of, arguments))
    if origin is tuple and arguments[-1] is not Ellipsis:
        return st.tuples(*map(values_of, arguments))
    if origin is tuple:
        return st.lists(values_of(arguments[0]), max_size=3).map(tuple)
    if origin is dict:
        return st.dictionaries(*map(values_of, arguments), max_size=3)
    if hint is Strategy:
        return st.builds(Strategy, st.none(), st.just(1), st.integers(1, 9), st.floats(0, 1))
    assert issubclass(hint, msgspec.Struct), hint
    fields = get_type_hints(hint)
    return st.builds(hint, **{name: values_of(fields[name]) for name in hint.__struct_fields__})


any_event = values_of(ev.AnyEvent)


def write(path, events, per_commit=2):
    with JournalWriter.create(path, "amber-finch") as writer:
        for start in range(0, len(events), per_commit):
            for event in events[start : start + per_commit]:
                writer.append(event)
            writer.commit(safely=False)


def read(path, after=0):
    with JournalReader(path) as reader:
        return list(reader.events(after))


def ups(count, first=1):
    return [ev.MachineUp(n, n) for n in range(first, first + count)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.db"


@settings(max_examples=60, deadline=None)
@given(st.lists(any_event, max_size=12), st.integers(1, 5))
def test_any_events_come_back_as_they_were_written(events, per_commit):
    with TemporaryDirectory() as directory:
        path = Path(directory) / "journal.db"
        write(path, events, per_commit)
        assert read(path) == events


def test_a_journal_tells_its_format_run_and_creation(path):
    JournalWriter.create(path, "o'brien-1", created=12.5).close()
    with JournalReader(path) as reader:
        assert (reader.meta.format, reader.meta.run, reader.meta.created) == (3, "o'brien-1", 12.5)
    assert FORMAT == 3


def test_a_journal_is_never_written_over(path):
    write(path, ups(3))
    with pytest.raises(JournalError, match="there is a journal already"):
        JournalWriter.create(path, "other")
    assert read(path) == ups(3)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE event SET crc = 0 WHERE seq = 2",
        "DELETE FROM event WHERE seq = 3",
        "INSERT OR REPLACE INTO event VALUES (2, '{}', 0)",
        "INSERT INTO event VALUES (5, '{}', 0)",
        "UPDATE meta SET value = 'other' WHERE key = 'run'",
        "DELETE FROM meta",
    ],
)
def test_what_is_written_cannot_be_changed_removed_or_left_out(path, change):
    write(path, ups(3))
    connection = sqlite3.connect(path)
    with pytest.raises(sqlite3.IntegrityError, match="a journal is"):
        connection.execute(change)
    connection.close()
    assert read(path) == ups(3)


def test_events_are_seen_when_they_are_committed_and_not_before(path):
    with JournalWriter.create(path, "r") as writer, JournalReader(path) as reader:
        writer.append(ups(1)[0])
        assert list(reader.events()) == []
        writer.commit(safely=False)
        assert list(reader.events()) == ups(1)


def test_what_was_appended_and_not_committed_is_not_in_the_journal(path):
    with JournalWriter.create(path, "r") as writer:
        writer.append(ups(1)[0])
        writer.commit(safely=True)
        writer.append(ups(2)[1])
    assert read(path) == ups(1)


def test_a_commit_of_nothing_is_nothing(path):
    with JournalWriter.create(path, "r") as writer:
        writer.commit(safely=True)
        assert writer.seq == 0


def test_each_commit_is_as_safe_as_it_was_asked_to_be(path):
    full, normal = 2, 1
    asked = [False, False, True, True, False, True, False]
    with JournalWriter.create(path, "r") as writer:
        got = []
        for safely, event in zip(asked, ups(len(asked)), strict=True):
            writer.append(event)
            writer.commit(safely=safely)
            got += writer._connection.execute("PRAGMA synchronous").fetchone()
    assert got == [full if safely else normal for safely in asked]


def test_a_reader_goes_on_after_the_events_it_knows(path):
    with JournalWriter.create(path, "r") as writer, JournalReader(path) as reader:
        known = 0
        for round_ in range(4):
            for event in ups(3, first=1 + 3 * round_):
                writer.append(event)
            writer.commit(safely=False)
            fresh = list(reader.events(after=known))
            assert fresh == ups(3, first=known + 1)
            known += len(fresh)
        assert list(reader.events(after=known)) == []


def test_long_journals_are_read_in_several_batches(path):
    events = ups(2 * BATCH + 7)
    write(path, events, per_commit=1000)
    assert read(path) == events
    assert read(path, after=BATCH) == events[BATCH:]


def test_a_reader_that_pauses_does_not_keep_the_log_from_being_folded(path):
    with JournalWriter.create(path, "r") as writer, JournalReader(path) as reader:
        for event in ups(10):
            writer.append(event)
        writer.commit(safely=False)
        paused = reader.events()
        next(paused)
        writer.append(ups(11)[-1])
        writer.commit(safely=True)
        other = sqlite3.connect(path)
        busy, _, _ = other.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()
        other.close()
        assert not busy
        assert len(list(paused)) == 10


def test_a_closed_journal_is_one_plain_file(path):
    write(path, ups(3))
    assert [p.name for p in path.parent.iterdir()] == ["journal.db"]
    read(path)
    assert [p.name for p in path.parent.iterdir()] == ["journal.db"]


def test_a_writer_closes_though_somebody_reads_and_the_file_alone_is_complete(path):
    with JournalWriter.create(path, "r") as writer:
        for event in ups(3):
            writer.append(event)
        writer.commit(safely=False)
        reader = JournalReader(path)
    copy = shutil.copyfile(path, path.with_name("copy.db"))
    assert read(copy) == ups(3)
    assert list(reader.events()) == ups(3)
    reader.close()


def test_a_later_writer_goes_on_where_the_earlier_one_stopped(path):
    write(path, ups(3))
    with JournalWriter(path) as writer:
        assert writer.seq == 3
        writer.append(ups(4)[-1])
        writer.commit(safely=True)
    assert read(path) == ups(4)


def test_of_two_writers_one_is_reported(path):
    with JournalWriter.create(path, "r") as one, JournalWriter(path) as other:
        for writer in (one, other):
            writer.append(ups(1)[0])
        one.commit(safely=False)
        with pytest.raises(JournalError, match="another process wrote to it too"):
            other.commit(safely=False)
    assert read(path) == ups(1)


def test_names_that_mean_something_in_addresses_are_only_names(tmp_path):
    odd = tmp_path / "50% #1 ?mode=rw&x é"
    odd.mkdir()
    write(odd / "journal.db", ups(2))
    assert read(odd / "journal.db") == ups(2)


def test_text_that_json_cannot_hold_is_refused_in_one_line(path):
    with JournalWriter.create(path, "r") as writer:
        with pytest.raises(InputError, match=r"RunEnded cannot be journaled .* valid UTF-8"):
            writer.append(ev.RunEnded(0, "failed", "\udcff"))
        writer.commit(safely=True)
    assert read(path) == []


@pytest.mark.parametrize(
    "event",
    [
        ev.MachineRented(0, 1, "small", 5, reason=5),
        ev.MachineUp(0, True),
        ev.MachineUp(0.5, 1),
        ev.MachineUp(0, "1"),
        ev.MachineUp(0, np.int64(1)),
        ev.RunEnded(0, "weird"),
        ev.StrategyChosen(0, Strategy(None, 1, 2, 0.0), cost=float("nan")),
        ev.StrategyChosen(0, Strategy(None, 1, 2, 0.0), cost=float("inf")),
        ev.GoalChanged(0, None),
        ev.RetryRequested(0, ("1",)),
        ev.AttemptEnded(0, 1, "success", exit_code=object()),
        ev.ActionRefused(0, "Rent", about=None, why=""),
    ],
)
def test_what_could_not_be_read_again_is_not_written(path, event):
    with JournalWriter.create(path, "r") as writer:
        with pytest.raises(JournalError, match=r"cannot be journaled, since .* be read") as caught:
            writer.append(event)
        assert "\n" not in str(caught.value)
        writer.append(ups(1)[0])
        writer.commit(safely=True)
    assert read(path) == ups(1)


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.binary(max_size=4),
    st.just(np.int64(3)),
    st.just(np.float64("nan")),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=2),
    st.just(Money(5)),
    st.just(object()),
)
plain_events = [
    kind for kind in get_args(ev.AnyEvent) if kind not in (ev.RunCreated, ev.WorkArrived)
]


def test_whatever_is_written_of_odd_values_is_read_again(path):
    """An author of events may have put anything into it: it is refused, or comes back."""
    written = []
    with JournalWriter.create(path, "r") as writer:

        @settings(max_examples=400, deadline=None)
        @given(st.data(), st.sampled_from(plain_events))
        def write_odd(data, kind):
            fields = {name: data.draw(ODD) for name in kind.__struct_fields__}
            if data.draw(st.booleans()):  # only one of them odd
                name = data.draw(st.sampled_from(kind.__struct_fields__))
                hints = get_type_hints(kind)
                good = {name: data.draw(values_of(hints[name])) for name in fields}
                fields = {**good, name: fields[name]}
            try:
                writer.append(kind(**fields))
            except BursarError:
                return
            written.append(kind)

        write_odd()
        writer.commit(safely=False)
    assert [type(event) for event in read(path)] == written
    assert written, "nothing was accepted at all"


def test_journaling_costs_little_in_a_busy_run(path):
    """At 5,000 events a second, two a commit, 40 microseconds each would be a fifth of a core."""
    events = [ev.AttemptEnded(n, n, "success", 1_234_567, 0, 1_000_000) for n in range(4_000)]
    costs = []
    with JournalWriter.create(path, "r") as writer:
        for _ in range(3):
            began = time.process_time()
            for n in range(0, len(events), 2):
                writer.append(events[n])
                writer.append(events[n + 1])
                writer.commit(safely=False)
            costs.append((time.process_time() - began) / len(events))
    assert min(costs) < 40e-6
