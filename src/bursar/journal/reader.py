"""Reading a journal, while it is written or afterwards."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from zlib import crc32

from bursar.journal.database import (
    DAMAGED_PART,
    LAST,
    WITHOUT_CHECKSUMS,
    WITHOUT_DIGEST,
    Meta,
    connect,
    read_meta,
    sqlite_code,
)
from bursar.journal.problems import DAMAGED, SQL_ERRORS, check_usable, journal_error, unreachable
from bursar.journal.records import decode_event, is_whole
from bursar.journal.upgrade import OLD_NAMES
from bursar.model.closable import Closable
from bursar.model.errors import BursarError, JournalError
from bursar.model.work import Work
from bursar.state import events as ev

BATCH: Final = 4_096
"""Events read in one transaction: a slow listener must not keep the log from being folded."""

_SELECT: Final = "SELECT seq, record, crc FROM event WHERE seq > ? ORDER BY seq LIMIT ?"
_SELECT_BARE: Final = "SELECT seq, record, NULL FROM event WHERE seq > ? ORDER BY seq LIMIT ?"
_SELECT_DIGEST: Final = "SELECT seq, record, crc FROM digest"
_READ_FROM_A_COPY: Final = (
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_BUSY,
)

Row = tuple[int, bytes, int]
"""A row of the table of events: number, record, and the checksum of that at its place."""


class JournalReader(Closable):
    """Reads one journal, while it is written or afterwards, and never writes to it."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._copy: TemporaryDirectory[str] | None = None
        self._is_checked = False
        check_usable(self.path, os.R_OK)
        self._connection = connect(self.path, "ro")
        try:
            self.meta = self._meet()
        except BursarError:
            self.close()
            raise

    def events(self, after: int = 0) -> Iterator[ev.AnyEvent]:
        """The events beyond the first `after`, up to the last commit."""
        for number, record in enumerate(self.records(after), after + 1):
            yield decode_event(record, self.path, number)

    def records(self, after: int = 0) -> Iterator[bytes]:
        """The same as JSON. Who reads them all first sees that no page of the file hides some."""
        if not after:
            self._check_pages()
        while batch := self._read(after, BATCH):
            yield from self._checked(batch, after)
            after += len(batch)

    def some(self, after: int, most: int) -> list[ev.AnyEvent]:
        """The next events beyond the first `after`, at most so many; each is checked."""
        batch = self._read(after, most)
        records = self._checked(batch, after) if batch else ()
        return [decode_event(one, self.path, at) for at, one in enumerate(records, after + 1)]

    @property
    def last(self) -> int:
        """The number of the last event committed; 0: there is none."""
        try:
            return int(self._connection.execute(LAST).fetchone()[0])
        except SQL_ERRORS as error:
            raise journal_error(error, self.path) from error

    def event(self, number: int) -> ev.AnyEvent:
        """The event of this number."""
        return decode_event(self.record(number), self.path, number)

    def record(self, number: int) -> bytes:
        """The same as JSON."""
        for seq, record, crc in self._read(number - 1, 1):
            if seq == number and self._is_good(seq, record, crc):
                return record
        raise JournalError(f"{self.path}: event {number} {DAMAGED_PART}")

    def events_of(
        self, kinds: Iterable[type[ev.AnyEvent]], after: int = 0, upto: int | None = None
    ) -> list[ev.AnyEvent]:
        """All of these kinds beyond the first `after`, and none beyond `upto`, where it is given.

        The database finds them by their names.
        """
        are_kinds, bounds = _are_of(kinds)
        return self._found(are_kinds, bounds, after, self.last if upto is None else upto)

    def events_without(
        self, kinds: Iterable[type[ev.AnyEvent]], upto: int, unless: str
    ) -> list[ev.AnyEvent]:
        """All up to this one but those of these kinds; of them, such that contain a text."""
        are_kinds, bounds = _are_of(kinds)
        return self._found(f"NOT ({are_kinds}) OR instr(record, ?)", [*bounds, unless], 0, upto)

    def _found(self, where: str, values: Sequence[str], after: int, upto: int) -> list[ev.AnyEvent]:
        """Beyond the first `after`, up to this one: those for which a condition holds."""
        checksum = "NULL" if self.meta.format == WITHOUT_CHECKSUMS else "crc"
        select = (
            f"SELECT seq, record, {checksum} FROM event"  # noqa: S608
            f" WHERE seq > ? AND seq <= ? AND ({where}) ORDER BY seq"
        )
        try:
            rows: list[Row] = self._connection.execute(select, (after, upto, *values)).fetchall()
        except SQL_ERRORS as error:
            raise journal_error(error, self.path) from error
        for number, record, crc in rows:
            if not self._is_good(number, record, crc):
                raise JournalError(f"{self.path}: event {number} {DAMAGED_PART}")
        return [decode_event(record, self.path, number) for number, record, _ in rows]

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
        except SQL_ERRORS as error:
            raise journal_error(error, self.path) from error
        return next((record for seq, record, crc in rows if is_whole(seq, record, crc)), None)

    def close(self) -> None:
        self._connection.close()
        if self._copy is not None:
            self._copy.cleanup()

    def _checked(self, batch: Sequence[Row], after: int) -> Sequence[bytes]:
        """The records of these rows, which follow event `after`; none is damaged or missing."""
        numbers, records, sums = zip(*batch, strict=True)
        with suppress(TypeError):  # of a record that is no text
            is_summed = self.meta.format == WITHOUT_CHECKSUMS or sums == tuple(
                map(crc32, records, numbers)
            )
            if is_summed and numbers == tuple(range(after + 1, after + len(batch) + 1)):
                return records
        for expected, (number, record, crc) in enumerate(batch, after + 1):
            if number != expected or not self._is_good(number, record, crc):
                raise JournalError(f"{self.path}: event {expected} {DAMAGED_PART}")
        return records

    def _is_good(self, seq: int, record: object, crc: object) -> bool:
        return self.meta.format == WITHOUT_CHECKSUMS or is_whole(seq, record, crc)

    def _read(self, after: int, most: int) -> list[Row]:
        try:
            select = _SELECT_BARE if self.meta.format == WITHOUT_CHECKSUMS else _SELECT
            return self._connection.execute(select, (after, most)).fetchall()
        except SQL_ERRORS as error:
            raise journal_error(error, self.path) from error

    def _meet(self) -> Meta:
        """Read the meta data, from a copy if the journal cannot be read where it is.

        SQLite needs an index beside the log. Where it is missing and cannot be made (a journal
        that no writer closed, in a directory that we may not write), no writer lives, and a copy
        tells the same. So it does where somebody else keeps the index locked.
        """
        try:
            return read_meta(self.path, self._connection)
        except JournalError as error:
            if sqlite_code(error) not in _READ_FROM_A_COPY:
                raise
        self._connection.close()
        self._copy = TemporaryDirectory(prefix="bursar-")
        self._connection = connect(_copy_into(Path(self._copy.name), self.path), "ro")
        return read_meta(self.path, self._connection)

    def _check_pages(self) -> None:
        """See that no page hides events, which checksums cannot tell; it reads the whole file."""
        if self._is_checked:
            return
        try:
            ((verdict,),) = self._connection.execute("PRAGMA quick_check(1)").fetchall()
        except SQL_ERRORS as error:
            raise journal_error(error, self.path) from error
        if verdict != b"ok":
            raise JournalError(f"{self.path}: {DAMAGED}")
        self._is_checked = True


def _are_of(kinds: Iterable[type[ev.AnyEvent]]) -> tuple[str, list[str]]:
    """A condition that holds for the records of these kinds, and its values."""
    names = [name for kind in kinds for name in (kind.__name__, *OLD_NAMES.get(kind.__name__, ()))]
    wanted = " OR ".join(["(record >= ? AND record < ?)"] * len(names))
    return wanted, [f'{{"type":"{name}{end}' for name in names for end in '"#']


def work_reader(path: Path) -> Callable[[int], Work]:
    """Reads what came with the event of a number, for a state that need not keep it."""

    def recall(number: int) -> Work:
        with JournalReader(path) as reader:
            event = reader.event(number)
        if isinstance(event, ev.WorkArrived):
            return event.work
        raise JournalError(f"{path}: no work came with event {number}: {DAMAGED}")

    return recall


def _copy_into(directory: Path, path: Path) -> Path:
    log = path.with_name(path.name + "-wal")
    try:
        copy = Path(shutil.copyfile(path, directory / path.name))
        if log.exists():
            shutil.copyfile(log, directory / log.name)
    except OSError as error:
        raise unreachable(path, error) from None
    return copy
