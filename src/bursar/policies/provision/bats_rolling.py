"""BaTS with a rolling plan: every machine's own paid time counts, and measuring is work.

The thesis (section 2.3.4) names what the published algorithm loses: the sampling phase, the last
tasks, and money that a better fleet could use. Here the first machines are as many as a quarter of
the budget pays for; what they do is kept. As soon as results are there, the plan of
`bursar.plan.rolling` says for every machine whether it stays, and what else is rented; it is made
anew whenever paid time ends, an offer becomes known, or a monitoring interval has passed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import ceil, sqrt
from random import Random
from typing import Final

from bursar.actions import Extend, Release, Rent, Stop, Wake
from bursar.beliefs.progress import Progress
from bursar.model.market import Offer
from bursar.model.money import ZERO, Money, format_money
from bursar.model.time import MINUTE, SECOND, Time, format_duration
from bursar.model.wording import counted
from bursar.plan.rolling import (
    RollingPlan,
    Standing,
    plan_by,
    plan_frugally,
    plan_rest,
)
from bursar.policies.replicate.tail import is_live
from bursar.view import Machine, View

FIRST_SHARE: Final = 4
"""The first unit of the first machines costs at most one part in so many of the budget."""
ENOUGH: Final = 30
"""First machines of an offer whose units are so fine that they cost next to nothing: as they go on
until there are results, more of them would cost more than that share."""
FINE: Final = 1000
"""Units are fine if so many of them can be paid."""
MONITORING: Final = 5 * MINUTE
SHORTEST_MONITORING: Final = 2 * SECOND
PARTS_OF_A_UNIT: Final = 12
"""The monitoring interval is the shortest unit over so many, between these two."""
MARGINS: Final = ((1.0, 1.05), (0.5, 1.05), (0.0, 1.15))
"""Standard deviations of what is left to do that are planned for beside it, and by how much that
may put off the end; the first possible."""
CUSHION: Final = 1
"""Units that are kept for the last tasks ..."""
SMALLEST_PART: Final = 20
"""... if they cost at most one part in so many of the budget, else so much money."""
LIKELY: Final = 1.3
"""Standard deviations that make a deadline hold nine times in ten."""
FEW: Final = 5
"""Results without which no fleet is chosen for a deadline ..."""
EARLY: Final = 8
"""... unless one part in so many of the time has passed."""
CENT: Final = Money.parse("0.01").nanos
HOPELESS: Final = 3.0
"""Standard errors by which run times may prove shorter before a run is given up."""


class RollingBats:
    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self._stays: dict[int, Time] = {}
        """by machine, until when the plan keeps it"""
        self._wanted: dict[str, int] = {}
        """by offer, machines that the plan rents now"""
        self._planned_at: Time | None = None
        self._planned_for = 0
        """tasks in the bag then; if there are more, some were lost with their machines"""
        self._known: frozenset[str] = frozenset()
        """offers whose run times the plan knew"""
        self._next_look: Time = 0
        self._woken: Time = 0
        """the last look that was asked for"""
        self.plan: RollingPlan | None = None

    # --- the role --------------------------------------------------------------------------------

    def provision(
        self, view: View, now: Time, rng: Random
    ) -> Iterable[Rent | Release | Wake | Stop]:
        if not view.ready:
            return self._save(view, now) if view.idle and not view.arrivals_open else ()
        known = self._known_offers(view, now)
        due = now >= self._next_look
        if due:
            self._next_look = now + monitoring_interval(view)
        wakes = self._wakes(view)
        came_back = len(view.ready) > self._planned_for
        if not (due or came_back) and known == self._known and self._planned_at != now:
            return wakes
        if not known:
            return [*self._first(view), *wakes] if due else wakes
        if self._planned_at != now or came_back:
            self._replan(view, now)
        if too_late := self._too_late(view, now):
            return [Stop(too_late, status="deadline")]
        if hopeless := self._hopeless(view, now):
            return [Stop(hopeless)]
        return [*self._rents(view), *wakes]

    def _wakes(self, view: View) -> list[Wake]:
        """To look again in time; not where nothing is there, as then nothing would ever end."""
        if not view.machines or self._woken == self._next_look:
            return []
        self._woken = self._next_look
        return [Wake(self._next_look)]

    def renew(self, machine: Machine, view: View, now: Time) -> Extend | Release:
        if not (view.ready or any(_relied_on(number, view) for number in machine.attempts)):
            return Release(machine.id, reason="nothing is left to do here")
        if not self._known_offers(view, now):
            return Extend(machine.id, reason="nothing is known yet")
        age = None if self._planned_at is None else now - self._planned_at
        if age is None or age > monitoring_interval(view):
            self._replan(view, now)
        if self.stays_until(machine) > machine.until:
            return Extend(machine.id, reason="the plan keeps it")
        return Release(machine.id, reason="the plan does without it")

    def stays_until(self, machine: Machine) -> Time:
        """Until when the plan keeps a machine."""
        return max(machine.until, self._stays.get(machine.id, machine.until))

    def keeps_course(self, view: View, now: Time) -> bool:
        """Whether the machines there do all tasks within money and time, as far as is known."""
        self._known = self._known_offers(view, now)
        if not self._known:
            return True
        rows = [
            self._standing(machine, view, now)
            for machine in view.machines.values()
            if not machine.releasing and machine.offer.name in self._known
        ]
        left, deadline = view.ledger.left, view.goal.deadline
        money = float("inf") if left is None else float(left.nanos)
        plan = plan_rest(rows, len(view.ready), money, now)
        return plan.covers and (deadline is None or plan.end <= deadline)

    # --- the first machines ----------------------------------------------------------------------

    def _first(self, view: View) -> Iterator[Rent]:
        """Equal numbers of every offer, for a share of the budget and not more than the tasks.

        Where a deadline is the goal and money is to be saved, one of each.
        """
        offers = [offer for offer in view.market.offers if offer.limit != 0]
        budget = view.ledger.budget
        share = None if budget is None else Money(budget.nanos // FIRST_SHARE)
        if view.goal.deadline is not None:
            share = ZERO
        slots = len(view.ready)
        counts = dict.fromkeys((offer.name for offer in offers), 0)
        spent = view.ledger.committed
        for machine in view.machines.values():
            counts[machine.offer.name] += 1
            slots -= machine.offer.slots - len(machine.attempts)
        while offers and slots > 0:
            fewest = min(counts[offer.name] for offer in offers)
            offer = next(offer for offer in offers if counts[offer.name] == fewest)
            price = offer.entry_charge
            is_first = fewest == 0 and view.ledger.can_pay(price)
            is_full = offer.limit is not None and fewest >= offer.limit
            if _is_fine(offer, budget):
                is_full = is_full or fewest >= ENOUGH
            if is_full or not (share is None or spent + price <= share or is_first):
                offers.remove(offer)
                continue
            counts[offer.name] += 1
            slots -= offer.slots
            spent += price
            yield Rent(offer.name, reason="to learn how long tasks take")

    # --- planning --------------------------------------------------------------------------------

    def _replan(self, view: View, now: Time) -> None:
        self._planned_at, self._planned_for = now, len(view.ready)
        self._known = self._known_offers(view, now)
        machines = [
            machine
            for machine in view.machines.values()
            if not machine.releasing and not machine.marked and machine.offer.name in self._known
        ]
        rows = [self._standing(machine, view, now) for machine in machines]
        hires = self._hires(view, now)
        rows += [self._hire(offer, now) for offer in hires]
        left = view.ledger.left
        money = float("inf") if left is None else float(left.nanos)
        self.plan = plan = self._in_time(rows, view, money, now) or self._with_margin(
            rows, view, money, now
        )
        self._stays = {
            machine.id: machine.until + int(units) * machine.offer.billing
            for machine, units in zip(machines, plan.units, strict=False)
        }
        self._wanted = {}
        for offer, units in zip(hires, plan.units[len(machines) :], strict=True):
            if units:
                self._wanted[offer.name] = self._wanted.get(offer.name, 0) + 1

    def _in_time(
        self, rows: list[Standing], view: View, money: float, now: Time
    ) -> RollingPlan | None:
        """The cheapest plan that is likely to end by the deadline, if there is one and a way."""
        if view.goal.deadline is None:
            return None
        fastest = min(self._known, key=self._runtime)
        last = self._runtime(fastest) * (1 + LIKELY * self.progress.spread(fastest))
        tasks = len(view.ready) + LIKELY * self._doubt(view)
        return plan_by(rows, tasks, view.goal.deadline - last, money, now)

    def _with_margin(
        self, rows: list[Standing], view: View, money: float, now: Time
    ) -> RollingPlan:
        """A plan with a margin and a cushion, where they do not put off the end by far.

        Where the last tasks need the cushion, time no longer matters, but that they are done.
        """
        tasks, doubt = len(view.ready), self._doubt(view)
        plain = plan_rest(rows, tasks, money, now)
        if not plain.covers or view.ledger.budget is None:
            return plain
        kept = money - self._cushion(view)
        for margin, patience in MARGINS:
            safe = plan_rest(rows, tasks + margin * doubt, kept, now)
            if safe.covers and safe.end - now <= patience * (plain.end - now):
                return safe
        slots = sum(machine.offer.slots for machine in view.machines.values())
        return plan_frugally(rows, tasks, money, now) if tasks <= slots else plain

    def _cushion(self, view: View) -> float:
        """Delta-B: money for the last tasks, some units where a task costs least."""
        offer = min(
            (view.market[name] for name in self._known),
            key=lambda offer: _task_cost(offer, self._runtime(offer.name)),
        )
        budget = view.ledger.budget or Money(0)
        return float(min(CUSHION * offer.entry_charge.nanos, budget.nanos // SMALLEST_PART))

    def _standing(self, machine: Machine, view: View, now: Time) -> Standing:
        offer = machine.offer
        seen = self.progress.of(offer.name)
        up = max(now, machine.rented + offer.boot) if machine.up is None else now
        rests, lost = [], 0
        for number in machine.attempts:
            elapsed = now - view.attempts[number].started
            rest = max(0, seen.expected(elapsed) - elapsed)
            lost += up + rest >= machine.until and _relied_on(number, view)
            rests.append(rest)
        return Standing(
            price=offer.price.nanos,
            unit=offer.billing,
            pace=self._runtime(offer.name) / offer.slots,
            slots=offer.slots,
            until=machine.until,
            free=up + sum(rests) / offer.slots,
            under_way=lost,
        )

    def _hires(self, view: View, now: Time) -> list[Offer]:
        """Machines that might be rented, one entry each; none while a better offer may show."""
        if self._may_be_better(view, now):
            return []
        found: list[Offer] = []
        slots = sum(machine.offer.slots for machine in view.machines.values())
        for offer in view.market.offers:
            if offer.name not in self._known:
                continue
            if len(view.ready) <= slots and _is_fine(offer, view.ledger.budget):
                continue  # the machines there end the last tasks: none would do more than one
            there = sum(machine.offer.name == offer.name for machine in view.machines.values())
            room = -(-(len(view.ready) + len(view.attempts)) // offer.slots)
            if offer.limit is not None:
                room = min(room, offer.limit - there)
            found += [offer] * room
        return found

    def _hire(self, offer: Offer, now: Time) -> Standing:
        return Standing(
            price=offer.price.nanos,
            unit=offer.billing,
            pace=self._runtime(offer.name) / offer.slots,
            slots=offer.slots,
            until=now,
            free=now + offer.boot,
            least_units=offer.units(0),
        )

    def _may_be_better(self, view: View, now: Time) -> bool:
        """Whether an offer without results may still prove the best value."""
        if view.ledger.budget is None:
            return False
        best = min(_task_cost(view.market[name], self._runtime(name)) for name in self._known)
        oldest: dict[str, Time] = {}
        for attempt in view.attempts.values():
            name = attempt.machine.offer.name
            oldest[name] = min(oldest.get(name, attempt.started), attempt.started)
        return any(
            _task_cost(view.market[name], now - began) < best
            for name, began in oldest.items()
            if name not in self._known
        )

    def _runtime(self, offer: str, errors: float = 0.0) -> float:
        """The mean run time, longer by so many standard errors."""
        seen = self.progress.of(offer)
        doubt = errors * self.progress.spread(offer) / sqrt(seen.count)
        return seen.total / seen.count * max(0.1, 1 + doubt)

    def _doubt(self, view: View) -> float:
        """By how many tasks a plan may be wrong: the standard deviation of what is left to do.

        Run times of the tasks left vary, their mean is only estimated, and what a slot has under
        way at the end is anything between nothing and a task.
        """
        spread, seen = min(
            (self.progress.spread(name), self.progress.of(name).count) for name in self._known
        )
        slots = sum(machine.offer.slots for machine in view.machines.values())
        tasks = len(view.ready)
        return sqrt(tasks * spread**2 * (1 + tasks / seen) + slots / 12)

    def _known_offers(self, view: View, now: Time) -> frozenset[str]:
        """Offers with results; none while a deadline leaves time to wait for more of them."""
        counts = {
            offer.name: self.progress.of(offer.name).count
            for offer in view.market.offers
            if offer.limit != 0
        }
        deadline = view.goal.deadline
        if deadline is not None and now * EARLY < deadline and sum(counts.values()) < FEW:
            return frozenset()
        if self._may_wait(view, counts):
            return frozenset()
        return frozenset(name for name, count in counts.items() if count)

    def _may_wait(self, view: View, counts: Mapping[str, int]) -> bool:
        """Whether to wait for more results of some offer, as that costs little.

        The first to end are the shortest tasks; where units are fine and tasks many, the first
        machines go on until they have told enough, or as much as they will.
        """
        enough = ENOUGH * len(counts)
        fine = all(_is_fine(view.market[name], view.ledger.budget) for name in counts)
        if not fine or view.total <= 2 * enough or sum(counts.values()) >= 2 * enough:
            return False
        return min(counts.values()) < ENOUGH

    # --- acting ----------------------------------------------------------------------------------

    def _rents(self, view: View) -> list[Rent]:
        wanted, self._wanted = self._wanted, {}
        return [
            Rent(name, reason="the plan has more")
            for name, count in wanted.items()
            for _ in range(count)
        ]

    def _hopeless(self, view: View, now: Time) -> str | None:
        """Why the money cannot do, even if tasks prove to be as short as they may be."""
        left = view.ledger.left
        if left is None or self.plan is None or self.plan.covers or self._may_be_better(view, now):
            return None
        shortest = {name: self._runtime(name, -HOPELESS) for name in self._known}
        cost = min(_task_cost(view.market[name], time) for name, time in shortest.items())
        paid = sum(
            machine.offer.slots * ((machine.until - now) / shortest[machine.offer.name] + 1)
            for machine in view.machines.values()
            if machine.offer.name in shortest
        )
        need = Money(ceil(max(0.0, len(view.ready) - paid) * cost / CENT) * CENT)
        if need <= left:
            return None
        currency = view.market.currency
        return (
            f"{_left(view)}, which need {format_money(need, currency)} or more;"
            f" {format_money(left, currency)} is left"
        )

    def _too_late(self, view: View, now: Time) -> str | None:
        """Why nothing can end by the deadline, even if tasks prove to be as short as they may be.

        Only told while most of the bag is left: what is nearly done is carried on with.
        """
        deadline = view.goal.deadline
        if deadline is None or view.done + view.failed > len(view.ready):
            return None
        shortest = {name: self._runtime(name, -HOPELESS) for name in self._known}
        rate = sum(
            (view.total if (limit := view.market[name].limit) is None else limit)
            * view.market[name].slots
            / time
            for name, time in shortest.items()
        )
        end = now + round(len(view.ready) / rate)
        if len(self._known) < len(view.market.offers) or end <= deadline:
            return None
        return (
            f"{_left(view)}, which take all machines until {format_duration(end)} or longer;"
            f" the deadline is at {format_duration(deadline)}"
        )

    def _save(self, view: View, now: Time) -> list[Release]:
        """Release at once what is idle for good, where that gives money back."""
        return [
            Release(number, at_once=True, reason="idle, and nothing is left to start")
            for number in view.idle
            if not view.machines[number].attempts and view.machines[number].refunds(now)
        ]


def _task_cost(offer: Offer, runtime: float) -> float:
    """What a task costs if all paid time is used, in billionths."""
    return offer.price.nanos * runtime / (offer.billing * offer.slots)


def _is_fine(offer: Offer, budget: Money | None) -> bool:
    return budget is not None and offer.entry_charge.nanos * FINE < budget.nanos


def _left(view: View) -> str:
    tasks = view.total - view.done - view.failed
    return f"{counted(tasks, 'task')} {'is' if tasks == 1 else 'are'} left"


def _relied_on(number: int, view: View) -> bool:
    """Whether no other attempt of the same task has paid time for longer; replicas come second."""
    attempt = view.attempts[number]
    if attempt.measure:
        return True
    rivals = (view.attempts[other] for other in view.attempts_of(attempt.task))
    best = max(
        (rival for rival in rivals if is_live(rival)),
        key=lambda rival: (rival.machine.until, -rival.id),
        default=attempt,
    )
    return best is attempt


def monitoring_interval(view: View) -> Time:
    unit = min(offer.billing for offer in view.market.offers)
    return min(MONITORING, max(SHORTEST_MONITORING, unit // PARTS_OF_A_UNIT))
