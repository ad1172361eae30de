import fcntl
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import zlib
from random import Random

import pytest
from tests.users import foreign

from bursar.journal.reader import JournalReader
from bursar.journal.replay import load_state
from bursar.journal.writer import JournalWriter
from bursar.model.errors import BursarError, InputError, JournalError
from bursar.state import events as ev


def fill(writer, count, first=1, text=""):
    for n in range(first, first + count):
        writer.append(ev.AttemptEnded(n, n, "failed", why=text))
        writer.commit(safely=False)


def count_events(path):
    with JournalReader(path) as reader:
        return sum(1 for _ in reader.events())


def complaint_of(path, error):
    """What a reader says about this file, which must be one line that begins with its name."""
    with pytest.raises(BursarError) as caught, JournalReader(path) as reader:
        list(reader.events())
    assert type(caught.value) is error
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message.removeprefix(f"{path}: ")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.db"


@pytest.fixture
def journal(path):
    with JournalWriter.create(path, "r") as writer:
        fill(writer, 500, text="x" * 200)
    return path


def tamper(path, statement, *values):
    """Change what cannot be changed, and leave no other trace."""
    connection = sqlite3.connect(path)
    triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
    guards = triggers.fetchall()
    for name, _ in guards:
        connection.execute(f"DROP TRIGGER {name}")
    connection.execute(statement, values)
    for _, sql in guards:
        connection.execute(sql)
    connection.commit()
    connection.close()


# --- files that are no journals, or no longer ----------------------------------------------------


def test_a_missing_journal_is_reported(path):
    assert complaint_of(path, InputError) == "no such journal; bursar status shows the runs"


def test_a_directory_is_no_journal(tmp_path):
    assert complaint_of(tmp_path, InputError).startswith("is not a file")


def test_an_empty_file_is_reported(path):
    path.touch()
    assert complaint_of(path, JournalError).startswith("is empty, so the run never began")


def test_a_file_that_is_not_sqlite_is_reported(path):
    path.write_text("seq,at,kind\n" * 100)
    assert complaint_of(path, JournalError).startswith("is not a bursar journal")


@pytest.mark.parametrize(
    "schema", ["CREATE TABLE t (x)", "CREATE TABLE meta (key, value)", "CREATE TABLE meta (x)"]
)
def test_another_sqlite_file_is_reported(path, schema):
    connection = sqlite3.connect(path)
    connection.execute(schema)
    connection.close()
    assert complaint_of(path, JournalError).startswith("is not a bursar journal")


@pytest.mark.parametrize("kept", [50, 3_000, 5_000, 60_000])
def test_a_truncated_journal_is_reported(journal, kept):
    data = journal.read_bytes()
    assert len(data) > kept
    journal.write_bytes(data[:kept])
    message = complaint_of(journal, JournalError)
    assert message.startswith(("the journal is damaged", "is not a bursar journal"))


def test_a_damaged_page_is_reported(journal):
    data = bytearray(journal.read_bytes())
    data[60_000:70_000] = b"\xa5" * 10_000
    journal.write_bytes(data)
    assert complaint_of(journal, JournalError).startswith("the journal is damaged: restore it")


def test_a_journal_of_a_newer_version_is_left_alone(journal):
    tamper(journal, "UPDATE meta SET value = '4' WHERE key = 'format'")
    expected = "written by a newer bursar (format 4, this one reads up to 3): upgrade bursar"
    assert complaint_of(journal, JournalError) == expected
    before = journal.read_bytes()
    with pytest.raises(JournalError, match=re.escape(expected)):
        JournalWriter(journal)
    assert journal.read_bytes() == before


@pytest.mark.parametrize(
    "record",
    [
        '{"type":"MachineUp","at":1',
        '{"type":"Sunrise","at":1}',
        '{"type":"MachineUp","at":"noon","machine":1}',
        '{"type":"GoalChanged","at":1,"goal":{"budget":"plenty"}}',
        "",
        "\x00",
        b"\xff",
    ],
)
def test_a_record_that_does_not_decode_is_reported_with_its_place(journal, record):
    data = record.encode() if isinstance(record, str) else record
    change = "UPDATE event SET record = ?, crc = ? WHERE seq = 17"
    tamper(journal, change, record, zlib.crc32(data, 17))
    message = complaint_of(journal, JournalError)
    assert message.startswith("event 17 cannot be read (")
    assert message.endswith("restore the file from a copy, or upgrade bursar")


