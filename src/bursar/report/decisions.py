"""Why: the decisions of a run with their reasons, from its journal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from bursar.model.budget_text import format_budget
from bursar.model.fleet import format_fleet, write_fleet
from bursar.model.money import Money, format_money
from bursar.model.text import counted
from bursar.model.time import MINUTE, SECOND, Time, format_duration, seconds
from bursar.report.summary import STATUS_TEXT, goal_money
from bursar.state import events as ev
from bursar.state.state import RunState

COUNT: Final = "\0count"
NAMES: Final = "\0names"
"""where the number and the names of several decisions go in what is said of them"""
PARTS: Final = 50
"""Equal decisions are grouped if they fall within one part in so many of the run ..."""
MOMENT: Final = 1.0
"""... or within so many seconds."""
MOST_NAMES: Final = 4
SHOWN: Final = 0.1
"""Shorter groups, in seconds, have no end of their own."""


class DecisionLine(msgspec.Struct, frozen=True):
    """One decision, or one event that explains decisions."""

    at_s: float
    what: str
    why: str


class Decision(msgspec.Struct, frozen=True):
    """The text for one event, and for several of them together."""

    line: DecisionLine
    several: str = ""
    """with places for COUNT and NAMES; empty: it is always shown alone"""
    name: str = ""


def decisions(events: Iterable[ev.AnyEvent]) -> Iterator[Decision]:
    """Fold the journal and tell what was decided; attempts only where there is a reason."""
    state = RunState()
    for event in events:
        line, together = _tell(event, state), _together(event, state)
        state.apply(event)
        if line is not None:
            yield Decision(DecisionLine(event.at / SECOND, *line), *together)


def decision_of(event: ev.AnyEvent, state: RunState) -> DecisionLine | None:
    """What an event decides that is not applied yet, and why; None: it decides nothing."""
    line = _tell(event, state)
    return None if line is None else DecisionLine(event.at / SECOND, *line)


def grouped(found: Sequence[Decision]) -> list[DecisionLine]:
    """Like decisions for like reasons shown once with their count; the length is bounded.

    Reasons are equal if they differ in numbers only; the first is shown.
    """
    span = max(MOMENT, found[-1].line.at_s / PARTS) if found else MOMENT
    groups: list[list[Decision]] = []
    latest: dict[tuple[str, str], list[Decision]] = {}
    for one in found:
        key = (one.several, re.sub(r"\d+(\.\d+)?", "0", one.line.why))
        group = latest.get(key)
        if not one.several or group is None or one.line.at_s - group[0].line.at_s > span:
            group = latest[key] = []
            groups.append(group)
        group.append(one)
    return [_grouped_line(group) for group in groups]


def _grouped_line(group: Sequence[Decision]) -> DecisionLine:
    first, last = group[0], group[-1]
    if len(group) == 1:
        return first.line
    names = list(dict.fromkeys(one.name for one in group))
    if len(names) > MOST_NAMES:
        names[MOST_NAMES - 1 : -1] = ["..."]
    several = first.several
    if len(names) == 1:  # many attempts of it
        several = several.replace(f"tasks {NAMES}", f"task {NAMES}")
    what = several.replace(COUNT, f"{len(group):,}").replace(NAMES, ", ".join(names))
    begin, end = first.line.at_s, last.line.at_s
    is_short = end - begin < SHOWN or clock(seconds(begin)) == clock(seconds(end))
    until = "" if is_short else f", until {clock(seconds(end))}"
    return DecisionLine(first.line.at_s, what.replace(", ...,", " ...") + until, first.line.why)


def _together(event: ev.AnyEvent, state: RunState) -> tuple[str, str]:
    """The text for several such events, and the name of this one; empty: each has its own line."""
    match event:
        case ev.MachineRented():
            price = format_money(state.market[event.offer].price, state.market.currency)
            several = f"+{COUNT} {event.offer} ({NAMES}) at {price} a unit"
            return several, f"{event.offer}-{event.machine}"
        case ev.LeaseExtended():
            return f"keep {NAMES} ({COUNT} times)", _name(state, event.machine)
        case ev.ReleaseMarked():
            return f"release {NAMES} when their paid time ends", _name(state, event.machine)
        case ev.ReleaseOrdered():
            offer = state.machines[event.machine].offer.name
            return f"-{COUNT} {offer} ({NAMES})", _name(state, event.machine)
        case ev.MachineDown():
            offer = state.machines[event.machine].offer.name
            return f"{COUNT} {offer} gone ({event.cause}): {NAMES}", _name(state, event.machine)
        case ev.AttemptStarted():
            kind = "replicas of" if state.attempts_of(event.task) else "attempts of"
            return f"start {COUNT} {kind} tasks {NAMES}", str(event.task)
        case ev.CancelOrdered():
            several = f"cancel {COUNT} attempts of tasks {NAMES}"
            return several, str(state.attempts[event.attempt].task)
        case ev.ActionRefused():
            return f"refused {COUNT} times: {event.action} ({NAMES})", event.about
    return "", ""


def _tell(event: ev.AnyEvent, state: RunState) -> tuple[str, str] | None:
    match event:
        case ev.RunCreated():
            money = goal_money(event.goal, event.market.currency)
            roles = ", ".join(f"{role} {entry}" for role, entry in event.policies.items())
            fleet = write_fleet(event.made_with.fleet) or "?"
            return "run created", f"{money}; {roles}; fleet {fleet}"
        case ev.BudgetRefilled():
            whose = f" of {event.account}" if event.account else ""
            budget, currency = state.ledger.budget_of(event.account), state.market.currency
            money = "" if budget is None else f"{format_budget(budget, currency)}; "
            waiting = f"{money}{counted(len(state.ready), 'task')} ready"
            return f"a new interval of the budget{whose} has begun", waiting
        case ev.ActionRefused():
            return f"refused: {event.action} {event.about}", event.why
        case ev.StopRequested():
            return "stop at once" if event.now else "stop after the running tasks", event.why
        case ev.WorkCancelled():
            return f"work {event.work} is cancelled", event.why
        case ev.PriorityChanged():
            before = state.work[event.work - 1][1].priority
            decided = f"work {event.work} has priority {event.priority}"
            return decided, f"requested; it was {before}"
        case ev.PlanChosen():
            cost = format_money(event.cost_upper, state.market.currency)
            promise = f"{format_duration(event.makespan_upper)} and {cost} at most"
            what = f"plan '{event.name}' chosen{_for_work(event, state)}"
            return f"{what}: {format_fleet(event.fleet)}", promise
        case ev.AssignmentChanged():
            what = f"plan changed{_for_work(event, state)}"
            return f"{what}: {format_fleet(event.fleet)} at most", event.why
        case ev.StrategyChosen():
            if event.strategy.is_interim:
                what = f"both pools until the tail{_for_work(event, state)}"
                return what, _tell_strategy(event, state)
            what = f"tail begins{_for_work(event, state)}"
            return f"{what}: {event.strategy}", _tell_strategy(event, state)
        case ev.ScaleDecided():
            return _tell_scale(event)
        case ev.GoalChanged() | ev.RunResumed() | ev.RetryRequested():
            return _changes(event, state), "requested"
        case ev.RunEnded():
            return f"run ended: {STATUS_TEXT[event.status]}", event.why
    return _tell_machine(event, state) or _tell_attempt(event, state)


def _tell_machine(event: ev.AnyEvent, state: RunState) -> tuple[str, str] | None:
    match event:
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
        case ev.ConnectionLost():
            return f"{_line_of(state, event.machine)} does not answer", event.why
        case ev.ConnectionRestored():
            return f"{_line_of(state, event.machine)} answers again", "what ran there went on"
        case ev.MachineAdopted():
            return (
                f"adopt {_name(state, event.machine)}",
                "it was still up when the run was resumed",
            )
        case ev.MachineDown(cause=cause) if cause != "released":
            return f"{_name(state, event.machine)} is gone ({cause})", event.why
    return None


def _line_of(state: RunState, machine: int) -> str:
    return _name(state, machine) if machine else "the Dask scheduler"


def _tell_attempt(event: ev.AnyEvent, state: RunState) -> tuple[str, str] | None:
    match event:
        case ev.AttemptStarted() if state.attempts_of(event.task):
            what = f"start a replica of task {event.task} on {_name(state, event.machine)}"
            return what, event.reason or _unexplained(state)
        case ev.AttemptStarted(reason=reason) if reason:
            return f"start task {event.task} on {_name(state, event.machine)}", reason
        case ev.CancelOrdered():
            task = state.attempts[event.attempt].task
            return f"cancel attempt {event.attempt} of task {task}", event.reason
    return None


def _for_work(event: ev.PlanEvent, state: RunState) -> str:
    """Which work it is for, where there are several."""
    return f" for work {event.work}" if len(state.work) > 1 else ""


def _tell_strategy(event: ev.StrategyChosen, state: RunState) -> str:
    if not event.makespan:
        return event.why
    cost = format_money(Money.nearest(event.cost), state.market.currency)
    return f"{event.why}; expected: {format_duration(event.makespan)} and {cost} more"


def _tell_scale(event: ev.ScaleDecided) -> tuple[str, str]:
    """The fleet that is wanted, and the figures behind it."""
    whose = f" for {event.account}" if event.account else ""
    seen = f"demand {event.demand}, supply {event.supply}"
    figures = "".join(f", {name} {value:.4g}" for name, value in event.inputs.items())
    fleet = {name: count for name, count in event.fleet.items() if count}
    what = f"scale{whose} to {format_fleet(fleet) if fleet else 'no machine'}"
    return what, f"{event.reason}; {seen}{figures}" if event.reason else f"{seen}{figures}"


def _changes(event: ev.GoalChanged | ev.RunResumed | ev.RetryRequested, state: RunState) -> str:
    if isinstance(event, ev.RetryRequested):
        return f"try {counted(len(event.tasks), 'failed task')} again"
    if isinstance(event, ev.RunResumed):
        return "run resumed"
    new, changes = event.goal, []
    if new.budgets() != state.goal.budgets():
        changes.append(f"budget is now {goal_money(new, state.market.currency)}")
    if new.deadline != state.goal.deadline and new.deadline is not None:
        changes.append(f"deadline is now {format_duration(new.deadline - state.begun)}")
    return ", ".join(changes) or "goal is unchanged"


def _unexplained(state: RunState) -> str:
    """A replica for which the policy has no word, such as one of a third party."""
    created = state.created
    entry = "none" if created is None else created.policies.get("replicator", "none")
    return f"by the replicator {entry}, which gives no reason"


def _name(state: RunState, machine: int) -> str:
    return state.machines[machine].name


def clock(at: Time) -> str:
    """Time since the run began, as `h:mm:ss`; the first minute as `4.7 s`."""
    if at < MINUTE:
        return f"{min(at / SECOND, 59.9):.1f} s"
    whole = at // SECOND
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"
