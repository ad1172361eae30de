"""The store of a run: its journal, one SQLite file that only ever grows.

    event:  seq (1, 2, 3, ...)  record (the event as JSON)  crc (of the record at this place)
    digest: one row, of the last commit: seq (of its last event)  record (the digest as JSON)  crc
    meta:   format, run, created, crc (of these, and of the tables' definitions)

Event `n` of the run has `seq` n, without gaps. Triggers abort whatever would change or remove what
is written, and checksums tell what a disk or an editor changed all the same. The digest alone is
replaced, with every commit: lists of runs read it and nothing else. The file is in WAL
mode while it is written: readers see the last commit and never block the writer. When a writer
closes it, it becomes one plain file that can be copied or read anywhere. Only its owner may read
it.

Nothing is written that could not be read again: every record passes the decoder first.

A commit survives the death of this process. A *safe* commit survives a power failure too: its
transaction runs with `synchronous=FULL`, which syncs the write-ahead log before it returns; the
others run with `NORMAL`, which syncs only when the log is folded into the file and restarted. The
log is written in order, so a safe commit makes everything before it safe, and what a power failure
takes is always a tail.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Final, Self
from zlib import crc32

import msgspec

from bursar.journal.problems import DAMAGED, SQL_TROUBLE, check_usable, told, unreachable
from bursar.journal.upgrade import upgraded
from bursar.model.codec import ENCODER, decoder
from bursar.model.errors import BursarError, InputError, JournalError, one_line
from bursar.model.work import Work
from bursar.state import events as ev

FORMAT: Final = 3
"""What this version of bursar writes, and the newest it reads."""
WITHOUT_DIGEST: Final = 2
WITHOUT_CHECKSUMS: Final = 1
"""Formats before: they are read, and gone on with as they are."""

LOG_PAGES: Final = 4_000
"""Pages in the write-ahead log (16 MB) before it is folded into the file, which syncs both."""

BATCH: Final = 4_096
"""Events read in one transaction: a slow listener must not keep the log from being folded."""

BUSY_MS: Final = 1_000
"""Milliseconds for which a lock of somebody else is waited for."""

_SCHEMA: Final = """
BEGIN;
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE event (
    seq INTEGER PRIMARY KEY,
    record TEXT NOT NULL,
    crc INTEGER NOT NULL
);
CREATE TABLE digest (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    seq INTEGER NOT NULL,
    record TEXT NOT NULL,
    crc INTEGER NOT NULL
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
_INSERT: Final = "INSERT INTO event (seq, record, crc) VALUES (?, ?, ?)"
_INSERT_BARE: Final = "INSERT INTO event (seq, record, at, kind) VALUES (?, ?, ?, ?)"
_SELECT: Final = "SELECT seq, record, crc FROM event WHERE seq > ? ORDER BY seq LIMIT ?"
_SELECT_BARE: Final = "SELECT seq, record, NULL FROM event WHERE seq > ? ORDER BY seq LIMIT ?"
_LAST: Final = "SELECT ifnull(max(seq), 0) FROM event"
_DIGEST: Final = "INSERT OR REPLACE INTO digest (id, seq, record, crc) VALUES (1, ?, ?, ?)"
_SELECT_DIGEST: Final = "SELECT seq, record, crc FROM digest"
_TABLES: Final = "SELECT name, sql FROM sqlite_master ORDER BY name"
_DECODER: Final = decoder(ev.AnyEvent)
_OWNER_ONLY: Final = 0o600
_READ_FROM_A_COPY: Final = (
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_BUSY,
)
_DAMAGED: Final = "is damaged: restore the file from a copy"

CHECKPOINTS: Final = (".checkpoint", ".checkpoint-before", ".checkpoint-new")
"""Ends of the names of checkpoints: the newest, the one before, and one that is being written."""


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
        self._pending: list[tuple[int | str, ...]] = []
        """appended and not committed; kept when a commit fails, so that it may be tried again"""
        check_usable(self.path, os.R_OK | os.W_OK)
        try:
            self._connection, meta, self._seq = _open_to_write(self.path)
        except JournalError as error:
            if _code(error) != sqlite3.SQLITE_BUSY:
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
        """Begin the journal of a new run, created now unless told otherwise."""
        file = Path(path)
        try:
            os.close(
                os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, _OWNER_ONLY)
            )
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
            remove_journal(file)
            raise

    @property
    def seq(self) -> int:
        """Events committed."""
        return self._seq

    def append(self, event: ev.AnyEvent) -> None:
        """Write this with the next commit; refuse what could not be read again."""
        kind = type(event).__name__
        try:
            record = ENCODER.encode(event)
            _DECODER.decode(record)
        except (UnicodeEncodeError, OverflowError) as error:
            raise InputError(
                f"{kind} cannot be journaled ({error}):"
                " use arguments and file names that are valid UTF-8"
            ) from None
        except (msgspec.MsgspecError, BursarError, TypeError, ValueError) as error:
            raise JournalError(
                f"{kind} cannot be journaled, since it could not be read again"
                f" ({one_line(str(error))}): correct the policy or the program that made it"
            ) from None
        seq = self._seq + len(self._pending) + 1
        self.crc = crc32(record, seq)
        if self._format == WITHOUT_CHECKSUMS:
            self._pending.append((seq, record.decode(), event.at, kind))
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
                f"{self.path}: was deleted while the run was executed, so that nothing more can be"
                " kept: start the run again"
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
            if isinstance(problem, SQL_TROUBLE):
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
        rows = {name: str(getattr(meta, name)) for name in Meta.__struct_fields__}
        rows["crc"] = str(_meta_crc(connection.execute(_TABLES).fetchall(), *rows.values()))
        connection.executemany("INSERT INTO meta VALUES (?, ?)", rows.items())
        connection.execute("COMMIT")
    except SQL_TROUBLE as error:
        raise told(error, path) from error
    finally:
        connection.close()


