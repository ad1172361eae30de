"""A digest tells of a run what its events tell, and nothing else of the journal is read for it."""

import sqlite3
import zlib
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bursar.journal.reader import JournalReader
from bursar.journal.recorder import Recorder
from bursar.journal.replay import load_digest, load_state
from bursar.journal.writer import JournalWriter
from bursar.model.errors import JournalError
from bursar.state.digest import digest_of
from bursar.state.state import RunState

FORMAT_2 = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE event (
    seq INTEGER PRIMARY KEY,
    record TEXT NOT NULL,
    crc INTEGER NOT NULL
);
"""
"""The tables of the format before, as they were written; their triggers are left out."""


class Counted:
    """A journal that makes its digest at every commit, and ends after so many of them."""

    def __init__(self, writer, most):
        self.writer, self.left = writer, most
        self.recorder = None

    def append(self, event):
        if self.left > 0:
            self.recorder.append(event)

    def commit(self, *, safely):
        if self.left > 0:
            self.recorder.commit(safely=safely)
        self.left -= 1


def record(new_engine, path, commits=10**6, **conditions):
    with JournalWriter.create(path, "r") as writer:
        journal = Counted(writer, commits)
        journal.recorder = Recorder(writer, state := RunState())
        engine, _ = new_engine(journal, state=state, **conditions)
        engine.run()
    return engine.state


@settings(max_examples=30, deadline=None)
@given(commits=st.integers(1, 60), seed=st.integers(0, 10**6))
def test_after_any_commit_the_digest_is_that_of_the_state(new_engine, commits, seed):
    with TemporaryDirectory() as directory:
        path = Path(directory) / "journal.db"
        record(new_engine, path, commits, seed=seed, faults=0.3)
        assert load_digest(path) == digest_of(load_state(path))


@pytest.fixture
def journal(new_engine, tmp_path):
    record(new_engine, tmp_path / "journal.db", seed=3)
    return tmp_path / "journal.db"


def change(path, statement, *values):
    with sqlite3.connect(path) as connection:
        connection.execute(statement, values)
    connection.close()


def test_a_digest_needs_no_event(journal):
    expected = load_digest(journal)
    journal.write_bytes(journal.read_bytes().replace(b'"RunCreated"', b'"RunCreates"'))
    assert load_digest(journal) == expected
    with pytest.raises(JournalError, match="event 1 is damaged"):
        load_state(journal)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM digest",
        "UPDATE digest SET crc = crc + 1",
        "UPDATE digest SET record = replace(record, 'USD', 'EUR')",
        "UPDATE digest SET record = x'ff00'",
        "UPDATE digest SET seq = seq - 1",
    ],
)
def test_without_a_good_digest_the_events_tell(journal, statement):
    expected = load_digest(journal)
    change(journal, statement)
    with JournalReader(journal) as reader:
        assert reader.digest() is None
    assert load_digest(journal) == expected


@pytest.mark.parametrize("text", ['{"run":"r"}', "[]", '{"committed":"much"}'])
def test_a_digest_of_another_version_is_not_read(journal, text):
    expected = load_digest(journal)
    with sqlite3.connect(journal) as connection:
        ((seq,),) = connection.execute("SELECT seq FROM digest").fetchall()
    connection.close()
    change(journal, "UPDATE digest SET record = ?, crc = ?", text, zlib.crc32(text.encode(), seq))
    assert load_digest(journal) == expected


def test_what_was_not_committed_is_not_in_the_digest(new_engine, tmp_path):
    path = tmp_path / "journal.db"
    with JournalWriter.create(path, "r") as writer:
        engine, _ = new_engine(recorder := Recorder(writer, state := RunState()), state=state)
        recorder.commit(safely=True)
        before = load_digest(path)
        engine.step(engine._world.wait(None))
        assert load_digest(path) != before
        after = load_digest(path)
        engine.record(engine._ending(engine.state.now))
        assert load_digest(path) == after


def test_a_journal_of_the_format_before_is_replayed_and_gone_on_with(journal, play_on):
    with JournalReader(journal) as reader:
        records = list(reader.records())
    expected = load_digest(journal)
    journal.unlink()
    connection = sqlite3.connect(journal)
    connection.text_factory = bytes
    connection.executescript(FORMAT_2)
    schema = connection.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()
    texts = ("2", "r", "1.5")
    rows = zip(("format", "run", "created", "crc"), (*texts, crc_of(schema, texts)), strict=True)
    connection.executemany("INSERT INTO meta VALUES (?, ?)", rows)
    for seq, record in enumerate(records, 1):
        row = (seq, record.decode(), zlib.crc32(record, seq))
        connection.execute("INSERT INTO event VALUES (?, ?, ?)", row)
    connection.commit()
    connection.close()
    assert load_digest(journal) == expected
    with JournalWriter(journal) as writer:
        state = load_state(journal)
        play_on(state, Recorder(writer, state))
    assert load_digest(journal) == digest_of(state)


def crc_of(schema, texts):
    return str(zlib.crc32(repr((schema, texts)).encode()))
