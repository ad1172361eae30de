"""`forecast`: asks an imagined execution with more machines how many of them would get a task.

As HyperQueue asks its scheduler about workers that it does not have. The execution goes to the end
of the next interval, counted from when a machine rented now would be up. Ready tasks begin in the
order of arrival, as with `backfill`, on slots that are there, or that are free again or have booted
by then; only what a new machine could begin clearly sooner asks for one. So nothing is rented for
work that is over before a machine is up, or that a slot takes a moment later, which `plan` does not
see. Needs run times. What a budget per interval does not pay is not rented; where it is spent on
few dear machines, and cheaper ones are free, those take their place (`cheaper_instead`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from heapq import heapify, heappop, heappush
from random import Random
from typing import Final

from bursar.model.fleet import Fleet
from bursar.model.market import Market
from bursar.model.time import Time
from bursar.policies.autoscaling import INTERVAL, Leaving, WantedFleet
from bursar.policies.cheaper_instead import cheaper_instead
from bursar.policies.provision.plan import PlanAhead
from bursar.state.actions import Extend, Release
from bursar.state.task_status import READY, RUNNING, WAITING
from bursar.state.view import Machine, View

NEVER: Final[Time] = 1 << 62
MOMENT: Final = 1 / 25
"""The part of an interval by which a new slot has to be sooner than one that is there."""

_Ready = tuple[Time, int, int]
"""when a task is ready, from now; the place of its work in the order of arrival; the task"""


class ForecastAhead(PlanAhead):
    """Executes the next interval in thought, with as many machines as help."""

    def __init__(
        self,
        market: Market,
        fleet: Fleet | None = None,
        interval: Time = INTERVAL,
        *,
        release: Leaving = "paid",
    ) -> None:
        super().__init__(market, fleet, interval, release=release)
        self._given_up: dict[str, frozenset[int]] = {}
        """by account, busy machines that leave for cheaper ones when their paid time ends"""

    def wanted(self, view: View, now: Time, account: str, rng: Random) -> WantedFleet:
        self._index.look(view)
        imagined = _Imagined(self, view, now, account)
        slots = imagined.used()
        return WantedFleet(
            self.fleet_of(slots, account),
            "the slots that get a task before the next interval ends, if more machines boot now",
            {"target": float(slots), "new": float(imagined.new)},
        )

    def renew(self, machine: Machine, view: View, now: Time) -> Extend | Release:
        self.decide_before_paying(view, now)
        if machine.id in self._given_up.get(machine.account, ()):
            return Release(machine.id, reason="dear: its money pays more machines that cost less")
        return super().renew(machine, view, now)

    def payable(
        self, view: View, now: Time, account: str, fleet: Mapping[str, int]
    ) -> dict[str, int]:
        first = super().payable(view, now, account, fleet)
        own = (one for one in view.machines.values() if one.account == account)
        is_limited = view.ledger.left_of(account, now) is not None
        found = cheaper_instead(view, now, own if is_limited else (), fleet, first, self.interval)
        self._given_up[account] = found.given_up
        return found.fleet

    def undone(self, account: str, status: int) -> Iterator[tuple[int, int]]:
        """Tasks of an account in this status, each after the place of its work by arrival."""
        for place, work in enumerate(self._index.unsettled()):
            if not account or work.owner == account:
                yield from ((place, task) for task in work.having(status))


class _Imagined:
    """One execution in thought; times are from now."""

    def __init__(self, entry: ForecastAhead, view: View, now: Time, account: str) -> None:
        self._entry, self._view = entry, view
        self._boot = min(view.boot_time(offer, now) for offer in entry.market.offers)
        self._end = self._boot + entry.interval
        self._moment = int(MOMENT * entry.interval)
        self._size = entry.size(account)
        self._ends: dict[int, Time] = {}
        """by task that runs, or that was given a slot"""
        self._missing: dict[int, int] = {}
        """by task, how many of those that it needs have no end yet; those met so far"""
        self._at: dict[int, Time] = {}
        """by task, when the last of those that it needs ends, as far as that is known"""
        running = {task: place for place, task in entry.undone(account, RUNNING)}
        for task in running:
            self._ends[task] = entry.left_of(task, view, now)
        free = [*self._ends.values(), *_free_slots(view, now, account)]
        self._slots = [(at, number) for number, at in enumerate(free)]
        """when each is free, and its number; those that are busy now come first"""
        self._used = set(range(len(self._ends)))
        self._there = self._count = len(free)
        self._ready: list[_Ready] = [(0, *one) for one in entry.undone(account, READY)]
        for task, place in running.items():
            self._ready += self._after(task, place)
        heapify(self._slots)
        heapify(self._ready)

    @property
    def new(self) -> int:
        """Slots that are used and are not there yet."""
        return self._count - self._there

    def used(self) -> int:
        """Execute it; the slots that are busy at any moment."""
        while self._ready:
            at, place, task = heappop(self._ready)
            if task in self._ends:
                continue
            begin = self._begin(at, task)
            if begin is not None:
                for one in self._after(task, place):
                    heappush(self._ready, one)
        return len(self._used)

    def _begin(self, at: Time, task: int) -> Time | None:
        """Give a task that is ready by then a slot; None: none of them before the end."""
        soonest = max(at, self._slots[0][0] if self._slots else NEVER)
        with_new = max(at, self._boot)
        is_full = self._size is not None and self._count >= self._size
        is_soon = soonest <= with_new + self._moment
        begin = soonest if is_full or is_soon else with_new
        if begin >= self._end:
            return None
        if begin == soonest:
            number = heappop(self._slots)[1]
        else:
            number = self._count
            self._count += 1
        self._used.add(number)
        self._ends[task] = begin + self._entry.takes_of(task, self._view)
        heappush(self._slots, (self._ends[task], number))
        return begin

    def _after(self, task: int, place: int) -> Iterator[_Ready]:
        """Children of which all parents have an end in thought, if that is soon enough.

        Asked once for each task, after it got its end.
        """
        status, precedence, end = self._view.status, self._view.precedence, self._ends[task]
        for child in precedence.children(task):
            left = self._missing[child] if child in self._missing else precedence.missing(child)
            self._missing[child] = left - 1
            self._at[child] = max(self._at.get(child, 0), end)
            if left == 1 and status[child] == WAITING and self._at[child] < self._end:
                yield self._at[child], place, child


def _free_slots(view: View, now: Time, account: str) -> Iterator[Time]:
    """When slots of an account that are not busy can begin a task: at once, or after a boot."""
    for machine in view.machines.values():
        if machine.account == account and not machine.leaving:
            begin = view.boot_left(machine, now)
            for _ in range(machine.offer.slots - len(machine.attempts)):
                yield begin
