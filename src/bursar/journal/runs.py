"""The home of runs: one directory a run, with its journal, its lock and its outputs.

.bursar/                  or $BURSAR_HOME
    amber-finch/
        journal.db        what happened (`bursar.journal.database`)
        lock              held by the process that executes the run; as old as the run
        outputs/          what the tasks wrote

A run may be read by its owner only: its directory keeps everybody else out.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from pwd import getpwuid
from random import Random
from typing import Final

import msgspec

from bursar.journal import lock as locks
from bursar.journal.names import LAST, check_run_name, new_run_name
from bursar.journal.problems import unreachable
from bursar.journal.reader import JournalReader
from bursar.journal.writer import remove_journal
from bursar.model.errors import BursarError, InputError, shown

_DIRECTORY: Final = 0o700
_FILE: Final = 0o600
_OTHERS: Final = 0o077
_SHOWN: Final = 5
"""Names shown to somebody whose run was not found."""


class RunDir(msgspec.Struct, frozen=True):
    """Where one run lives."""

    name: str
    path: Path
    created: float
    """seconds since 1970"""

    @property
    def journal(self) -> Path:
        return self.path / "journal.db"

    @property
    def outputs(self) -> Path:
        return self.path / "outputs"

    @property
    def lock(self) -> Path:
        return self.path / "lock"

    def acquire(self) -> locks.FileLock:
        """Become the one process that executes this run; use it in a `with` statement."""
        try:
            held = locks.acquire(self.lock)
            if held is not None:
                return held
            process = locks.owner(self.lock)
        except OSError as error:
            raise unreachable(self.lock, error) from None
        who = f"process {process}" if process else "another process"
        raise InputError(
            f"run {self.name} is being run by {who}: wait for it, or bursar stop {self.name}"
        )

    def owner(self) -> int | None:
        """The process that executes this run now; 0 if it cannot be seen from here."""
        try:
            return locks.owner(self.lock)
        except PermissionError:
            raise InputError(self.belongs()) from None
        except OSError as error:
            raise unreachable(self.lock, error) from None

    def belongs(self) -> str:
        """The owner of the run, for another user who may not read it."""
        try:
            user = getpwuid(self.path.stat().st_uid).pw_name
        except (OSError, KeyError):
            user = "somebody else"
        return f"run {self.name} belongs to {user}: ask them, or do it as that user"

    def place(self) -> str:
        """What no other directory has at the same time, also not a copy of this one."""
        status = self.path.stat()
        return f"{status.st_dev:x}-{status.st_ino:x}"

    def shut_others_out(self) -> None:
        """Let only its owner read what an earlier bursar let everybody read."""
        for path, mode in ((self.path, _DIRECTORY), (self.journal, _FILE), (self.lock, _FILE)):
            with suppress(FileNotFoundError, PermissionError):
                if path.stat().st_mode & _OTHERS:
                    path.chmod(mode)

    def never_began(self) -> bool:
        """Whether the process that made this run ended before its first event was committed."""
        try:
            if not self.journal.exists() or self.journal.stat().st_size == 0:
                return True
            with JournalReader(self.journal) as reader:
                return reader.last == 0
        except (OSError, BursarError):
            return False

    def discard(self) -> None:
        """Remove what was made of a run that never began; the caller holds its lock."""
        with suppress(OSError):
            remove_journal(self.journal)
            self.lock.unlink(missing_ok=True)
            self.path.rmdir()


class Home:
    """All runs of one place."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Home:
        """`$BURSAR_HOME`, or `.bursar` in the working directory."""
        return cls(environment.get("BURSAR_HOME") or ".bursar")

    def create(self, name: str | None = None, rng: Random | None = None) -> RunDir:
        """Make the directory of a new run; without a name it gets a friendly one."""
        if name is not None:
            check_run_name(name)
        try:
            self._ensure()
            while True:
                chosen = name or new_run_name(rng or Random(), self._taken())
                with suppress(FileExistsError):
                    return self._make(chosen)
                if name is not None:
                    return self._make_anew(name)
        except OSError as error:
            raise unreachable(self.path, error) from None

    def list(self) -> list[RunDir]:
        """Every run, the most recent first."""
        try:
            with os.scandir(self.path) as entries:
                names = [entry.name for entry in entries if entry.is_dir()]
            found = [_look(self.path.absolute() / name) for name in names]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise unreachable(self.path, error) from None
        runs = [run for run in found if run is not None]
        return sorted(runs, key=lambda run: (-run.created, run.name))

    def find(self, name: str | None = None) -> RunDir:
        """The run of this name, or whose name alone begins so; `last` or None: the most recent."""
        runs = self.list()
        if not runs:
            raise InputError(
                f"no runs in {self.path}: start one with bursar run, or set BURSAR_HOME"
            )
        if name is None or name == LAST:
            return runs[0]
        for run in runs:
            if run.name == name:
                return run
        alike = [run for run in runs if name and run.name.startswith(name)]
        if len(alike) == 1:
            return alike[0]
        if alike:
            raise InputError(f"{shown(name)} matches {_names(alike)}: write more of it")
        near = get_close_matches(name, [run.name for run in runs], _SHOWN)
        hint = f"did you mean {', '.join(near)}?" if near else f"the latest are {_names(runs)}"
        raise InputError(f"no run {shown(name)} in {self.path}; {hint}")

    def _taken(self) -> set[str]:
        return {entry.name for entry in self.path.iterdir()}

    def _ensure(self) -> None:
        if not self.path.is_dir():
            self.path.mkdir(parents=True)
            _sync(self.path.parent)

    def _make(self, name: str) -> RunDir:
        """The path is absolute: the process that runs it may change its directory."""
        path = self.path.absolute() / name
        path.mkdir(_DIRECTORY)
        try:
            lock = path / "lock"
            lock.touch(_FILE)
        except OSError:
            path.rmdir()
            raise
        _sync(self.path)
        return _as_of_now(path)

    def _make_anew(self, name: str) -> RunDir:
        """The directory of a run that never began, emptied for another that has its name."""
        run = RunDir(name, self.path.absolute() / name, 0.0)
        held = locks.acquire(run.lock)
        if held is not None:
            with held:
                if run.never_began():
                    remove_journal(run.journal)
                    run.shut_others_out()
                    return _as_of_now(run.path)
        raise InputError(
            f"there is a run {name} already: choose another name, or bursar resume {name}"
        )


def _as_of_now(path: Path) -> RunDir:
    lock = path / "lock"
    now = time.time_ns()  # finer than the clock of most file systems
    os.utime(lock, ns=(now, now))
    return RunDir(path.name, path, lock.stat().st_mtime)


def _look(path: Path) -> RunDir | None:
    """The run in this directory, if it is one; somebody else's may be."""
    with suppress(PermissionError):
        return _look_inside(path)
    with suppress(OSError):
        return RunDir(path.name, path, path.stat().st_mtime)
    return None


def _look_inside(path: Path) -> RunDir | None:
    with suppress(FileNotFoundError):
        return RunDir(path.name, path, (path / "lock").stat().st_mtime)
    with suppress(FileNotFoundError):
        return RunDir(path.name, path, (path / "journal.db").stat().st_mtime)
    return None


def _names(runs: list[RunDir]) -> str:
    shown = ", ".join(run.name for run in runs[:_SHOWN])
    return shown if len(runs) <= _SHOWN else f"{shown} and {len(runs) - _SHOWN} more"


def _sync(directory: Path) -> None:
    """Let a new entry of the directory survive a power failure, as its journal will."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        # Some network file systems know no sync of directories; they keep entries by themselves.
        with suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