def _open_to_write(path: Path) -> tuple[sqlite3.Connection, Meta, int]:
    """A connection ready to write, what the journal says about itself, and its last event."""
    connection = _connect(path, "rw")
    try:
        connection.execute(f"PRAGMA busy_timeout={BUSY_MS}")
        return connection, _read_meta(path, connection), _enter_log_mode(path, connection)
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
        descriptor = os.open(copy, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, _OWNER_ONLY)
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
        (seq,) = connection.execute(_LAST).fetchone()
    except SQL_TROUBLE as error:
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
        self._is_checked = False
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
        """The same as JSON. Who reads them all first sees that no page of the file hides some."""
        if not after:
            self._check_pages()
        while batch := self._read(after, BATCH):
            for seq, record, crc in batch:
                after += 1
                if seq != after or not self._is_good(seq, record, crc):
                    raise JournalError(f"{self.path}: event {after} {_DAMAGED}")
                yield record

    @property
    def last(self) -> int:
        """The number of the last event committed; 0: there is none."""
        try:
            return int(self._connection.execute(_LAST).fetchone()[0])
        except SQL_TROUBLE as error:
            raise told(error, self.path) from error

    def event(self, number: int) -> ev.AnyEvent:
        """The event of this number."""
        return decode(self.record(number), f"{self.path}: event {number}")

    def record(self, number: int) -> bytes:
        """The same as JSON."""
        for seq, record, crc in self._read(number - 1, 1):
            if seq == number and self._is_good(seq, record, crc):
                return record
        raise JournalError(f"{self.path}: event {number} {_DAMAGED}")

    def verify(self) -> None:
        """Raise `JournalError` if any event is damaged or missing; nothing is decoded."""
        for _ in self.records():
            pass

    def digest(self) -> bytes | None:
        """The digest of the last commit; None: there is none, or it is damaged."""
        if self.meta.format <= WITHOUT_DIGEST:
            return None
        try:
            rows = self._connection.execute(_SELECT_DIGEST).fetchall()
        except SQL_TROUBLE as error:
            raise told(error, self.path) from error
        return next((record for seq, record, crc in rows if _is_whole(seq, record, crc)), None)

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

    def _is_good(self, seq: int, record: object, crc: object) -> bool:
        return self.meta.format == WITHOUT_CHECKSUMS or _is_whole(seq, record, crc)

    def _read(self, after: int, most: int) -> list[tuple[int, bytes, int]]:
        try:
            select = _SELECT_BARE if self.meta.format == WITHOUT_CHECKSUMS else _SELECT
            return self._connection.execute(select, (after, most)).fetchall()
        except SQL_TROUBLE as error:
            raise told(error, self.path) from error

    def _meet(self) -> Meta:
        """Read the meta data, from a copy if the journal cannot be read where it is.

        SQLite needs an index beside the log. Where it is missing and cannot be made (a journal
        that no writer closed, in a directory that we may not write), no writer lives, and a copy
        tells the same. So it does where somebody else keeps the index locked.
        """
        try:
            return _read_meta(self.path, self._connection)
        except JournalError as error:
            if _code(error) not in _READ_FROM_A_COPY:
                raise
        self._connection.close()
        self._copy = TemporaryDirectory(prefix="bursar-")
        self._connection = _connect(_copy_into(Path(self._copy.name), self.path), "ro")
        return _read_meta(self.path, self._connection)

    def _check_pages(self) -> None:
        """See that no page hides events, which checksums cannot tell; it reads the whole file."""
        if self._is_checked:
            return
        try:
            ((verdict,),) = self._connection.execute("PRAGMA quick_check(1)").fetchall()
        except SQL_TROUBLE as error:
            raise told(error, self.path) from error
        if verdict != b"ok":
            raise JournalError(f"{self.path}: {DAMAGED}")
        self._is_checked = True