# --- flipped bytes -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE event SET record = replace(record, 'xxx', 'xyx') WHERE seq = 17",
        "UPDATE event SET crc = crc + 1 WHERE seq = 17",
        "UPDATE event SET crc = 'x' WHERE seq = 17",
        "UPDATE event SET record = (SELECT record FROM event WHERE seq = 18) WHERE seq = 17",
        "DELETE FROM event WHERE seq = 17",
    ],
)
def test_a_record_that_was_changed_is_reported_with_its_place(journal, change):
    tamper(journal, change)
    assert complaint_of(journal, JournalError).startswith("event 17 is damaged: restore the file")


@pytest.mark.parametrize("key", ["format", "run", "created", "crc"])
def test_what_a_journal_says_about_itself_is_checked_too(journal, key):
    tamper(journal, "UPDATE meta SET value = '1' WHERE key = ?", key)
    assert complaint_of(journal, JournalError).startswith("what the journal says about itself is")


def test_no_flipped_byte_passes_unnoticed(path):
    """Any byte of a file: what is read is what was written, or it is told in one line."""
    with JournalWriter.create(path, "r") as writer:
        fill(writer, 40, text="it's")
    with JournalReader(path) as reader:
        events = list(reader.events())
    good, rng = path.read_bytes(), Random(5)
    places = {*range(0, len(good), 4096), *rng.sample(range(len(good)), 1_500)}
    places |= {page + offset for page in range(0, len(good), 4096) for offset in range(12)}
    reported = 0
    for place in sorted(places):
        bad = bytearray(good)
        bad[place] ^= 1 << rng.randrange(8)
        path.write_bytes(bad)
        try:
            with JournalReader(path) as reader:
                assert list(reader.events()) == events, place
        except BursarError as error:
            assert "\n" not in str(error)
            reported += 1
    assert reported > len(places) / 5


def test_text_in_a_damaged_schema_is_no_reason_for_a_traceback(journal):
    data = journal.read_bytes()
    assert data.count(b"CREATE TRIGGER event_stays") == 1
    journal.write_bytes(
        data.replace(b"CREATE TRIGGER event_stays", b"CREATE TRIGGER event_st\xe1ys")
    )
    assert complaint_of(journal, JournalError).startswith("the journal is damaged")


# --- the format before ---------------------------------------------------------------------------

FORMAT_1 = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE event (seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, kind TEXT NOT NULL,
    record TEXT NOT NULL);
