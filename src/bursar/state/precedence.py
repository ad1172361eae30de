"""Which tasks wait for others: what becomes ready when a task is done, and what never will.

Tasks of bags wait for nobody and take no room here.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence

from bursar.model.workflow import Rows, Workflow


class Precedence:
    """Tasks are numbered as in the run, from 1."""

    def __init__(self) -> None:
        self._missing = array("l", [0])
        """per task, how many of those that it needs are not done"""
        self._children: dict[int, list[int]] = {}
        """tasks that need this one; none where nobody does"""
        self._firsts = array("q")
        """the first task of each workflow that is not forgotten, ascending"""
        self._rows: dict[int, Rows] = {}
        """by the first task of a workflow, whom its tasks need, as places in it"""

    def add_free(self, count: int) -> None:
        """So many more tasks, which wait for nobody."""
        self._missing.frombytes(bytes(count * self._missing.itemsize))

    def add_workflow(self, flow: Workflow) -> Iterator[bool]:
        """The tasks of a workflow; tells of each whether it waits for others."""
        first = len(self._missing)
        self._firsts.append(first)
        self._rows[first] = flow.parents
        for task, children in enumerate(flow.children, first):
            if children:
                self._children[task] = [first + child for child in children]
        for parents in flow.parents:
            self._missing.append(len(parents))
            yield bool(parents)

    @property
    def missing_of_all(self) -> Sequence[int]:
        """By task, how many of its parents are not done; index 0 is unused."""
        return self._missing

    def missing(self, task: int) -> int:
        """How many of its parents are not done."""
        return self._missing[task]

    def children(self, task: int) -> Sequence[int]:
        """Those that need this one."""
        return self._children.get(task, ())

    def parents(self, task: int) -> Sequence[int]:
        """Those that this one needs; of a workflow that is forgotten, none."""
        place = bisect_right(self._firsts, task) - 1
        first = self._firsts[place] if place >= 0 else 0
        rows = self._rows.get(first, ())
        if task - first >= len(rows):
            return ()
        return tuple(first + parent for parent in rows[task - first])

    def done(self, task: int) -> Sequence[int]:
        """Tell that a task is done; gives those that waited for nothing else."""
        children = self._children.get(task)
        if children is None:
            return ()
        free = []
        for child in children:
            self._missing[child] -= 1
            if not self._missing[child]:
                free.append(child)
        return free

    def forget(self, tasks: range) -> None:
        """Who needs these, which are all tasks of a work and done, matters no more."""
        if self._rows.pop(tasks.start, None) is not None:
            del self._firsts[bisect_left(self._firsts, tasks.start)]
        for task in tasks if self._children else ():
            self._children.pop(task, None)

    def below(self, task: int, wanted: Callable[[int], bool]) -> Iterator[int]:
        """All that need the task, also through others, each once.

        It goes no further than tasks that are wanted, and the caller makes those that it was
        given unwanted.
        """
        waiting = [task]
        while waiting:
            for child in self.children(waiting.pop()):
                if wanted(child):
                    yield child
                    waiting.append(child)