def work_reader(path: Path) -> Callable[[int], Work]:
    """Reads what came with the event of a number, for a state that need not keep it."""

    def recall(number: int) -> Work:
        with JournalReader(path) as reader:
            event = reader.event(number)
        if isinstance(event, ev.WorkArrived):
            return event.work
        raise JournalError(f"{path}: no work came with event {number}: {DAMAGED}")

    return recall


def _is_whole(seq: int, record: object, crc: object) -> bool:
    return isinstance(record, bytes) and crc32(record, seq) == crc


def decode(record: bytes | str, where: str) -> ev.AnyEvent:
    """One event from its JSON."""
    try:
        event: ev.AnyEvent = _DECODER.decode(record)
    except (msgspec.MsgspecError, InputError, ValueError, ArithmeticError, TypeError) as error:
        old = upgraded(record)
        if old is not None:
            return old
        raise JournalError(
            f"{where} cannot be read ({one_line(str(error))}):"
            " restore the file from a copy, or upgrade bursar"
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
    except SQL_TROUBLE as error:
        raise told(error, path) from error
    connection.text_factory = bytes
    return connection


def _read_meta(path: Path, connection: sqlite3.Connection) -> Meta:
    try:
        table = dict(connection.execute("SELECT key, value FROM meta").fetchall())
        schema = connection.execute(_TABLES).fetchall()
    except SQL_TROUBLE as error:
        raise told(error, path) from error
    try:
        texts = [table[name].decode() for name in (b"format", b"run", b"created")]
        version = int(texts[0])
        checked = version > WITHOUT_CHECKSUMS or b"crc" in table
        if version <= FORMAT and checked and int(table[b"crc"]) != _meta_crc(schema, *texts):
            raise JournalError(f"{path}: what the journal says about itself {_DAMAGED}")
        if 1 <= version <= FORMAT:
            return Meta(version, texts[1], float(texts[2]))
    except (KeyError, ValueError, AttributeError, TypeError):
        raise JournalError(
            f"{path}: is not a bursar journal: give the journal.db of a run"
        ) from None
    raise JournalError(
        f"{path}: written by a newer bursar (format {version}, this one reads up to {FORMAT}):"
        " upgrade bursar"
    )


def _meta_crc(schema: list[tuple[bytes, ...]], *texts: str) -> int:
    return crc32(repr((schema, texts)).encode())


def _code(error: JournalError) -> int:
    """What SQLite calls it; 0: it was not SQLite who complained."""
    return int(getattr(error.__cause__, "sqlite_errorcode", 0)) & 0xFF
