"""Why: the decisions of a run with their reasons, from its journal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from bursar import events as ev
from bursar.model.fleet import format_fleet
from bursar.model.money import Money, format_money
from bursar.model.time import MINUTE, SECOND, Time, format_duration
from bursar.model.wording import counted
from bursar.report.summary import STATUS_TOLD
from bursar.state import RunState


class Told(msgspec.Struct, frozen=True):
    """One decision, or one event that explains decisions."""

    at_s: float
    what: str
    why: str


def decisions(events: Iterable[ev.AnyEvent]) -> Iterator[Told]:
    """Fold the journal and tell what was decided; attempts only where there is a reason."""
    state = RunState()
    for event in events:
        told = _tell(event, state)
        state.apply(event)
        if told is not None:
            yield Told(event.at / SECOND, *told)


def _tell(event: ev.AnyEvent, state: RunState) -> tuple[str, str] | None:
    match event:
        case ev.RunCreated():
            budget = event.goal.budget
            money = "no budget" if budget is None else format_money(budget, event.market.currency)
            roles = ", ".join(f"{role} {entry}" for role, entry in event.policies.items())
            return "run created", f"{money}; {roles}; fleet {event.settings.get('fleet', '?')}"
        case ev.MachineRented():
            price = format_money(state.market[event.offer].price, state.market.currency)
            what = f"+1 {event.offer} ({event.offer}-{event.machine}) at {price} a unit"
            return what, event.reason
        case ev.LeaseExtended(reason=reason) if reason:
            return f"keep {_name(state, event.machine)}", reason
        case ev.ReleaseMarked():
            return f"release {_name(state, event.machine)} when its paid time ends", event.reason
        case ev.ReleaseOrdered():
            return f"-1 {_name(state, event.machine)}", event.reason
        case ev.LossAnnounced():
            left = format_duration(event.gone - event.at)
            return f"{_name(state, event.machine)} will be taken away", f"announced {left} ahead"
        case ev.MachineDown(cause=cause) if cause != "released":
            return f"{_name(state, event.machine)} is gone ({cause})", event.why
        case ev.AttemptStarted() if event.reason or state.attempts_of(event.task):
            return f"start task {event.task} on {_name(state, event.machine)}", event.reason
        case ev.CancelOrdered():
            task = state.attempts[event.attempt].task
            return f"cancel attempt {event.attempt} of task {task}", event.reason
        case ev.ActionRefused():
            return f"refused: {event.action} {event.about}", event.why
        case ev.StopRequested():
            return "stop at once" if event.now else "stop gently", event.why
        case ev.PlanChosen():
            cost = format_money(event.cost_upper, state.market.currency)
            promise = f"{format_duration(event.makespan_upper)} and {cost} at most"
            return f"plan '{event.name}' chosen: {format_fleet(event.fleet)}", promise
        case ev.AssignmentChanged():
            return f"plan changed: {format_fleet(event.fleet)} at most", event.why
        case ev.StrategyChosen():
            return f"tail begins: {event.strategy}", _tell_strategy(event, state)
        case ev.GoalChanged() | ev.RunResumed() | ev.RetryRequested():
            return _changes(event, state), "asked for"
        case ev.RunEnded():
            return f"run ended: {STATUS_TOLD[event.status]}", event.why
    return None


def _tell_strategy(event: ev.StrategyChosen, state: RunState) -> str:
    if not event.makespan:
        return event.why
    cost = format_money(Money.nearest(event.cost), state.market.currency)
    return f"{event.why}; expected are {format_duration(event.makespan)} and {cost} more"


def _changes(event: ev.GoalChanged | ev.RunResumed | ev.RetryRequested, state: RunState) -> str:
    if isinstance(event, ev.RetryRequested):
        return f"try {counted(len(event.tasks), 'failed task')} again"
    if isinstance(event, ev.RunResumed):
        return "run resumed"
    new, changes = event.goal, []
    if new.budget != state.goal.budget and new.budget is not None:
        changes.append(f"budget is now {format_money(new.budget, state.market.currency)}")
    if new.deadline != state.goal.deadline and new.deadline is not None:
        changes.append(f"deadline is now {format_duration(new.deadline)}")
    return ", ".join(changes) or "goal is as before"


def _name(state: RunState, machine: int) -> str:
    return state.machines[machine].name


def clock(at: Time) -> str:
    """Time since the run began, as `h:mm:ss`; the first minute as `4.7 s`."""
    if at < MINUTE:
        return f"{at // (SECOND // 10) / 10:.1f} s"
    whole = at // SECOND
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"
