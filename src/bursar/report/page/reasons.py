"""Why: decisions of a run in groups of one kind, offer and reason, told without a state.

`bursar why` tells every decision. A page shows what kinds of decisions there were, how often and
when; reasons that differ in numbers only are one, and the last is shown.
"""

from __future__ import annotations

import re
from array import array
from typing import Final, Literal

import msgspec
import numpy as np

from bursar.model.errors import one_line
from bursar.model.fleet import format_fleet
from bursar.model.goal import Goal
from bursar.model.text import counted, cut
from bursar.model.time import Time
from bursar.report.page.machine_log import MachineLog
from bursar.report.page.numbers import SPACE, amount, duration, moment, price
from bursar.report.summary import STATUS_TEXT, goal_money
from bursar.state import events as ev

Kind = Literal[
    "run",
    "plan",
    "rent",
    "keep",
    "release",
    "lost",
    "replica",
    "start",
    "cancel",
    "scale",
    "refused",
]
BINS: Final = 60
"""of the strip that shows when"""
MOST_GROUPS: Final = 200
"""shown, the latest"""
_NUMBER: Final = re.compile(r"\d+(\.\d+)?")


class WhyGroup(msgspec.Struct, frozen=True):
    """Equal decisions for an equal reason."""

    kind: Kind
    what: str
    why: str
    count: int
    first: str
    last: str
    """moments, `h:mm:ss`"""
    strip: list[int]
    """how many in each part of the time of the run"""


class _ReasonGroup:
    __slots__ = ("kind", "times", "what", "why")

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.times = array("q")
        self.what = ""
        self.why = ""


