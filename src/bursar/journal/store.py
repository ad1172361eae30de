"""The store of a run: its journal, one SQLite file that only ever grows.

    event:  seq (1, 2, 3, ...)  at  kind  record (the event as JSON)
    meta:   format, run, created

Event `n` of the run has `seq` n, without gaps. Triggers abort whatever would change or remove what
is written. The file is in WAL mode while it is written: readers see the last commit and never
block the writer. When a writer closes it, it becomes one plain file that can be copied or read
anywhere.

A commit survives the death of this process. A *safe* commit survives a power failure too: its
transaction runs with `synchronous=FULL`, which syncs the write-ahead log before it returns; the
others run with `NORMAL`, which syncs only when the log is folded into the file and begun anew. The
log is written in order, so a safe commit makes everything before it safe, and what a power failure
takes is always a tail.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Final, Self

import msgspec

from bursar import events as ev
from bursar.journal.trouble import check_usable, told, unreachable
from bursar.model.codec import ENCODER, decoder
from bursar.model.errors import BursarError, InputError, JournalError

FORMAT: Final = 1
"""What this version of bursar writes, and the newest it reads."""

LOG_PAGES: Final = 4_000
"""Pages in the write-ahead log (16 MB) before it is folded into the file, which syncs both."""

BATCH: Final = 4_096
"""Events read in one transaction: a slow listener must not keep the log from being folded."""

_SCHEMA: Final = """
BEGIN;
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE event (
    seq INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    record TEXT NOT NULL
);
CREATE TRIGGER event_is_next BEFORE INSERT ON event
    WHEN NEW.seq IS NOT (SELECT ifnull(max(seq), 0) + 1 FROM event)
    BEGIN SELECT RAISE(ABORT, 'a journal is written in order'); END;
CREATE TRIGGER event_stays BEFORE UPDATE ON event
    BEGIN SELECT RAISE(ABORT, 'a journal is never changed'); END;
CREATE TRIGGER event_is_kept BEFORE DELETE ON event
    BEGIN SELECT RAISE(ABORT, 'a journal is never changed'); END;
CREATE TRIGGER meta_stays BEFORE UPDATE ON meta
    BEGIN SELECT RAISE(ABORT, 'a journal is never changed'); END;
CREATE TRIGGER meta_is_kept BEFORE DELETE ON meta
    BEGIN SELECT RAISE(ABORT, 'a journal is never changed'); END;
