"""Writing a journal: events are appended, and committed whole or not at all."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from typing import Final
from zlib import crc32

from bursar.journal.database import (
    CHECKPOINTS,
    FORMAT,
    LAST,
    OWNER_ONLY,
    WITHOUT_CHECKSUMS,
    WITHOUT_DIGEST,
    Meta,
    connect,
    lay_out,
    read_meta,
    sqlite_code,
)
from bursar.journal.problems import SQL_ERRORS, check_usable, journal_error, unreachable
from bursar.journal.records import encode_event
from bursar.model.closable import Closable
from bursar.model.errors import BursarError, JournalError
from bursar.state import events as ev

LOG_PAGES: Final = 4_000
"""Pages in the write-ahead log (16 MB) before it is folded into the file, which syncs both."""

BUSY_MS: Final = 1_000
"""Milliseconds for which a lock of somebody else is waited for."""

_INSERT: Final = "INSERT INTO event (seq, record, crc) VALUES (?, ?, ?)"
_INSERT_BARE: Final = "INSERT INTO event (seq, record, at, kind) VALUES (?, ?, ?, ?)"
_DIGEST: Final = "INSERT OR REPLACE INTO digest (id, seq, record, crc) VALUES (1, ?, ?, ?)"


class JournalWriter(Closable):
    """Appends events to one journal; there is one writer at a time (see the lock of the run)."""

    def __init__(self, path: str | Path) -> None:
        """Go on with a journal that exists."""
        self.path = Path(path)
        self._pending: list[tuple[int | str, ...]] = []
        """appended and not committed; kept when a commit fails, so that it may be tried again"""
        check_usable(self.path, os.R_OK | os.W_OK)
        try:
            self._connection, meta, self._seq = _open_to_write(self.path)
        except JournalError as error:
            if sqlite_code(error) != sqlite3.SQLITE_BUSY:
                raise
            _leave_others_behind(self.path)
            self._connection, meta, self._seq = _open_to_write(self.path)
        self._format = meta.format
        self.crc = 0
        """of the last record that was appended, at its place"""
        self._place = _place(self.path)
        """which file it is, to notice when it is deleted"""
        self._is_safe = True
        """whether the connection is set to sync every commit"""

    @classmethod
    def create(cls, path: str | Path, run: str, created: float | None = None) -> JournalWriter:
        """Begin the journal of a new run, created now by default."""
        file = Path(path)
        try:
            os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, OWNER_ONLY))
        except FileExistsError:
            raise JournalError(
                f"{file}: there is a journal already: choose another name, or bursar resume"
            ) from None
        except OSError as error:
            raise unreachable(file, error) from None
        try:
            lay_out(file, Meta(FORMAT, run, time.time() if created is None else created))
            return cls(file)
        except BursarError:
            remove_journal(file)
            raise

    @property
    def seq(self) -> int:
        """Events committed."""
        return self._seq

    def append(self, event: ev.AnyEvent) -> None:
        """Write this with the next commit; refuse what could not be read again."""
        record = encode_event(event)
        seq = self._seq + len(self._pending) + 1
        self.crc = crc32(record, seq)
        if self._format == WITHOUT_CHECKSUMS:
            self._pending.append((seq, record.decode(), event.at, type(event).__name__))
        else:
            self._pending.append((seq, record.decode(), self.crc))

    def commit(self, *, safely: bool, digest: bytes | None = None) -> None:
        """Write what was appended since the last commit, whole or not at all.

        The digest, if one is given, is of the state after the last event.
        """
        if not self._pending:
            return
        execute = self._connection.execute
        if _place(self.path) != self._place:
            raise JournalError(
                f"{self.path}: was deleted or moved while the run was executed, so that nothing"
                " more can be kept: start the run again, or resume it where it is now"
            )
        try:
            if safely is not self._is_safe:
                execute("PRAGMA synchronous=FULL" if safely else "PRAGMA synchronous=NORMAL")
                self._is_safe = safely
            execute("BEGIN IMMEDIATE")
            insert = _INSERT_BARE if self._format == WITHOUT_CHECKSUMS else _INSERT
            self._connection.executemany(insert, self._pending)
            if digest is not None and self._format > WITHOUT_DIGEST:
                seq = self._seq + len(self._pending)
                execute(_DIGEST, (seq, digest.decode(), crc32(digest, seq)))
            execute("COMMIT")
        except BaseException as problem:
            if self._connection.in_transaction:
                execute("ROLLBACK")
            if isinstance(problem, SQL_ERRORS):
                raise journal_error(problem, self.path) from problem
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


def _open_to_write(path: Path) -> tuple[sqlite3.Connection, Meta, int]:
    """A connection ready to write, what the journal says about itself, and its last event."""
    connection = connect(path, "rw")
    try:
        connection.execute(f"PRAGMA busy_timeout={BUSY_MS}")
        return connection, read_meta(path, connection), _enter_log_mode(path, connection)
    except BursarError:
        connection.close()
        raise


def _leave_others_behind(path: Path) -> None:
    """Put a copy of a journal in its place, which nobody else has open.

    Every reader of a file may lock it, too, for any time. Who calls this holds the
    lock of the run, so that no other process writes the journal: what others have open then is of
    no use to anybody. The log beside it (`-wal`) has no locks, and goes with the copy as well.
    """
    copy = path.with_name(f"{path.name}.copy")
    try:
        copy.unlink(missing_ok=True)
        descriptor = os.open(copy, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, OWNER_ONLY)
        with os.fdopen(descriptor, "wb") as target, path.open("rb") as source:
            shutil.copyfileobj(source, target)
            target.flush()
            os.fsync(descriptor)
        copy.replace(path)
        path.with_name(f"{path.name}-shm").unlink(missing_ok=True)
    except OSError as error:
        raise unreachable(path, error) from None


def remove_journal(path: Path) -> None:
    """Remove a journal that never held an event, with what SQLite may have left beside it."""
    for part in ("", "-wal", "-shm", "-journal", *CHECKPOINTS):
        path.with_name(path.name + part).unlink(missing_ok=True)


def _place(path: Path) -> tuple[int, int] | None:
    """Device and inode; None: there is no such file."""
    try:
        status = os.stat(path)  # noqa: PTH116 (called at every commit)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _enter_log_mode(path: Path, connection: sqlite3.Connection) -> int:
    """Make the journal ready for a writer, with safe commits; tells how many events it has."""
    try:
        (mode,) = connection.execute("PRAGMA journal_mode=WAL").fetchone()
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute(f"PRAGMA wal_autocheckpoint={LOG_PAGES}")
        (seq,) = connection.execute(LAST).fetchone()
    except SQL_ERRORS as error:
        raise journal_error(error, path) from error
    if mode != b"wal":
        raise JournalError(
            f"{path}: this file system cannot hold a journal (no write-ahead log):"
            " set BURSAR_HOME to a directory on a local disk"
        )
    return int(seq)