class Reasons:
    """Sees the events of a run in their order, and keeps what was decided in groups."""

    def __init__(self, machines: MachineLog) -> None:
        self._machines = machines
        self._groups: dict[tuple[str, str, str], _ReasonGroup] = {}
        self._goal = Goal()
        self._prices: dict[str, str] = {}
        """by offer, as texts: thousands of machines have the same"""
        self.total = 0

    def saw(self, event: ev.AnyEvent) -> None:
        """After the log of machines saw it."""
        found = self._tell_run(event) or self._tell_machine(event)
        if isinstance(event, ev.RunCreated | ev.GoalChanged):
            self._goal = event.goal
        if found is None:
            return
        kind, what, why = found
        key = (kind, what, _NUMBER.sub("0", why))
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = _ReasonGroup(kind)
        group.times.append(event.at)
        group.what, group.why = what, why
        self.total += 1

    def groups(self, now: Time) -> list[WhyGroup]:
        """The latest first."""
        latest = sorted(self._groups.values(), key=lambda one: one.times[-1])[::-1]
        return [self._shown(one, now) for one in latest[:MOST_GROUPS]]

    def _shown(self, group: _ReasonGroup, now: Time) -> WhyGroup:
        places = np.minimum(np.array(group.times) * BINS // max(1, now), BINS - 1)
        return WhyGroup(
            kind=group.kind,
            what=cut(group.what.replace("\0", f"{len(group.times):,}"), 200),
            why=cut(one_line(group.why.replace(SPACE, " ")), 300),
            count=len(group.times),
            first=moment(group.times[0]),
            last=moment(group.times[-1]),
            strip=np.bincount(places, minlength=BINS).tolist(),
        )

    # --- what is said of an event; \0 stands for the number of such -------------------------------

    def _tell_run(self, event: ev.AnyEvent) -> tuple[Kind, str, str] | None:
        currency = self._machines.market.currency
        match event:
            case ev.RunCreated():
                roles = ", ".join(f"{role} {entry}" for role, entry in event.policies.items())
                money = goal_money(event.goal, event.market.currency)
                return "run", "run created", "; ".join(part for part in (money, roles) if part)
            case ev.GoalChanged():
                return "run", self._new_goal(event.goal), "requested"
            case ev.RunResumed():
                return "run", "run resumed", "requested"
            case ev.RetryRequested():
                return "run", f"try {counted(len(event.tasks), 'failed task')} again", "requested"
            case ev.StopRequested():
                what = "stop at once" if event.now else "stop after the running tasks"
                return "run", what, event.why
            case ev.RunEnded():
                return "run", f"run ended: {STATUS_TEXT[event.status]}", event.why
            case ev.WorkCancelled():
                return "run", f"work {event.work} is cancelled", event.why
            case ev.PriorityChanged():
                return "run", f"work {event.work} has priority {event.priority}", "requested"
            case ev.BudgetRefilled():
                whose = f" of {event.account}" if event.account else ""
                return "run", f"a new interval of the budget{whose}", ""
            case ev.PlanChosen():
                most = amount(event.cost_upper, currency)
                promise = f"{duration(event.makespan_upper)} and {most} at most"
                return "plan", f"plan '{event.name}' chosen: {format_fleet(event.fleet)}", promise
            case ev.AssignmentChanged():
                return "plan", f"plan changed: {format_fleet(event.fleet)} at most", event.why
            case ev.StrategyChosen():
                if event.strategy.is_interim:
                    return "plan", "both pools until the tail", event.why
                return "plan", f"tail begins: {event.strategy}", event.why
            case ev.ScaleDecided():
                fleet = {name: count for name, count in event.fleet.items() if count}
                what = f"scale to {format_fleet(fleet) if fleet else 'no machine'}"
                return "scale", what, event.reason
            case ev.ActionRefused():
                return "refused", f"refused ×\0: {event.action}", event.why
        return None

    def _tell_machine(self, event: ev.AnyEvent) -> tuple[Kind, str, str] | None:
        machines = self._machines
        match event:
            case ev.MachineRented():
                what = f"+\0 {event.offer} at {self._price(event.offer)}"
                return "rent", what, event.reason
            case ev.LeaseExtended(reason=reason, machine=machine) if reason:
                return "keep", f"keep {machines.offer_of(machine).name} ×\0", reason
            case ev.ReleaseMarked(machine=machine):
                offer_name = machines.offer_of(machine).name
                what = f"release \0 {offer_name} when the paid time ends"
                return "release", what, event.reason
            case ev.ReleaseOrdered(machine=machine):
                return "release", f"−\0 {machines.offer_of(machine).name}", event.reason
            case ev.LossAnnounced(machine=machine):
                what = f"{machines.offer_of(machine).name}: \0 will be taken away"
                return "lost", what, f"announced {duration(event.gone - event.at)} ahead"
            case ev.ConnectionLost(machine=machine):
                return "lost", f"{_line_of(machines, machine)}: \0 not answering", event.why
            case ev.ConnectionRestored(machine=machine):
                what = f"{_line_of(machines, machine)}: \0 answering again"
                return "run", what, "what ran there went on"
            case ev.MachineAdopted(machine=machine):
                what = f"adopt \0 {machines.offer_of(machine).name}"
                return "run", what, "still up when the run was resumed"
            case ev.MachineDown(machine=machine, cause=cause) if cause != "released":
                name = machines.offer_of(machine).name
                gone = {"lost": "taken away", "expired": "ended with the paid time"}
                return "lost", f"{name}: \0 {gone.get(cause, 'not available')}", event.why
            case ev.AttemptStarted(reason=reason, machine=machine) if reason:
                return "replica", f"\0 attempts on {machines.offer_of(machine).name}", reason
            case ev.CancelOrdered():
                return "cancel", "cancel \0 attempts", event.reason
        return None

    def _price(self, offer: str) -> str:
        text = self._prices.get(offer)
        if text is None:
            market = self._machines.market
            text = self._prices[offer] = price(market[offer], market.currency)
        return text

    def _new_goal(self, new: Goal) -> str:
        currency, changes = self._machines.market.currency, []
        if new.budgets() != self._goal.budgets():
            changes.append(f"budget is now {goal_money(new, currency)}")
        if new.deadline != self._goal.deadline and new.deadline is not None:
            changes.append(f"deadline is now {moment(new.deadline)}")
        return ", ".join(changes) or "goal is unchanged"


def _line_of(machines: MachineLog, machine: int) -> str:
    return machines.offer_of(machine).name if machine else "the Dask scheduler"
