"""The database of a run: its journal, one SQLite file that only ever grows.

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

import sqlite3
from pathlib import Path
from typing import Final
from zlib import crc32

import msgspec

from bursar.journal.problems import SQL_ERRORS, journal_error
from bursar.model.errors import JournalError

FORMAT: Final = 3
"""What this version of bursar writes, and the newest it reads."""
WITHOUT_DIGEST: Final = 2
WITHOUT_CHECKSUMS: Final = 1
"""Formats before: they are read, and gone on with as they are."""

DAMAGED_PART: Final = "is damaged: restore the file from a copy"
OWNER_ONLY: Final = 0o600
"""Who may read and write the files of a journal."""

_TABLES: Final = """
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
_DEFINITIONS: Final = "SELECT name, sql FROM sqlite_master ORDER BY name"
LAST: Final = "SELECT ifnull(max(seq), 0) FROM event"

CHECKPOINTS: Final = (".checkpoint", ".checkpoint-before", ".checkpoint-new")
"""Ends of the names of checkpoints: the newest, the one before, and one that is being written."""


class Meta(msgspec.Struct, frozen=True):
    """What a journal says about itself."""

    format: int
    run: str
    created: float
    """seconds since 1970"""


def lay_out(path: Path, meta: Meta) -> None:
    connection = connect(path, "rw")
    try:
        connection.executescript(_TABLES)
        rows = {name: str(getattr(meta, name)) for name in Meta.__struct_fields__}
        rows["crc"] = str(_meta_crc(connection.execute(_DEFINITIONS).fetchall(), *rows.values()))
        connection.executemany("INSERT INTO meta VALUES (?, ?)", rows.items())
        connection.execute("COMMIT")
    except SQL_ERRORS as error:
        raise journal_error(error, path) from error
    finally:
        connection.close()


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """A connection for one thread at a time; a run may be made in one and driven in another."""
    try:
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={mode}",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
        )
    except SQL_ERRORS as error:
        raise journal_error(error, path) from error
    connection.text_factory = bytes
    return connection


def read_meta(path: Path, connection: sqlite3.Connection) -> Meta:
    try:
        table = dict(connection.execute("SELECT key, value FROM meta").fetchall())
        schema = connection.execute(_DEFINITIONS).fetchall()
    except SQL_ERRORS as error:
        raise journal_error(error, path) from error
    try:
        texts = [table[name].decode() for name in (b"format", b"run", b"created")]
        version = int(texts[0])
        checked = version > WITHOUT_CHECKSUMS or b"crc" in table
        if version <= FORMAT and checked and int(table[b"crc"]) != _meta_crc(schema, *texts):
            raise JournalError(f"{path}: what the journal says about itself {DAMAGED_PART}")
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


def sqlite_code(error: JournalError) -> int:
    """What SQLite calls it; 0: it was not SQLite who complained."""
    return int(getattr(error.__cause__, "sqlite_errorcode", 0)) & 0xFF
