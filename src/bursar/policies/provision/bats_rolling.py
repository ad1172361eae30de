"""BaTS with a rolling plan: every machine's own paid time counts, and measuring is work.

The thesis (section 2.3.4) names what the published algorithm loses: the sampling phase, the last
tasks, and money that a better fleet could use. Here what the first machines do (`bats_start`) is
kept. Once they have shown enough, the plan of `bursar.plan.bag.rolling` says for every machine
whether it stays, and what else is rented; it is made again whenever paid time ends, an offer
becomes known, or a monitoring interval has passed.

A machine that the plan drops ends its tasks first where that costs less than to do them again, and
leaves at once when it has: with fine billing units no work is lost and no idle time is paid.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import ceil, inf, sqrt
from random import Random
from typing import Final

from bursar.beliefs.progress import Progress
from bursar.beliefs.survival import Survival
from bursar.engine.roles import Provisioner
from bursar.model.market import Offer
from bursar.model.money import Money, format_shortfall
from bursar.model.time import FOREVER, MINUTE, SECOND, Time, format_duration
from bursar.plan.bag.rolling import (
    RentableMachine,
    RollingPlan,
    plan_by,
    plan_frugally,
    plan_rest,
)
from bursar.policies.provision.bats_bound import MachineBounds, free_money, relied_on
from bursar.policies.provision.bats_start import first_rents, is_fine, offers_known
from bursar.policies.reconcile import Refunding, Target, give_back, reconcile
from bursar.state.actions import Extend, Release, Rent, Stop, Wake
from bursar.state.fleet_counts import IdleChanges
from bursar.state.view import Machine, View

MONITORING: Final = 5 * MINUTE
SHORTEST_MONITORING: Final = 2 * SECOND
PARTS: Final = 12
"""The monitoring interval is the shortest unit or run time over so many, between these two."""
LOOKS: Final = 60
"""It may be the time to the end over so many."""
MARGINS: Final = ((1.0, 1.05), (0.5, 1.05), (0.0, 1.15))
"""Standard deviations of what is left to do that are planned for beside it, and by how much that
may put off the end; the first possible."""
FINE_MARGINS: Final = ((2.0, inf),)
"""The same where machines can leave at any time ..."""
SPARED: Final = 2
"""... and else the part of the money above the least cost that a plan may use."""
CUSHION: Final = 1
"""Units that are kept for the last tasks ..."""
SMALLEST_PART: Final = 20
"""... if they cost at most one part in so many of the budget, else so much money."""
LIKELY: Final = 1.3
"""Standard deviations that make a deadline hold nine times in ten."""
HOPELESS: Final = 3.0
"""Standard errors by which run times may prove shorter before a run is given up."""


class RollingBats(Provisioner):
    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self._plans = 0
        """made so far"""
        self._idle = IdleChanges()
        self._refunding = Refunding()
        self._stays: dict[int, Time] = {}
        """by machine, until when the plan keeps it"""
        self._wanted: dict[str, int] = {}
        """by offer, machines that the plan rents now"""
        self._planned_at: Time | None = None
        self._planned_for = 0
        """tasks in the bag then; if there are more, some were lost with their machines"""
        self._known: frozenset[str] = frozenset()
        """offers whose run times the plan knew"""
        self._offers_known: frozenset[str] = frozenset()
        """offers of which enough is known; those of the plan are among them"""
        self._times: dict[str, Survival] = {}
        """by known offer, run times when the plan was made"""
        self._dropped: frozenset[int] = frozenset()
        """machines that the plan has no more work for"""
        self._given_up: frozenset[int] = frozenset()
        """machines whose tasks there is no money to end"""
        self._unused: set[int] = set()
        """machines that were idle at the last look, before tasks were placed, and got none"""
        self._next_look: Time = 0
        self._woken: Time = 0
        """the last look that was asked for"""
        self.plan: RollingPlan | None = None

    def look_again(self) -> None:
        """What the last plan counted on is not there: plan as soon as possible."""
        self._next_look = 0

    def began(self, machine: int) -> None:
        """A task was started on a machine."""
        self._unused.discard(machine)

    # --- the role --------------------------------------------------------------------------------

    def provision(
        self, view: View, now: Time, rng: Random
    ) -> Iterable[Rent | Release | Wake | Stop]:
        if not view.ready:
            if view.idle and not view.arrivals_open:
                return give_back(
                    view, self._idle.take(view), now, "idle, and nothing is left to start"
                )
            return ()
        known = self._known_offers(view, now)
        due = now >= self._next_look or (not view.machines and self._is_last_call(view, now))
        if due:
            self._next_look = now + self._interval(view, now)
        wakes = self._wakes(view)
        came_back = len(view.ready) > self._planned_for
        if not (due or came_back) and known == self._known and self._planned_at != now:
            return [*self._leave(view, now), *wakes]
        if not known:
            return [*first_rents(view, now), *wakes] if due else wakes
        if self._planned_at != now or came_back:
            self._replan(view, now)
        if too_late := self._too_late(view, now):
            return [Stop(too_late, status="deadline")]
        if hopeless := self._hopeless(view, now):
            return [Stop(hopeless)]
        return [*self._rents(view, now), *self._leave(view, now), *wakes]

    def _is_last_call(self, view: View, now: Time) -> bool:
        """Whether nobody asks again, or only because there is new money."""
        return view.goal.every is not None or self._woken <= now

    def _wakes(self, view: View) -> list[Wake]:
        """To look again in time; not where nothing is there, as then nothing would ever end."""
        if not view.machines or self._woken == self._next_look:
            return []
        self._woken = self._next_look
        return [Wake(self._next_look)]

    def renew(self, machine: Machine, view: View, now: Time) -> Extend | Release:
        if not (view.ready or any(relied_on(number, view) for number in machine.attempts)):
            return Release(machine.id, reason="nothing is left to do here")
        if not self._known_offers(view, now):
            return Extend(machine.id, reason="nothing is known yet")
        age = None if self._planned_at is None else now - self._planned_at
        if age is None or age > self._interval(view, now):
            self._replan(view, now)
        if machine.offer.name not in self._known and machine.attempts:
            return Extend(machine.id, reason="nothing is known yet of its offer")
        if self._stays.get(machine.id, machine.until) > machine.until:
            return Extend(machine.id, reason="the plan keeps it")
        if machine.up is None and machine.id not in self._stays and view.ready:
            return Extend(machine.id, reason="it boots, and was rented for the plan")
        if self._ends_here(machine, view, now):
            return Extend(machine.id, reason="finishing its tasks costs less than repeating them")
        return Release(machine.id, reason="it is not in the plan")

    def _ends_here(self, machine: Machine, view: View, now: Time) -> bool:
        if machine.offer.name not in self._known or machine.id in self._given_up:
            return False
        return self._bounds_now(view, now).bound(machine) > machine.until

    def _bounds_now(self, view: View, now: Time) -> MachineBounds:
        return MachineBounds(view, now, self._times, self._least(view))

    @property
    def plans(self) -> int:
        return self._plans

    def stays_until(self, machine: Machine) -> Time:
        """Until when the plan keeps a machine; one that can leave at any time ends its tasks."""
        stays = self._stays.get(machine.id, machine.until)
        if self._ends_tasks(machine.offer) and stays >= machine.until:
            return FOREVER
        return max(machine.until, stays)

    def _ends_tasks(self, offer: Offer) -> bool:
        """Whether units are so short that no machine leaves before its tasks have ended."""
        return offer.name in self._known and PARTS * offer.billing <= self._times[offer.name].mean

    def keeps_course(self, view: View, now: Time, allowance: float = 1.0) -> bool:
        """Whether the machines there do all tasks within money and time, as far as is known.

        With an allowance, so many times the money.
        """
        self._known = self._known_offers(view, now)
        if not self._known:
            return True
        self._times = self._survivals(view, now)
        self._plans += 1
        machines = [
            machine
            for machine in view.machines.values()
            if not machine.leaving and machine.offer.name in self._known
        ]
        bounds, self._given_up = self._bounds_now(view, now).bounds(machines)
        rows = [
            self._standing(machine, bound, view, now)
            for machine, bound in zip(machines, bounds, strict=True)
        ]
        deadline = view.goal.deadline
        money = allowance * free_money(machines, bounds, view)
        plan = plan_rest(rows, len(view.ready), money, now)
        return plan.covers and (deadline is None or plan.end <= deadline)

    # --- planning --------------------------------------------------------------------------------

    def _replan(self, view: View, now: Time) -> None:
        self._planned_at, self._planned_for = now, len(view.ready)
        self._known = self._known_offers(view, now)
        self._times = self._survivals(view, now)
        self._plans += 1
        machines = [
            machine
            for machine in view.machines.values()
            if not machine.leaving and not machine.marked and machine.offer.name in self._known
        ]
        bounds, self._given_up = self._bounds_now(view, now).bounds(machines)
        rows = [
            self._standing(machine, bound, view, now)
            for machine, bound in zip(machines, bounds, strict=True)
        ]
        rentable = self._rentable_machines(view, now)
        rows += [self._rentable_row(offer, count, view, now) for offer, count in rentable]
        money = free_money(machines, bounds, view)
        self.plan = plan = self._in_time(rows, view, money, now) or self._with_margin(
            rows, view, money, now
        )
        self._stays = {
            machine.id: bound + int(units) * machine.offer.billing
            for machine, bound, units in zip(machines, bounds, plan.units, strict=False)
        }
        self._dropped = frozenset(
            machine.id for machine, units in zip(machines, plan.units, strict=False) if not units
        )
        self._wanted = {}
        place = len(machines)
        for offer, count in rentable:
            wanted = int((plan.units[place : place + count] > 0).sum())
            place += count
            if wanted:
                self._wanted[offer.name] = wanted

    def _in_time(
        self, rows: list[RentableMachine], view: View, money: float, now: Time
    ) -> RollingPlan | None:
        """The cheapest plan that is likely to end by the deadline, if there is one and a way."""
        if view.goal.deadline is None:
            return None
        fastest = min(self._known, key=self._runtime)
        last = self._runtime(fastest) * (1 + LIKELY * self.progress.spread(fastest))
        tasks = len(view.ready) + LIKELY * self._doubt(view)
        return plan_by(rows, tasks, view.goal.deadline - last, money, now)

    def _with_margin(
        self, rows: list[RentableMachine], view: View, money: float, now: Time
    ) -> RollingPlan:
        """A plan with a margin and a cushion, where they do not put off the end by far.

        Where machines can leave at any time it may be put off: what proves not to be needed buys
        more of them later. Where the last tasks need the cushion, time no longer matters, but
        that they are done.
        """
        tasks, doubt = len(view.ready), self._doubt(view)
        plain = plan_rest(rows, tasks, money, now)
        if not plain.covers or view.ledger.budget is None:
            return plain
        kept = money - self._cushion(view)
        fine = all(self._ends_tasks(view.market[name]) for name in self._known)
        for margin, stretch in FINE_MARGINS if fine else MARGINS:
            safe = plan_rest(rows, tasks + margin * doubt, kept, now)
            if safe.covers and safe.end - now <= stretch * (plain.end - now):
                return safe
        if fine:
            least = plan_frugally(rows, tasks, money, now).cost
            return plan_rest(rows, tasks, least + (money - least) / SPARED, now)
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

    def _least(self, view: View) -> float:
        """What a task costs where it costs least, in billionths."""
        return min(_task_cost(view.market[name], self._times[name].mean) for name in self._known)

    def _standing(self, machine: Machine, bound: Time, view: View, now: Time) -> RentableMachine:
        offer = machine.offer
        times = self._times[offer.name]
        up = now + view.boot_left(machine, now)
        rests, lost = 0, 0
        for number in machine.attempts:
            rest = times.rest(now - view.attempts[number].started)
            lost += up + rest > bound and relied_on(number, view)
            rests += rest
        return RentableMachine(
            price=offer.price.nanos,
            unit=offer.billing,
            pace=times.mean / offer.slots,
            slots=offer.slots,
            until=bound,
            free=up + rests / offer.slots,
            under_way=lost,
        )

    def _rentable_machines(self, view: View, now: Time) -> list[tuple[Offer, int]]:
        """Machines that might be rented, and how many; none while a better offer may show."""
        if self._may_be_better(view, now):
            return []
        found: list[tuple[Offer, int]] = []
        slots = sum(machine.offer.slots for machine in view.machines.values())
        present = Counter(machine.offer.name for machine in view.machines.values())
        for offer in view.market.offers:
            if offer.name not in self._known:
                continue
            if len(view.ready) <= slots and self._ends_tasks(offer):
                continue  # the machines there end the last tasks: none would do more than one
            there = present[offer.name]
            room = -(-(len(view.ready) + len(view.attempts)) // offer.slots)
            if offer.limit is not None:
                room = min(room, offer.limit - there)
            if room > 0:
                found.append((offer, room))
        return found

    def _rentable_row(self, offer: Offer, count: int, view: View, now: Time) -> RentableMachine:
        return RentableMachine(
            price=offer.price.nanos,
            unit=offer.billing,
            pace=self._times[offer.name].mean / offer.slots,
            slots=offer.slots,
            until=now,
            free=now + view.boot_time(offer, now),
            least_units=offer.units(0),
            copies=count,
        )

    def _may_be_better(self, view: View, now: Time) -> bool:
        """Whether an offer without results may still prove the best value."""
        if view.ledger.budget is None:
            return False
        best = self._least(view)
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
        doubt = errors * self.progress.spread(offer) / sqrt(self.progress.of(offer).count)
        return self._times[offer].mean * max(0.1, 1 + doubt)

    def _survivals(self, view: View, now: Time) -> dict[str, Survival]:
        """By known offer, how long tasks take there.

        What is under way counts where units are fine. With long ones, who waits for it misses the
        time to rent; there the margin stands for it.
        """
        ages: dict[str, list[Time]] = {name: [] for name in self._known}
        for attempt in view.attempts.values():
            offer = attempt.machine.offer
            if offer.name in ages and is_fine(offer):
                ages[offer.name].append(now - attempt.started)
        return {name: self.progress.of(name).survival(young) for name, young in ages.items()}

    def _doubt(self, view: View) -> float:
        """By how many tasks a plan may be wrong: the standard deviation of what is left to do.

        Run times of the tasks left and of those under way vary, their mean is only estimated, and
        what a slot has under way at the end is anything between nothing and a task.
        """
        spread, seen = min(
            (self.progress.spread(name), self.progress.of(name).count) for name in self._known
        )
        slots = sum(machine.offer.slots for machine in view.machines.values())
        tasks = len(view.ready)
        vary = tasks * (1 + tasks / seen) + len(view.attempts)
        return sqrt(vary * spread**2 + slots / 12)

    def _known_offers(self, view: View, now: Time) -> frozenset[str]:
        """Offers of which enough is known; once it is, it stays so."""
        if len(self._offers_known) < len(view.market.offers):
            self._offers_known |= offers_known(view, self.progress, now)
        return self._offers_known

    def _interval(self, view: View, now: Time) -> Time:
        """Between two looks; with fine units, a part of a run time or of the time to the end."""
        if self.plan is None:
            return monitoring_interval(view)
        shortest = min(times.mean for times in self._times.values()) / PARTS
        rest = (self.plan.end - now) / LOOKS
        return max(monitoring_interval(view), min(MONITORING, round(max(shortest, rest))))

    # --- acting ----------------------------------------------------------------------------------

    def _rents(self, view: View, now: Time) -> list[Rent | Release]:
        wanted, self._wanted = self._wanted, {}
        fleet = {name: view.fleet.get(name, 0) + count for name, count in wanted.items()}
        return reconcile(view, Target(fleet=fleet, rent="the plan has more"), now)

    def _hopeless(self, view: View, now: Time) -> str | None:
        """Why the money is not enough, even if tasks prove to be as short as they may be.

        Where the budget is for each interval, the next one brings more.
        """
        left = view.ledger.left if view.goal.every is None else None
        if left is None or self.plan is None or self.plan.covers or self._may_be_better(view, now):
            return None
        shortest = {name: self._runtime(name, -HOPELESS) for name in self._known}
        cost = min(_task_cost(view.market[name], time) for name, time in shortest.items())
        there = [machine for machine in view.machines.values() if machine.offer.name in shortest]
        paid = sum(
            machine.offer.slots * ((machine.until - now) / shortest[machine.offer.name] + 1)
            for machine in there
        )
        need = Money(ceil(max(0.0, len(view.ready) - paid) * cost))
        if need <= left:
            return None
        needed, unspent, lacking = format_shortfall(need, left, view.market.currency)
        return (
            f"what is not started needs {needed} or more, {unspent} is left;"
            f" {lacking} more is the least that would do"
        )

    def _too_late(self, view: View, now: Time) -> str | None:
        """Why nothing can end by the deadline, even if tasks prove to be as short as they may be.

        Only said while most of the bag is left: what is nearly done is carried on with.
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
            f"what is not started takes all machines until {format_duration(end)} or longer;"
            f" the deadline is at {format_duration(deadline)}"
        )

    def _leave(self, view: View, now: Time) -> list[Release]:
        """Release at once what the plan drops or the placer had no task for, if that saves money.

        Called before tasks are placed: what was idle then, and still is, was passed over.
        """
        before, self._unused = self._unused, set(view.idle)
        refunding = self._refunding.look(view, now)
        if not refunding:
            return []
        known = [one for one in self._unused if one in refunding and one in self._stays]
        dropped = [number for number in known if number in self._dropped]
        passed_over = [
            number
            for number in known
            if number in before and number not in self._dropped
            if self._ends_tasks(view.machines[number].offer)
        ]
        return [
            *give_back(view, dropped, now, "it is not in the plan"),
            *give_back(view, passed_over, now, "other machines finish what is left"),
        ]


def _task_cost(offer: Offer, runtime: float) -> float:
    """What a task costs if all paid time is used, in billionths."""
    return offer.price.nanos * runtime / (offer.billing * offer.slots)


def monitoring_interval(view: View) -> Time:
    unit = min(offer.billing for offer in view.market.offers)
    return min(MONITORING, max(SHORTEST_MONITORING, unit // PARTS))
