"""RunState: the fold of a run's events, and the one place that changes it.

`apply(event)` is the only mutator. Policies see it through `view_of`, which cannot be written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from bursar.model.errors import InvariantError
from bursar.state import events as ev
from bursar.state.appliers import attempts, machines, run, tasks
from bursar.state.facts import RunFacts

_APPLIERS: Final[dict[type, Callable[[RunFacts, Any], None]]] = {
    ev.RunCreated: run.run_created,
    ev.WorkArrived: tasks.work_arrived,
    ev.WorkCancelled: tasks.work_cancelled,
    ev.PriorityChanged: tasks.priority_changed,
    ev.FilesFound: run.files_found,
    ev.ArrivalsEnded: run.arrivals_ended,
    ev.GoalChanged: run.goal_changed,
    ev.PlansOffered: run.work_planned,
    ev.PlanChosen: run.work_planned,
    ev.StrategyChosen: run.work_planned,
    ev.AssignmentChanged: run.work_planned,
    ev.BudgetRefilled: run.budget_refilled,
    ev.StopRequested: run.stop_requested,
    ev.RunResumed: run.run_resumed,
    ev.RetryRequested: tasks.retry_requested,
    ev.RunEnded: run.run_ended,
    ev.ScaleDecided: run.scale_decided,
    ev.ForecastMade: run.forecast_made,
    ev.MachineRented: machines.machine_rented,
    ev.LeaseExtended: machines.lease_extended,
    ev.ReleaseMarked: machines.release_marked,
    ev.ReleaseOrdered: machines.release_ordered,
    ev.MachineUp: machines.machine_up,
    ev.MachineAdopted: machines.machine_adopted,
    ev.LossAnnounced: machines.loss_announced,
    ev.ConnectionLost: machines.connection_changed,
    ev.ConnectionRestored: machines.connection_changed,
    ev.MachineDown: machines.machine_down,
    ev.AttemptStarted: attempts.attempt_started,
    ev.CancelOrdered: attempts.cancel_ordered,
    ev.AttemptEnded: attempts.attempt_ended,
    ev.ActionRefused: run.action_refused,
}


def _is_there_to_come_up(state: RunFacts, event: ev.MachineUp) -> bool:
    machine = state.machines.get(event.machine)
    return machine is not None and machine.up is None


def _is_there_to_be_lost(state: RunFacts, event: ev.LossAnnounced) -> bool:
    machine = state.machines.get(event.machine)
    return machine is not None and not machine.leaving


def _is_unsettled(state: RunFacts, event: ev.WorkCancelled | ev.PriorityChanged) -> bool:
    known = 1 <= event.work <= len(state.work)
    return known and state.work.left(event.work - 1) > 0 and event.work not in state.cancelled_works


_CONCERNS: Final[dict[type, Callable[[RunFacts, Any], bool]]] = {
    ev.AttemptEnded: lambda state, event: event.attempt in state.attempts,
    ev.MachineDown: lambda state, event: event.machine in state.machines,
    ev.MachineUp: _is_there_to_come_up,
    ev.LossAnnounced: _is_there_to_be_lost,
    ev.WorkCancelled: _is_unsettled,
    ev.PriorityChanged: _is_unsettled,
}
"""By kind of event, whether what it is about still lives; others always count."""


class RunState(RunFacts):
    """What is known of a run, as its events tell it."""

    def apply(self, event: ev.AnyEvent) -> None:
        at = event.at
        if at < self.now:
            raise InvariantError(f"time ran back from {self.now} to {at}: {event}")
        _APPLIERS[type(event)](self, event)
        self.now = self.ledger.now = at
        self.events += 1

    def expects(self, event: ev.AnyEvent) -> bool:
        """Whether an event concerns something that still lives; late ones are dropped."""
        concerns = _CONCERNS.get(type(event))
        return concerns is None or concerns(self, event)

    def check(self) -> None:
        """Verify every invariant; slow, for tests."""
        from bursar.state.invariants import check

        check(self)


def fold(events: Iterable[ev.AnyEvent]) -> RunState:
    """The state that a journal tells."""
    state = RunState()
    for event in events:
        state.apply(event)
    return state
