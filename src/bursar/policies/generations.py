"""How many tasks of an account's works may run at once, wave by wave, kept up to date.

Generation 0 are the tasks that are ready or run. Generation i + 1 becomes ready when exactly all of
generation i are done (workload thesis, 1.4). A work is looked at again only when one of its tasks
was done, so that a decision takes no longer for works in which nothing happened.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from bursar.state.task_status import BLOCKED, DONE, FAILED, READY, RUNNING
from bursar.state.view import View
from bursar.state.work_index import CountedWork, WorkIndex

Sizes = Sequence[int]
"""The number of tasks in generation 0, 1, ..."""
_Children = list[list[int]]
"""by task of a work, from 0, those that need it; empty: nobody waits"""


class Generations:
    """Follows what changed: `look` first."""

    def __init__(self) -> None:
        self._index = WorkIndex()
        self._known: dict[int, tuple[int, Sizes]] = {}
        """by work, how many tasks were settled then, and the sizes of its generations"""
        self._shapes: dict[int, _Children] = {}
        """by work, which tasks need each; found once"""

    def look(self, view: View) -> None:
        self._index.look(view)
        known, self._known = self._known, {}
        shapes, self._shapes = self._shapes, {}
        for work in self._index.unsettled():
            settled = len(work.tasks) - work.unsettled
            before, shape = known.get(work.number), shapes.get(work.number)
            if before is None or before[0] != settled:
                shape = shape or _children_of(work)
                before = settled, sizes_of(work, shape, view)
            self._known[work.number] = before
            if shape is not None:
                self._shapes[work.number] = shape

    def works(self, account: str = "") -> Iterator[CountedWork]:
        """Works of an account with tasks that are not settled, in the order of arrival."""
        works = self._index.unsettled()
        return (work for work in works if not account or work.owner == account)

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


def sizes_of(work: CountedWork, children: _Children, view: View) -> Sizes:
    """The sizes of the generations of a work, as it is now."""
    first = work.tasks.start
    eligible = [task - first for task in (*work.having(READY), *work.having(RUNNING))]
    if not children or len(eligible) == work.unsettled:
        return [len(eligible)] if eligible else []
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


def _children_of(work: CountedWork) -> _Children:
    """By task of a work, from 0, those that need it; none for a bag."""
    flow = work.work.workflow
    if flow is None:
        return []
    found: list[list[int]] = [[] for _ in work.tasks]
    for child, row in enumerate(flow.parents):
        for parent in row:
            found[parent].append(child)
    return found


def _missing(status: bytes | bytearray, children: _Children) -> list[int]:
    """How many of those that each task needs are not done; one that never will be counts, too."""
    missing = [int(one in (FAILED, BLOCKED)) for one in status]
    for task, needing in enumerate(children):
        if needing and status[task] != DONE:
            for child in needing:
                missing[child] += 1
    return missing
