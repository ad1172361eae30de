"""The directory of `--output`: one run's own, as long as there are results of it.

A file in it names the run, and is locked while the run is executed.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final, Self

from bursar.execute.outputs import ATTEMPTS, Outputs
from bursar.journal import lock as locks
from bursar.model.errors import InputError

CLAIM: Final = ".bursar-run"


class Claim:
    """Held until `release`; to be used in a `with` statement."""

    def __init__(self, root: Path) -> None:
        """Have it, made if need be; refuse what cannot be used, or what another run uses now."""
        self.root = root.absolute()
        self._is_new = not self.root.exists()
        if any(_is_run(place) for place in (self.root, *self.root.parents)):
            raise InputError(f"{root}: lies in the directory of a run; choose another for results")
        file = self.root / CLAIM
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            held = locks.acquire(file)
            process = None if held is not None else locks.owner(file)
        except OSError as error:
            raise Outputs(root).unusable(error) from None
        if held is None:
            who = f"process {process}" if process else "another process"
            raise InputError(f"{root}: a run of {who} puts results there; choose another directory")
        self._lock = held

    def check_new(self) -> None:
        """Refuse a directory that has anything in it, or that cannot be written."""
        try:
            if any(entry.name != CLAIM for entry in self.root.iterdir()) or self._lock.read():
                raise InputError(
                    f"{self.root}: has files already; give results a directory of their own"
                )
            probe = self.root / ATTEMPTS
            probe.mkdir()
            probe.rmdir()
        except OSError as error:
            raise Outputs(self.root).unusable(error) from None

    def take(self, run: str) -> None:
        """From now on it is this run's, by its id; refuse if it is another's."""
        owner = self._lock.read().decode(errors="replace").strip()
        if owner not in ("", run):
            raise InputError(
                f"{self.root}: has results of another run by now; move them away, then continue"
            )
        if not owner:
            self._lock.write(f"{run}\n".encode())

    def abandon(self) -> None:
        """Leave no trace of a run that could not begin."""
        (self.root / CLAIM).unlink(missing_ok=True)
        if self._is_new:
            with suppress(OSError):
                self.root.rmdir()

    def release(self) -> None:
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def _is_run(place: Path) -> bool:
    return (place / "journal.db").is_file() and (place / "lock").is_file()
