"""The frame of autoscalers that plan their interval within a budget: `plf` and `scf` (5.3).

    machines to rent (an entry's own) -> a plan on them and on those that are there -> lines

Only planned tasks start, by the placer `follow`; what arrives waits for the next interval. Idle
machines without a task in the plan leave when their paid time ends.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from random import Random
from typing import Final

from bursar.model.fleet import Fleet
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.text import counted
from bursar.model.time import MINUTE, Time
from bursar.policies.autoscaling import LEARNS_FROM, Autoscaler, Leaving, WantedFleet
from bursar.policies.interval_plan import IntervalPlan, PlannedLane, TimesOnOffers
from bursar.state import events as ev
from bursar.state.planned_lines import machine_line, machine_of, new_line
from bursar.state.task_status import RUNNING
from bursar.state.view import Machine, View
from bursar.state.work_index import CountedWork, WorkIndex

INTERVAL: Final[Time] = MINUTE
"""As in chapter 5, where it is the billing interval, too."""


class PlanningAutoscaler(Autoscaler):
    """An entry writes `to_rent` and `plan`."""

    def __init__(
        self,
        market: Market,
        fleet: Fleet | None = None,
        interval: Time = INTERVAL,
        *,
        release: Leaving = "paid",
    ) -> None:
        super().__init__(market, fleet, interval, release=release)
        self.known = TimesOnOffers(market, interval)
        self._index = WorkIndex()
        self._planned: dict[str, set[int]] = {}
        """by account, machines that have tasks in the plan"""

    @abstractmethod
    def to_rent(
        self, works: Sequence[CountedWork], view: View, now: Time, account: str
    ) -> Mapping[str, int]:
        """Machines to add by offer, within the budget and the limits."""

    @abstractmethod
    def plan(self, plan: IntervalPlan, works: Sequence[CountedWork], rng: Random) -> None:
        """Put tasks on lanes; those that run are there already."""

    def learns_from(self) -> Collection[type]:
        return LEARNS_FROM

    def saw(self, event: ev.AnyEvent, state: View) -> None:
        super().saw(event, state)
        if isinstance(event, ev.ScaleDecided):
            self._note_lines(event.account, event.lines)

    def _note_lines(self, account: str, lines: Mapping[str, Sequence[int]]) -> None:
        numbers = map(machine_of, lines)
        self._planned[account] = {number for number in numbers if number is not None}

    def wanted(self, view: View, now: Time, account: str, rng: Random) -> WantedFleet:
        self._index.look(view)
        self.known.keep(self._index.unsettled())
        works = [one for one in self._index.unsettled() if account in ("", one.owner)]
        there = [m for m in view.machines.values() if m.account == account and not m.leaving]
        new = self.to_rent(works, view, now, account)
        lanes = [*self._lanes(there, view, now), *self._new_lanes(new, view, now)]
        plan = IntervalPlan(view, self.known, self.interval, lanes)
        for work in works:
            for task in work.having(RUNNING):
                plan.running(task, self.known.left(task, view, now))
        self.plan(plan, works, rng)
        lines = plan.lines()
        self._note_lines(account, lines)
        kept = Counter(
            machine.offer.name
            for machine in there
            if machine.attempts or machine.up is None or machine.id in self._planned[account]
        )
        fleet = {o.name: kept[o.name] + new.get(o.name, 0) for o in self.market.offers}
        tasks = sum(len(line) for line in lines.values())
        reason = f"a plan of {counted(tasks, 'task')} for the next interval"
        inputs = {"planned": float(tasks), "new machines": float(sum(new.values()))}
        return WantedFleet(fleet, reason, inputs, lines)

    def _lanes(self, machines: Sequence[Machine], view: View, now: Time) -> Iterator[PlannedLane]:
        places = {offer.name: place for place, offer in enumerate(self.market.offers)}
        for machine in sorted(machines, key=lambda one: one.id):
            offer, line = machine.offer, machine_line(machine.id)
            ends = [self.known.left(view.attempts[one].task, view, now) for one in machine.attempts]
            begin = view.boot_left(machine, now)
            idle = [begin] * (offer.slots - len(ends))
            for free in (*ends, *idle):
                yield PlannedLane(line, places[offer.name], free, [])

    def _new_lanes(self, new: Mapping[str, int], view: View, now: Time) -> Iterator[PlannedLane]:
        for place, offer in enumerate(self.market.offers):
            boot = view.boot_time(offer, now)
            for number in range(1, new.get(offer.name, 0) + 1):
                for _ in range(offer.slots):
                    yield PlannedLane(new_line(offer.name, number), place, boot, [])

    def part_rented(self, offer: Offer) -> float:
        """All: the plan is for all of them, and nothing else starts."""
        return 1.0

    def keeps(self, machine: Machine) -> bool:
        return machine.id in self._planned.get(machine.account, ())

    def leaving_order(self, machine: Machine) -> tuple[Time, int]:
        """Those without a task in the plan first, then by the end of their paid time."""
        is_planned = machine.id in self._planned.get(machine.account, ())
        return (machine.until if not is_planned else machine.until + (1 << 60)), machine.id

    # --- money -----------------------------------------------------------------------------------

    def budget(self, view: View, account: str) -> Money | None:
        """What an account may spend in an interval of its budget; None: there is no such limit."""
        budget = view.goal.budgets().get(account)
        return None if budget is None else budget.amount

    def price(self, view: View, account: str, place: int) -> Money:
        """What a machine costs in an interval of the budget of an account."""
        budget = view.goal.budgets().get(account)
        every = self.interval if budget is None or budget.every is None else budget.every
        return self.market.offers[place].charge(every)

    def cost_of_fleet(self, view: View, account: str) -> Money:
        """What the machines of an account cost in an interval, if all of them stay."""
        return sum(
            (
                self.price(view, account, place) * self.machines(offer, account)
                for place, offer in enumerate(self.market.offers)
            ),
            Money(0),
        )

    def room(self, account: str) -> list[int | None]:
        """By offer, how many more machines an account can have; None: without limit."""
        found: list[int | None] = []
        for offer in self.market.offers:
            most = self.most(offer, account)
            found.append(None if most is None else max(0, most - self.machines(offer, account)))
        return found
