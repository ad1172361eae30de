"""The structure of works that are not settled: what `view.structure` tells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from weakref import WeakKeyDictionary

import msgspec

from bursar.state.generations import Generations
from bursar.state.ranked_works import RankedWork, RankedWorks
from bursar.state.structure_view import StructureView, WorkStructure
from bursar.state.view import View


class Structure:
    """Follows what changed in a view at every question, and nothing between two of them."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._ranked = RankedWorks(ranked=True)
        self._generations = Generations()
        self._known: WeakKeyDictionary[RankedWork, WorkStructure] = WeakKeyDictionary()
        """answers that still hold, as long as the index has the work"""

    def works(self) -> Sequence[WorkStructure]:
        self._look()
        return [self._structure_of(work) for work in self._ranked.unsettled()]

    def of(self, work: int) -> WorkStructure | None:
        found = self._find(work)
        return None if found is None else self._structure_of(found)

    def rank(self, task: int) -> float:
        found = self._find(self._view.work.place_of(task) + 1)
        return 0.0 if found is None else found.rank_of(task)

    def by_rank(self, work: int) -> Sequence[int]:
        found = self._find(work)
        if found is None:
            return ()
        ranks = {task: found.rank_of(task) for task in found.ready()}
        return sorted(ranks, key=lambda task: (-ranks[task], task))

    def generations(self, work: int) -> Sequence[int]:
        self._generations.look(self._view)
        return self._generations.sizes(work)

    def _look(self) -> None:
        changed, _ = self._ranked.look(self._view)
        for work in changed:
            self._known.pop(work, None)

    def _find(self, work: int) -> RankedWork | None:
        self._look()
        return self._ranked.at(work - 1)

    def _structure_of(self, work: RankedWork) -> WorkStructure:
        found = self._known.get(work)
        if found is None:
            found = self._known[work] = WorkStructure(
                number=work.place + 1,
                owner=self._view.work[work.place][1].owner,
                arrived=work.arrived,
                tasks=range(work.first, work.first + work.tasks),
                left=work.left,
                waiting=work.waiting,
                running=work.running,
                path=work.path * work.factor,
                path_left=work.path_left * work.factor,
                work_left=work.work_left * work.factor,
            )
        return found


class ReadOnlyStructure(msgspec.Struct, frozen=True):
    """The same without a way to the state: functions that give values."""

    works: Callable[[], Sequence[WorkStructure]]
    of: Callable[[int], WorkStructure | None]
    rank: Callable[[int], float]
    by_rank: Callable[[int], Sequence[int]]
    generations: Callable[[int], Sequence[int]]


def structure_of(state: View) -> StructureView:
    """What entries see of the structure of works; it is made when somebody asks."""

    def works() -> Sequence[WorkStructure]:
        return tuple(state.structure.works())

    def of(work: int) -> WorkStructure | None:
        return state.structure.of(work)

    def rank(task: int) -> float:
        return state.structure.rank(task)

    def by_rank(work: int) -> Sequence[int]:
        return tuple(state.structure.by_rank(work))

    def generations(work: int) -> Sequence[int]:
        return tuple(state.structure.generations(work))

    return ReadOnlyStructure(works, of, rank, by_rank, generations)
