"""Orphans: processes that have lost their parent and came to the warden.

By the tag, which they cannot lose by accident; else by the mark in their environment. One that has
neither may be of any ward that lived when it was first seen, and lives as long as one of these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bursar.execute.processes import ward_of
from bursar.execute.tags import is_of_run, tag_of, ward_in

if TYPE_CHECKING:
    from collections.abc import Collection


class Orphans:
    """Tells the wards of orphans, for a warden of one run."""

    def __init__(self, mark: str, run: int) -> None:
        self._mark = mark
        self._run = run
        """the tag of the run"""
        self._strangers: dict[int, frozenset[int]] = {}
        """those with neither, and the wards that lived when each was first seen"""

    def owners(self, pid: int, wards: Collection[int]) -> Collection[int]:
        """The wards that an orphan may be of, of those that are there; none: it must end."""
        tag = tag_of(pid)
        if tag is not None and is_of_run(tag, self._run):
            key = ward_in(tag)
            return [key] if key in wards else []
        mark, _, number = (ward_of(pid) or "").rpartition("/")
        if tag is None and mark == self._mark:
            return [key for key in wards if str(key) == number]
        return self._strangers.setdefault(pid, frozenset(wards)).intersection(wards)

    def forget(self, pid: int) -> None:
        """It has ended."""
        self._strangers.pop(pid, None)
