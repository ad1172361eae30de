"""Errors of SQLite and the file system in one line: what, where, how to fix it."""

from __future__ import annotations

import errno
import os
import sqlite3
from pathlib import Path
from typing import Final

from bursar.model.errors import BursarError, InputError, JournalError, one_line

FULL: Final = (
    "the disk is full: free some space (or inodes: remove files), then continue with bursar resume;"
    " what was committed before is safe"
)
AGAIN: Final = "start it again with bursar run, under the same name if you like"
"""What to do about a run that was cut off before its first event was committed."""
DAMAGED: Final = (
    "the journal is damaged: restore it from a copy, or look at what is left with"
    " sqlite3 FILE .recover"
)
SQL_ERRORS: Final = (sqlite3.Error, UnicodeDecodeError)
"""What `sqlite3` raises; the latter for a message that quotes what a damaged file holds."""
_SPACE: Final = (errno.ENOSPC, errno.EDQUOT)

_REMEDIES: Final = {
    sqlite3.SQLITE_FULL: FULL,
    sqlite3.SQLITE_IOERR: "the disk refused to read or write: check it, its space and its quota,"
    " then continue with bursar resume; what was committed before is safe",
    sqlite3.SQLITE_NOTADB: "is not a bursar journal: give the journal.db of a run",
    sqlite3.SQLITE_CORRUPT: DAMAGED,
    sqlite3.SQLITE_CANTOPEN: "cannot be opened: check the rights to the file and its directory",
    sqlite3.SQLITE_PERM: "cannot be opened: check the rights to the file and its directory",
    sqlite3.SQLITE_READONLY: "cannot be written: check the rights to the file and its directory",
    sqlite3.SQLITE_BUSY: "another process keeps it locked: end that process, or wait for it",
    sqlite3.SQLITE_CONSTRAINT: "another process wrote to it too: let one process execute a run",
}


_FOR_WANT_OF_SPACE: Final = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR)
"""What SQLite may say where it cannot make a file beside the journal, or make one longer."""


def journal_error(error: sqlite3.Error | UnicodeDecodeError, path: Path) -> JournalError:
    """The complaint of SQLite about this journal, for people; a misuse of it is our own bug."""
    if isinstance(error, sqlite3.ProgrammingError):
        raise error
    if isinstance(error, UnicodeDecodeError):
        return JournalError(f"{path}: {DAMAGED}")
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    remedy = FULL if code in _FOR_WANT_OF_SPACE and _is_full(path) else _REMEDIES.get(code)
    if remedy is not None:
        return JournalError(f"{path}: {remedy} ({one_line(str(error))})")
    if str(error).startswith("no such"):
        return JournalError(f"{path}: is not a bursar journal: give the journal.db of a run")
    return JournalError(
        f"{path}: {one_line(str(error))}: check the file, or restore it from a copy"
    )


def check_usable(path: Path, mode: int) -> None:
    """Refuse what cannot be a journal, or not be used (`os.R_OK`, `os.W_OK`), without opening it.

    Closing a file drops all POSIX locks that this process has on it, those of SQLite too, so a
    journal is never opened beside SQLite while a writer may live in this process.
    """
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        if path.with_name("lock").exists():
            raise JournalError(f"{path}: does not exist, so the run never began: {AGAIN}") from None
        raise InputError(f"{path}: no such journal; bursar status shows the runs") from None
    except OSError as error:
        raise unreachable(path, error) from None
    if not path.is_file():
        raise InputError(f"{path}: is not a file: give the journal.db of a run")
    if not os.access(path, mode, effective_ids=os.access in os.supports_effective_ids):
        verb = "write" if mode & os.W_OK else "read"
        raise InputError(f"{path}: permission denied: ask its owner to let you {verb} it")
    if size == 0:
        raise JournalError(f"{path}: is empty, so the run never began: {AGAIN}")


def check_encodable(path: Path) -> None:
    """Refuse a directory that journals, which are JSON, cannot name."""
    name = os.fsencode(path.absolute())
    try:
        name.decode()
    except UnicodeDecodeError:
        raise InputError(
            f"{one_line(name.decode(errors='backslashreplace'))}: the name of this directory is not"
            " UTF-8, so that no run can use it: rename it, or work in another"
        ) from None


def unreachable(path: Path, error: OSError) -> BursarError:
    """A file or directory that the system does not let us use."""
    if error.errno in _SPACE:
        return JournalError(f"{path}: {FULL}")
    return InputError(
        f"{path}: {(error.strerror or str(error)).lower()}: check the path and rights"
    )


def _is_full(path: Path) -> bool:
    """Whether no file can be made there, for want of space or of inodes."""
    try:
        found = os.statvfs(path.parent)
    except OSError:
        return False
    return found.f_bavail == 0 or (found.f_files > 0 and found.f_favail == 0)