"""
_INSERT: Final = "INSERT INTO event VALUES (?, ?, ?, ?)"
_SELECT: Final = "SELECT record FROM event WHERE seq > ? ORDER BY seq LIMIT ?"
_DECODER: Final = decoder(ev.AnyEvent)


class Meta(msgspec.Struct, frozen=True):
    """What a journal says about itself."""

    format: int
    run: str
    created: float
    """seconds since 1970"""


# --- writing -------------------------------------------------------------------------------------


class JournalWriter:
    """Appends events to one journal; there is one writer at a time (see the lock of the run)."""

    def __init__(self, path: str | Path) -> None:
        """Go on with a journal that exists."""
        self.path = Path(path)
        self._pending: list[tuple[int, int, str, str]] = []
        """appended and not committed; kept when a commit fails, so that it may be tried again"""
        check_usable(self.path, os.R_OK | os.W_OK)
        self._connection = _connect(self.path, "rw")
        try:
            _read_meta(self.path, self._connection)
            self._seq = _enter_log_mode(self.path, self._connection)
        except BursarError:
            self._connection.close()
            raise
        self._is_safe = True
        """whether the connection is set to sync every commit"""

    @classmethod
    def create(cls, path: str | Path, run: str, created: float | None = None) -> JournalWriter:
        """Begin the journal of a new run, created now unless told otherwise."""
        file = Path(path)
        try:
            file.open("xb").close()
        except FileExistsError:
            raise JournalError(
                f"{file}: there is a journal already: choose another name, or bursar resume"
            ) from None
        except OSError as error:
            raise unreachable(file, error) from None
        try:
            _lay_out(file, Meta(FORMAT, run, time.time() if created is None else created))
            return cls(file)
        except BursarError:
            for part in ("", "-wal", "-shm", "-journal"):
                file.with_name(file.name + part).unlink(missing_ok=True)
            raise

    @property
    def seq(self) -> int:
        """Events committed."""
        return self._seq

    def append(self, event: ev.AnyEvent) -> None:
        try:
            record = ENCODER.encode(event).decode()
        except (UnicodeEncodeError, OverflowError) as error:
            raise InputError(
                f"{type(event).__name__} cannot be journaled ({error}):"
                " use arguments and file names that are valid UTF-8"
            ) from None
        seq = self._seq + len(self._pending) + 1
        self._pending.append((seq, event.at, type(event).__name__, record))

    def commit(self, *, safely: bool) -> None:
        """Write what was appended since the last commit, whole or not at all."""
        if not self._pending:
            return
        execute = self._connection.execute
        try:
            if safely is not self._is_safe:
                execute("PRAGMA synchronous=FULL" if safely else "PRAGMA synchronous=NORMAL")
                self._is_safe = safely
            execute("BEGIN IMMEDIATE")
            self._connection.executemany(_INSERT, self._pending)
            execute("COMMIT")
        except BaseException as problem:
            if self._connection.in_transaction:
                execute("ROLLBACK")
            if isinstance(problem, sqlite3.Error):
                raise told(problem, self.path) from problem
            raise
        self._seq += len(self._pending)
        self._pending.clear()

    def close(self) -> None:
        """Leave one plain file. What was appended and not committed is not in it."""
        try:
            # The journal is complete without this too: a reader that is just there prevents the
            # last step, and a full disk all; the log then stays beside the file and belongs to it.
            with suppress(sqlite3.Error):
                self._connection.execute("PRAGMA busy_timeout=0")
                self._connection.execute("PRAGMA synchronous=FULL")
                self._connection.execute("PRAGMA wal_checkpoint").fetchall()
                self._connection.execute("PRAGMA journal_mode=DELETE")
        finally:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _lay_out(path: Path, meta: Meta) -> None:
    connection = _connect(path, "rw")
    try:
        connection.executescript(_SCHEMA)
        rows = [(name, str(getattr(meta, name))) for name in Meta.__struct_fields__]
        connection.executemany("INSERT INTO meta VALUES (?, ?)", rows)
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise told(error, path) from error
    finally:
        connection.close()


def _enter_log_mode(path: Path, connection: sqlite3.Connection) -> int:
    """Make the journal ready for a writer, with safe commits; tells how many events it has."""
    try:
        (mode,) = connection.execute("PRAGMA journal_mode=WAL").fetchone()
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute(f"PRAGMA wal_autocheckpoint={LOG_PAGES}")
        (seq,) = connection.execute("SELECT ifnull(max(seq), 0) FROM event").fetchone()
    except sqlite3.Error as error:
        raise told(error, path) from error
    if mode != b"wal":
        raise JournalError(
            f"{path}: this file system cannot hold a journal (no write-ahead log):"
            " set BURSAR_HOME to a directory on a local disk"
        )
    return int(seq)


# --- reading -------------------------------------------------------------------------------------


class JournalReader:
    """Reads one journal, while it is written or afterwards, and never writes to it."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._copy: TemporaryDirectory[str] | None = None
        check_usable(self.path, os.R_OK)
        self._connection = _connect(self.path, "ro")
        try:
            self.meta = self._meet()
        except BursarError:
            self.close()
            raise

    def events(self, after: int = 0) -> Iterator[ev.AnyEvent]:
        """The events beyond the first `after`, up to the last commit."""
        for seq, record in enumerate(self.records(after), after + 1):
            yield decode(record, f"{self.path}: event {seq}")

    def records(self, after: int = 0) -> Iterator[bytes]:
        """The same as JSON."""
        while batch := self._read(after):
            for (record,) in batch:
                yield record
            after += len(batch)

    def close(self) -> None:
        self._connection.close()
        if self._copy is not None:
            self._copy.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _read(self, after: int) -> list[tuple[bytes]]:
        try:
            return self._connection.execute(_SELECT, (after, BATCH)).fetchall()
        except sqlite3.Error as error:
            raise told(error, self.path) from error

    def _meet(self) -> Meta:
        """Read the meta data, from a copy if the journal cannot be read where it is.

        SQLite needs an index beside the log. Where it is missing and cannot be made (a journal
        that no writer closed, in a directory that we may not write), no writer lives, and a copy
        tells the same.
        """
        try:
            return _read_meta(self.path, self._connection)
        except JournalError as error:
            code = getattr(error.__cause__, "sqlite_errorcode", 0) & 0xFF
            if code not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
                raise
        self._connection.close()
        self._copy = TemporaryDirectory(prefix="bursar-")
        self._connection = _connect(_copy_into(Path(self._copy.name), self.path), "ro")
        return _read_meta(self.path, self._connection)


def decode(record: bytes | str, where: str) -> ev.AnyEvent:
    """One event from its JSON."""
    try:
        event: ev.AnyEvent = _DECODER.decode(record)
    except (msgspec.MsgspecError, InputError) as error:
        raise JournalError(
            f"{where} cannot be read ({error}): restore the file from a copy, or upgrade bursar"
        ) from None
    return event


def _copy_into(directory: Path, path: Path) -> Path:
    log = path.with_name(path.name + "-wal")
    try:
        copy = Path(shutil.copyfile(path, directory / path.name))
        if log.exists():
            shutil.copyfile(log, directory / log.name)
    except OSError as error:
        raise unreachable(path, error) from None
    return copy


# --- both ----------------------------------------------------------------------------------------


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    """A connection for one thread at a time; a run may be made in one and driven in another."""
    try:
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={mode}",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
        )
    except sqlite3.Error as error:
        raise told(error, path) from error
    connection.text_factory = bytes
    return connection


def _read_meta(path: Path, connection: sqlite3.Connection) -> Meta:
    try:
        table = dict(connection.execute("SELECT key, value FROM meta").fetchall())
    except sqlite3.Error as error:
        raise told(error, path) from error
    try:
        version = int(table[b"format"])
        if version <= FORMAT:
            return Meta(version, table[b"run"].decode(), float(table[b"created"]))
    except (KeyError, ValueError):
        raise JournalError(
            f"{path}: is not a bursar journal: give the journal.db of a run"
        ) from None
    raise JournalError(
        f"{path}: written by a newer bursar (format {version}, this one reads up to {FORMAT}):"
        " upgrade bursar"
    )