INSERT INTO meta VALUES ('format', '1'), ('run', 'old'), ('created', '1.5');
INSERT INTO event VALUES (1, 3, 'MachineUp', '{"type":"MachineUp","at":3,"machine":1}');
"""


def test_a_journal_without_checksums_is_read_and_gone_on_with(path):
    connection = sqlite3.connect(path)
    connection.executescript(FORMAT_1)
    connection.close()
    with JournalReader(path) as reader:
        assert (reader.meta.format, reader.meta.run) == (1, "old")
        assert list(reader.events()) == [ev.MachineUp(3, 1)]
    with JournalWriter(path) as writer:
        writer.append(ev.MachineUp(4, 2))
        writer.commit(safely=True)
    with JournalReader(path) as reader:
        assert list(reader.events()) == [ev.MachineUp(3, 1), ev.MachineUp(4, 2)]


# --- rights --------------------------------------------------------------------------------------


def test_a_journal_that_one_may_not_read_is_reported(public_directory, as_ordinary_user):
    path = public_directory / "journal.db"
    JournalWriter.create(path, "r").close()
    path.chmod(0o000)
    with as_ordinary_user():
        assert complaint_of(path, InputError).startswith("permission denied: ask its owner")


def test_a_directory_that_one_may_not_enter_is_reported(public_directory, as_ordinary_user):
    inner = public_directory / "run"
    inner.mkdir()
    JournalWriter.create(inner / "journal.db", "r").close()
    inner.chmod(0o000)
    with as_ordinary_user():
        assert complaint_of(inner / "journal.db", InputError).startswith("permission denied")


def test_a_journal_that_one_may_not_write_is_reported(public_directory, as_ordinary_user):
    path = public_directory / "journal.db"
    JournalWriter.create(path, "r").close()
    path.chmod(0o444)
    public_directory.chmod(0o555)
    with as_ordinary_user():
        with pytest.raises(InputError, match="permission denied: ask its owner to let you write"):
            JournalWriter(path)
        with pytest.raises(InputError, match="permission denied"):
            JournalWriter.create(public_directory / "other.db", "r")


@pytest.mark.parametrize(
    "left",
    [
        ("journal.db", "journal.db-wal", "journal.db-shm"),
        ("journal.db", "journal.db-wal"),
    ],
)
def test_what_a_crash_left_is_read_in_a_directory_that_one_may_not_write(
    public_directory, as_ordinary_user, tmp_path, left
):
    with JournalWriter.create(tmp_path / "journal.db", "r") as writer:
        fill(writer, 5)
        for name in left:
            shutil.copyfile(tmp_path / name, public_directory / name)
    seal(public_directory)
    with as_ordinary_user():
        assert count_events(public_directory / "journal.db") == 5
    assert sorted(p.name for p in public_directory.iterdir()) == sorted(left)


def test_a_journal_closed_while_it_was_read_needs_no_rights_to_its_directory(
    public_directory, as_ordinary_user
):
    path = public_directory / "journal.db"
    with JournalWriter.create(path, "r") as writer:
        fill(writer, 5)
        reader = sqlite3.connect(path)
        reader.execute("SELECT count(*) FROM event").fetchall()
    reader.close()
    assert path.read_bytes()[18] == 2, "the file is still in the mode of a writer"
    seal(public_directory)
    with as_ordinary_user():
        assert count_events(path) == 5


def test_a_living_journal_is_read_by_those_who_may_only_read(public_directory, as_ordinary_user):
    path = public_directory / "journal.db"
    with JournalWriter.create(path, "r") as writer:
        fill(writer, 5)
        seal(public_directory)
        with as_ordinary_user(), JournalReader(path) as reader:
            assert len(list(reader.events())) == 5
        public_directory.chmod(0o755)
        fill(writer, 5, first=6)
        seal(public_directory)
        with as_ordinary_user():
            assert count_events(path) == 10
        public_directory.chmod(0o755)


def seal(directory):
    for file in directory.iterdir():
        file.chmod(0o444)
    directory.chmod(0o555)


# --- other users ---------------------------------------------------------------------------------


def test_a_journal_may_be_read_by_its_owner_only(path):
    umask = os.umask(0)
    try:
        with JournalWriter.create(path, "r") as writer:
            fill(writer, 5)
            files = sorted(file.name for file in path.parent.iterdir())
            assert files == ["journal.db", "journal.db-shm", "journal.db-wal"]
            assert {file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {0o600}
    finally:
        os.umask(umask)


LEFT_BY_A_CRASH = ("journal.db", "journal.db-wal", "journal.db-shm")


def hold_transaction(path):
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    connection.execute("BEGIN")
    connection.execute("SELECT count(*) FROM event").fetchall()
    return connection


def hold_lock(path):
    descriptor = os.open(path, os.O_RDONLY)
    fcntl.lockf(descriptor, fcntl.LOCK_SH)
    return descriptor


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be two users")
@pytest.mark.parametrize("hold", [hold_transaction, hold_lock])
@pytest.mark.parametrize("closed", [True, False])
def test_whoever_may_only_read_a_journal_keeps_nobody_from_writing_it(
    public_directory, hold, closed
):
    path = public_directory / "journal.db"
    with JournalWriter.create(path, "r") as writer:
        fill(writer, 5)
        if not closed:
            for name in LEFT_BY_A_CRASH:
                shutil.copyfile(public_directory / name, public_directory / f"kept-{name}")
    if not closed:
        for name in LEFT_BY_A_CRASH:
            (public_directory / f"kept-{name}").replace(public_directory / name)
    for file in public_directory.iterdir():
        file.chmod(0o644)
    with foreign(lambda: hold(path)):
        with JournalWriter(path) as writer:
            assert writer.seq == 5
            fill(writer, 5, first=6)
        assert count_events(path) == 10


# --- deleted meanwhile ---------------------------------------------------------------------------


@pytest.mark.parametrize("again", [True, False])
def test_a_journal_that_is_deleted_while_it_is_written_is_reported(tmp_path, again):
    path = tmp_path / "run" / "journal.db"
    path.parent.mkdir()
    with JournalWriter.create(path, "r") as writer:
        fill(writer, 5)
        shutil.rmtree(path.parent)
        if again:  # another run of this name
            path.parent.mkdir()
            JournalWriter.create(path, "r").close()
        with pytest.raises(JournalError, match="was deleted or moved while the run") as caught:
            fill(writer, 1, first=6)
        assert "\n" not in str(caught.value)
    if again:
        assert count_events(path) == 0


# --- a full disk ---------------------------------------------------------------------------------


def test_inodes_that_are_used_up_are_reported(small_disk):
    path = small_disk(inodes=20) / "journal.db"
    with JournalWriter.create(path, "r") as writer:
        fill(writer, 5)
    use_up(path.parent)
    with pytest.raises(JournalError, match=r"the disk is full: free some space \(or inodes"):
        JournalWriter(path)
    with pytest.raises(JournalError, match=r"the disk is full: free some space \(or inodes"):
        JournalWriter.create(path.with_name("other.db"), "r")
    assert count_events(path) == 5, "reading needs none"


def use_up(directory):
    """All inodes of a file system."""
    with pytest.raises(OSError, match="No space left"):
        for number in range(1_000):
            (directory / f"filler-{number}").touch()


def test_a_full_disk_is_reported_and_what_was_committed_stays(path):
    with JournalWriter.create(path, "r") as writer:
        fill(writer, 50)
        writer._connection.execute("PRAGMA max_page_count=20")
        with pytest.raises(JournalError, match=r"the disk is full: free some space.*bursar resume"):
            fill(writer, 10_000, first=51, text="x" * 100)
        committed = writer.seq
        assert count_events(path) == committed > 50
    assert count_events(path) == committed


def test_when_there_is_space_again_nothing_is_missing(path):
    with JournalWriter.create(path, "r") as writer:
        writer._connection.execute("PRAGMA max_page_count=20")
        with pytest.raises(JournalError, match="the disk is full"):
            fill(writer, 10_000, text="x" * 100)
        committed = writer.seq
        writer._connection.execute("PRAGMA max_page_count=20000")
        writer.commit(safely=True)
        assert count_events(path) == writer.seq == committed + 1


LIMITED = """
import resource, sys
from bursar.state import events as ev
from bursar.journal.writer import JournalWriter
from bursar.model.errors import JournalError
path, limit = sys.argv[1], int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
with JournalWriter.create(path, "r") as writer:
    try:
        while True:
            writer.append(ev.MachineUp(writer.seq, writer.seq))
            writer.commit(safely=writer.seq % 50 == 0)
    except JournalError as error:
        print(writer.seq, error)
"""


def run_limited(path, limit):
    command = [sys.executable, "-c", LIMITED, path, str(limit)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("limit", [60_000, 1_000_000])
def test_what_the_system_refuses_to_write_is_reported_and_what_was_committed_stays(path, limit):
    done = run_limited(path, limit)
    assert done.returncode == 0, done.stderr
    committed, _, message = done.stdout.partition(" ")
    assert "the disk refused to read or write: check it, its space and its quota" in message
    assert count_events(path) == int(committed) > 0


def test_a_journal_that_cannot_be_begun_leaves_nothing_behind(path):
    assert "JournalError" in run_limited(path, 20_000).stderr
    assert list(path.parent.iterdir()) == []


def test_a_run_whose_journal_cannot_be_written_stops_and_releases_its_machines(new_engine, path):
    with JournalWriter.create(path, "r") as writer:
        engine, world = new_engine(writer, tasks=500, faults=0.0, budget="900")
        writer._connection.execute("PRAGMA max_page_count=30")
        with pytest.raises(JournalError, match="the disk is full"):
            engine.run()
        assert engine.state.machines
        assert world.is_closed
    state = load_state(path)
    state.check()
    assert state.ended is None
    assert 0 < state.done < 500
