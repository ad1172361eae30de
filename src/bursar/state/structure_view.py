"""What a policy sees of the structure of works: `view.structure`.

Upward ranks and critical paths are those of section 3.3.1 of the thesis on workloads of workflows,
generations those of section 1.4. Times are microseconds at speed 1, as `view.runtimes` expects
them; where nobody knows any, every task takes a second, and ranks count tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from bursar.model.time import Time


class WorkStructure(msgspec.Struct, frozen=True):
    """A work that has tasks which are not settled, as it was when somebody asked."""

    number: int
    """works count from 1, in the order of arrival"""
    owner: str
    arrived: Time
    tasks: range
    """their numbers in the run"""
    left: int
    """tasks that are not settled ..."""
    waiting: int
    """... of which these wait for a machine ..."""
    running: int
    """... and these run"""
    path: float
    """the critical path of the whole work"""
    path_left: float
    """the critical path of the tasks that have not been started"""
    work_left: float
    """what the tasks take in all that have not been started"""


class StructureView(Protocol):
    """Kept up to date as tasks become ready, start and end; the first question makes it.

    An answer costs no more than what has changed since the last one.
    """

    def works(self) -> Sequence[WorkStructure]:
        """Those that are not settled, in the order of arrival."""
        ...

    def of(self, work: int) -> WorkStructure | None:
        """The work of this number; None: it is settled."""
        ...

    def rank(self, task: int) -> float:
        """The upward rank: the longest way from a task, itself included, to an end of its work.

        0 if the work is settled.
        """
        ...

    def by_rank(self, work: int) -> Sequence[int]:
        """The tasks of a work that wait for a machine, the highest rank first."""
        ...

    def generations(self, work: int) -> Sequence[int]:
        """How many tasks of a work are in generation 0, 1, ...: none if it is settled.

        Generation 0 are those that are ready or run; generation i + 1 is ready when exactly all of
        generation i are done.
        """
        ...
