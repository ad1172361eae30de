"""The strategies that the works of a run follow in their tails, each its own."""

from __future__ import annotations

from typing import Final

from bursar.model.strategy import Strategy
from bursar.state import events as ev
from bursar.state.view import View, WorksView

ENDLESS: Final = 1 << 40
"""N where there is no end of copies."""


class WorkStrategies:
    """Follows a run: `saw` every event."""

    def __init__(self, given: Strategy | None = None) -> None:
        self._given = given
        """of works that have none of their own"""
        self._of_work: dict[int, Strategy] = {}
        """by the number of a work"""
        self._works: WorksView | None = None
        """those that arrived; None: nothing happened yet"""
        self._in_force: tuple[Strategy | None, ...] | None = (given,)
        """None: to be found again"""

    def saw(self, event: ev.AnyEvent, state: View) -> None:
        if self._works is None:
            self._works = state.work
        match event:
            case ev.StrategyChosen() | ev.PlanChosen(strategy=Strategy()):
                assert event.strategy is not None  # noqa: S101
                self._of_work[event.work] = event.strategy
                self._in_force = None
            case ev.WorkArrived():
                self._in_force = None
            case ev.AttemptEnded(outcome="success") if self._of_work:
                if not state.work.left(state.work.place_of(state.log.task[event.attempt])):
                    self._in_force = None

    def saw_before(self, view: View) -> None:
        """Learn what happened before anybody watched."""
        self._works, self._in_force = view.work, None
        for place in range(len(view.work)):
            strategy = view.strategy_of(place + 1)
            if strategy is not None:
                self._of_work[place + 1] = strategy

    @property
    def in_force(self) -> tuple[Strategy | None, ...]:
        """Those of all works that are not done, each once; None: of a work that has none yet."""
        if self._in_force is None:
            self._in_force = self._found()
        return self._in_force

    def of_work(self, work: int) -> Strategy | None:
        return self._of_work.get(work, self._given)

    def of(self, task: int) -> Strategy | None:
        """The strategy of the work that a task belongs to."""
        return self.in_force[0] if len(self.in_force) == 1 else self.of_work(self.work_of(task))

    def work_of(self, task: int) -> int:
        """The number of the work that a task belongs to."""
        works = self._works
        return 1 if works is None or len(works) == 1 else works.place_of(task) + 1

    def copies_of(self, work: int) -> int:
        """N: unreliable instances that a task of a work may get in its tail."""
        strategy = self.of_work(work)
        if strategy is None:
            return 0
        return ENDLESS if strategy.copies is None else strategy.copies

    def _found(self) -> tuple[Strategy | None, ...]:
        works = self._works
        going_on = [] if works is None else [n for n in range(len(works)) if works.left(n)]
        found = dict.fromkeys(self.of_work(place + 1) for place in going_on)
        return tuple(found) or (self.of_work(1),)
