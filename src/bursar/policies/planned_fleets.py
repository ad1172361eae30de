"""The fleets that the plans of a run's works ask for, together."""

from __future__ import annotations

from bursar.model.fleet import Fleet
from bursar.state import events as ev
from bursar.state.view import View


class PlannedFleets:
    """Follows a run: `saw` every event. A work's fleet counts until all its tasks are done."""

    def __init__(self) -> None:
        self._total: dict[str, int] = {}
        self._of_work: dict[int, Fleet] = {}
        """by the number of a work that follows a plan and is not done, its part of the total"""

    @property
    def total(self) -> Fleet | None:
        """Machines by offer, of all works that follow a plan; None: no work does."""
        return self._total if self._of_work else None

    def saw(self, event: ev.AnyEvent, state: View) -> bool:
        """Whether the total is another now."""
        match event:
            case ev.PlanChosen() | ev.AssignmentChanged():
                self._plan(event.work, event.fleet)
                return True
            case ev.AttemptEnded(outcome="success") if self._of_work:
                place = state.work.place_of(state.log.task[event.attempt])
                return not state.work.left(place) and self._take_back(place + 1)
        return False

    def saw_before(self, view: View) -> None:
        """Learn what happened before anybody watched."""
        for place in range(len(view.work)):
            plan = view.plan_of(place + 1)
            if plan is not None and view.work.left(place):
                self._plan(place + 1, plan.fleet)

    def _plan(self, work: int, fleet: Fleet) -> None:
        self._take_back(work)
        self._of_work[work] = dict(fleet)
        for name, count in fleet.items():
            self._total[name] = self._total.get(name, 0) + count

    def _take_back(self, work: int) -> bool:
        fleet = self._of_work.pop(work, None)
        for name, count in (fleet or {}).items():
            self._total[name] -= count
        return fleet is not None
