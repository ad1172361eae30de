"""BaTS as published: the execution phase of the thesis, chapter 2 (figure 2.4).

The sampling phase runs on as many machines of every offer as the sample has tasks. Then the
knapsack chooses a fleet for the money that is left; every five minutes it is checked that the paid
and planned time does the tasks that are left, and if not another fleet is chosen.

Where the thesis is silent or at odds with itself, docs/policies.md says what is done here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from math import floor
from random import Random
from typing import Final

import msgspec

from bursar.beliefs.progress import MachineRecord, Progress
from bursar.engine.roles import Provisioner
from bursar.model.money import ZERO, Money, format_money
from bursar.model.time import MINUTE, Time
from bursar.plan.bag.knapsack import FleetChoice, fastest, fastest_within
from bursar.policies.reconcile import Target, give_back, give_up, reconcile
from bursar.state.actions import Extend, Release, Rent, Stop, Wake
from bursar.state.fleet_counts import IdleChanges
from bursar.state.view import Machine, View

MONITORING: Final = 5 * MINUTE
"""The least monitoring interval (section 2.2.3)."""
PARTS_OF_A_UNIT: Final = 12
"""The interval is the shortest billing unit over so many, where that is longer."""


class Cushion(msgspec.Struct, frozen=True):
    """What is kept aside for the last tasks (sections 3.1.5 and 3.2.1)."""

    tasks: int = 0
    """Delta-N: so many may exceed the plan before it is changed"""
    money: Money = ZERO
    """Delta-B: of the budget, but no configuration is bought with it"""


class Prospect(msgspec.Struct, frozen=True):
    """What one machine is expected to do in the unit in which its tasks under way end."""

    crossed: int
    """units that those tasks enter beyond the paid ones"""
    spare: float
    """delta: what is left of that unit; below zero where a marked machine is gone before"""
    speed: float
    """v: tasks in a microsecond"""

    @property
    def tasks(self) -> int:
        """ft: whole tasks that fit"""
        return floor(self.spare * self.speed) if self.spare >= 0 else 0


class PublishedBats(Provisioner):
    """With a schedule that the user has selected there is no sampling phase (figure 2.4)."""

    def __init__(
        self,
        progress: Progress,
        cushion: Cushion | None = None,
        selected: FleetChoice | None = None,
    ) -> None:
        self.progress = progress
        self.cushion = cushion or Cushion()
        self._selected = selected
        self.choice: FleetChoice | None = None
        """the configuration; None during the sampling phase"""
        self.first: FleetChoice | None = None
        """the configuration that the sampling phase led to"""
        self._plans = 0
        """made so far"""
        self._idle = IdleChanges()
        self._plan_ends: dict[int, Time] = {}
        """by machine, the end of its last planned unit"""
        self._next_look: Time = 0
        self._woken: Time = 0
        """the last look that was asked for"""

    def provision(
        self, view: View, now: Time, rng: Random
    ) -> Iterable[Rent | Release | Wake | Stop]:
        if not view.ready:
            if view.idle and not view.arrivals_open:
                return give_back(view, self._idle.take(view), now, "idle, and the bag is empty")
            return ()
        if self.choice is None and self._selected is not None:
            self.choice = self.first = self._selected
            self._plans += 1
            self._next_look = now + self._interval(view)
            return [*self._reach(view, self._selected.fleet, now), *self._wakes(view)]
        if self.choice is None and self._is_sampled(view):
            return [*self._configure(view, now), *self._wakes(view)]
        if now < self._next_look:
            return self._wakes(view)
        self._next_look = now + self._interval(view)
        if self.choice is None:
            return [*self._sample(view, now), *self._wakes(view)]
        if self.is_violated(view, now):
            return [*self._configure(view, now), *self._wakes(view)]
        return [*self._reach(view, self.choice.fleet, now), *self._wakes(view)]

    def _wakes(self, view: View) -> list[Wake]:
        """To look again in time; not where nothing is there, as then nothing would ever end."""
        if not view.machines or self._woken == self._next_look:
            return []
        self._woken = self._next_look
        return [Wake(self._next_look)]

    def renew(self, machine: Machine, view: View, now: Time) -> Extend | Release:
        if machine.attempts or view.ready:
            return Extend(machine.id, reason="the configuration has it")
        return Release(machine.id, reason="idle, and nothing is left to start")

    @property
    def plans(self) -> int:
        return self._plans

    def stays_until(self, machine: Machine) -> Time:
        """Until when the plan keeps a machine."""
        return machine.until if machine.marked else max(machine.until, self._plan_end(machine))

    # --- sampling --------------------------------------------------------------------------------

    def _is_sampled(self, view: View) -> bool:
        return all(
            self.progress.is_sampled(offer.name, view.total)
            for offer in view.market.offers
            if offer.limit != 0
        )

    def _sample(self, view: View, now: Time) -> list[Rent | Release | Wake | Stop]:
        """Initial workers: the smaller of a tenth of the bag and the sample, on every offer."""
        workers = max(1, min(view.total // 10, self.progress.sample_of(view.total)))
        return self._reach(view, {offer.name: workers for offer in view.market.offers}, now)

    # --- configuring -----------------------------------------------------------------------------

    def _configure(self, view: View, now: Time) -> list[Rent | Release | Wake | Stop]:
        """The fastest fleet for what is left, or the end where none can finish.

        Nothing changes while the time that is paid for does all tasks.
        """
        tasks = self.tasks_beyond_paid(view, now)
        if tasks <= 0:
            return []
        left = self._money_left(view, now)
        runtimes = self._runtimes(view, now)
        offers = view.market.offers
        if left is None:
            found: FleetChoice | None = fastest(offers, runtimes, tasks)
        else:
            found = fastest_within(offers, runtimes, tasks, left)
        if found is None:
            money = format_money(left or ZERO, view.market.currency)
            return [Stop(f"what is left of the bag costs more than the {money} that is left")]
        self.choice = found
        self._plans += 1
        self.first = self.first or found
        actions = self._reach(view, found.fleet, now)
        marked = {action.machine for action in actions if isinstance(action, Release)}
        self._plan_ends = {
            machine.id: machine.until
            + (self.prospect(machine, view, now).crossed + found.units[machine.offer.name])
            * machine.offer.billing
            for machine in _kept(view)
            if machine.id not in marked
        }
        return actions

    def _money_left(self, view: View, now: Time) -> Money | None:
        """What a configuration may cost: what is left, less the units that tasks under way will
        enter ("to estimate the cost of a task k still running we use again its tau_ke value",
        section 2.2.3), and without the cushion (section 3.2.1). None: there is no budget.
        """
        left = view.ledger.left
        if left is None:
            return None
        due = sum(
            (
                machine.offer.price * self.prospect(machine, view, now).crossed
                for machine in _kept(view)
            ),
            ZERO,
        )
        reserved = due + self.cushion.money
        return left - reserved if left > reserved else ZERO

    def _reach(
        self, view: View, fleet: Mapping[str, int], now: Time
    ) -> list[Rent | Release | Wake | Stop]:
        """Rent what the configuration has more, as far as there is work; mark what it has less."""
        have, ready = _counts(view), len(view.ready)
        target = Target(
            fleet={name: min(count, have.get(name, 0) + ready) for name, count in fleet.items()},
            rent="the configuration has more",
            release="the new configuration has fewer",
        )
        return [*reconcile(view, target, now), *give_up(view, fleet, now)]

    # --- monitoring ------------------------------------------------------------------------------

    def is_violated(self, view: View, now: Time) -> bool:
        """Whether N_e > N_p + Delta-N."""
        planned = self.tasks_planned(view, now)
        return self.tasks_beyond_paid(view, now) > planned + self.cushion.tasks

    def tasks_beyond_paid(self, view: View, now: Time) -> int:
        """N_e: tasks left in the bag once the time that is paid for has passed on each machine.

        What a marked machine has under way at its end comes back to the bag.
        """
        left = len(view.ready)
        for machine in _present(view):
            prospect = self.prospect(machine, view, now)
            left -= prospect.tasks
            if prospect.spare < 0:
                left += len(machine.attempts)
        return left

    def tasks_planned(self, view: View, now: Time) -> int:
        """N_p: tasks that the planned units after that do, with what is left over of it (eta)."""
        planned = 0
        for machine in _kept(view):
            prospect = self.prospect(machine, view, now)
            over = prospect.spare - prospect.tasks / prospect.speed
            reached = machine.until + prospect.crossed * machine.offer.billing
            further = max(0, self._plan_end(machine) - reached)
            planned += floor((further + over) * prospect.speed)
        return planned

    def _plan_end(self, machine: Machine) -> Time:
        """The end of the machine's last planned unit; one rented for the plan has all of them."""
        if machine.id not in self._plan_ends and self.choice is not None:
            units = self.choice.units.get(machine.offer.name, 0)
            self._plan_ends[machine.id] = machine.rented + units * machine.offer.billing
        return self._plan_ends.get(machine.id, machine.until)

    def prospect(self, machine: Machine, view: View, now: Time) -> Prospect:
        """Delta is ATU - up_e mod ATU: tasks under way may take a machine to a further unit, unless
        it is marked (section 2.2.3). The speed counts what is under way, too.
        """
        offer, seen = machine.offer, self.progress.of(machine.offer.name)
        record = self.progress.machines.get(machine.id, MachineRecord())
        elapsed = [now - view.attempts[number].started for number in machine.attempts]
        running = [max(1, seen.expected_by_sample(time)) for time in elapsed]
        done, time = record.tasks + len(running), record.time + sum(running)
        mean = time / done if done else self.progress.mean(offer.name) or HUGE
        begin = max(now, machine.rented + offer.boot)
        spare = machine.until - begin - (sum(running) - sum(elapsed)) / offer.slots
        crossed = 0
        if not machine.marked and spare <= 0:
            crossed = 1 + int(-spare // offer.billing)
        return Prospect(crossed, spare + crossed * offer.billing, offer.slots / mean)

    def _runtimes(self, view: View, now: Time) -> dict[str, Time | None]:
        elapsed: dict[str, list[Time]] = {}
        for attempt in view.attempts.values():
            elapsed.setdefault(attempt.machine.offer.name, []).append(now - attempt.started)
        return {
            offer.name: self.progress.mean(offer.name, elapsed.get(offer.name, ()))
            for offer in view.market.offers
        }

    def _interval(self, view: View) -> Time:
        unit = min(offer.billing for offer in view.market.offers)
        return max(MONITORING, unit // PARTS_OF_A_UNIT)


HUGE: Final = 1e18
"""The mean run time where nothing is known: a machine that does nothing."""


def _present(view: View) -> Iterator[Machine]:
    return (machine for machine in view.machines.values() if not machine.leaving)


def _kept(view: View) -> Iterator[Machine]:
    """Machines that are not to be released."""
    return (machine for machine in _present(view) if not machine.marked)


def _counts(view: View) -> Counter[str]:
    return Counter(machine.offer.name for machine in _kept(view))
