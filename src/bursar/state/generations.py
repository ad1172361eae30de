"""How many tasks of an account's works may run at once, wave by wave, kept up to date.

Generation 0 are the tasks that are ready or run. Generation i + 1 becomes ready when exactly all of
generation i are done (workload thesis, 1.4). A work is looked at again only when one of its tasks
was done, so that a decision takes no longer for works in which nothing happened.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Final

from bursar.state.task_status import BLOCKED, DONE, FAILED, READY, RUNNING
from bursar.state.view import View
from bursar.state.work_index import CountedWork, WorkIndex

Sizes = Sequence[int]
"""The number of tasks in generation 0, 1, ..."""
_Children = Sequence[Sequence[int]]
"""by task of a work, from 0, those that need it; empty: nobody waits"""
_NEVER: Final = bytes(int(status in (FAILED, BLOCKED)) for status in range(256))
"""By status, whether a task will never be ready, as things are."""


class Generations:
    """Follows what changed: `look` first."""

    def __init__(self) -> None:
        self._index = WorkIndex()
        self._known: dict[int, tuple[int, Sizes]] = {}
        """by work, how many tasks were settled then, and the sizes of its generations"""

    def look(self, view: View) -> None:
        changed = self._index.look(view)
        if changed is None:
            self._known = {}
            changed = [work.number for work in self._index.unsettled()]
        for number in changed:
            if self._index.is_settled(number):
                self._known.pop(number, None)
                continue
            work = self._index.of(number, view)
            settled, before = len(work.tasks) - work.unsettled, self._known.get(number)
            if before is None or before[0] != settled:
                self._known[number] = settled, sizes_of(work, view)

    def works(self, account: str = "") -> Iterator[CountedWork]:
        """Works of an account with tasks that are not settled, in the order of arrival."""
        works = self._index.unsettled()
        return (work for work in works if not account or work.owner == account)

    def sizes(self, number: int) -> Sizes:
        """The sizes of the generations of a work; none if it is settled."""
        return self._known[number][1] if number in self._known else ()

    def largest(self, work: CountedWork, depth: float) -> int:
        """The most tasks of one of its generations, down to a depth."""
        return max(cut(self._known[work.number][1], depth), default=0)

    def joint(self, account: str, depth: float) -> tuple[int, int]:
        """The same of all works of an account as one workflow, and how many tasks they have."""
        every = [cut(self._known[work.number][1], depth) for work in self.works(account)]
        together = [sum(sizes) for sizes in zip_longest(*every, fillvalue=0)]
        return max(together, default=0), sum(together)


def cut(sizes: Sizes, depth: float) -> Sizes:
    """Generations 0 to a depth."""
    return sizes if depth >= len(sizes) else sizes[: int(depth) + 1]


def sizes_of(work: CountedWork, view: View) -> Sizes:
    """The sizes of the generations of a work, as it is now."""
    count, flow = work.count(READY) + work.count(RUNNING), work.work.workflow
    if flow is None or count == work.unsettled:
        return [count] if count else []
    first, children = work.tasks.start, flow.children
    eligible = [task - first for task in (*work.having(READY), *work.having(RUNNING))]
    missing = _missing(view.status[first : work.tasks.stop], children)
    sizes: list[int] = []
    while eligible:
        sizes.append(len(eligible))
        following: list[int] = []
        for task in eligible:
            for child in children[task]:
                missing[child] -= 1
                if not missing[child]:
                    following.append(child)
        eligible = following
    return sizes


def _missing(status: bytes | bytearray, children: _Children) -> list[int]:
    """How many of those that each task needs are not done; one that never will be counts, too."""
    missing = list(status.translate(_NEVER))
    for one, needing in zip(status, children, strict=True):
        if needing and one != DONE:
            for child in needing:
                missing[child] += 1
    return missing
