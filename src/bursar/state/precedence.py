"""Which tasks wait for others: what becomes ready when a task is done, and what never will.

Tasks of bags wait for nobody and take no room here.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence

from bursar.model.flow import Flow


class Precedence:
    """Tasks are numbered as in the run, from 1."""

    def __init__(self) -> None:
        self._missing = array("l", [0])
        """per task, how many of those that it needs are not done"""
        self._children: dict[int, list[int]] = {}
        """tasks that need this one; none where nobody does"""

    def add_free(self, count: int) -> None:
        """So many more tasks, which wait for nobody."""
        self._missing.frombytes(bytes(count * self._missing.itemsize))

    def add_flow(self, flow: Flow) -> Iterator[bool]:
        """The tasks of a workflow; tells of each whether it waits for others."""
        first = len(self._missing)
        for index, parents in enumerate(flow.parents):
            self._missing.append(len(parents))
            for parent in parents:
                self._children.setdefault(first + parent, []).append(first + index)
            yield bool(parents)

    def waits(self, task: int) -> bool:
        return self._missing[task] > 0

    def children(self, task: int) -> Sequence[int]:
        """Those that need this one."""
        return self._children.get(task, ())

    def done(self, task: int) -> Iterator[int]:
        """Tell that a task is done; gives those that waited for nothing else."""
        for child in self.children(task):
            self._missing[child] -= 1
            if not self._missing[child]:
                yield child

    def forget(self, tasks: range) -> None:
        """Who needs these, which are all done, matters no more."""
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
