"""What the provisioner `frontier` knows at one moment: run times, and the fleet in groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from itertools import pairwise
from math import exp, inf, log, sqrt
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bursar.beliefs.bag_times import (
    ENOUGH,
    BagTimes,
    EndedWork,
    WorkPrior,
    learn,
    learn_speeds,
)
from bursar.beliefs.past import past_successes
from bursar.beliefs.past_tail import PastTail, tail_of
from bursar.model.past_runtimes import PastRuntimes
from bursar.model.time import SECOND, Time
from bursar.plan.bag.first_plan import PossibleMean
from bursar.plan.bag.known_fleet import KnownFleet, KnownRuntimes, fleet_of_market
from bursar.plan.bag.live_fleet import MachineGroups, WorkLeft
from bursar.policies.provision.likely_speeds import has_speeds, likely_speeds, price_of_slot
from bursar.policies.provision.standing_machines import GroupRow, StandingMachines
from bursar.policies.reconcile import is_refused
from bursar.state import events as ev
from bursar.state.run_times import RunTimes
from bursar.state.view import Attempt, Machine, View

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

BELIEVED: Final = 1.08
"""By how much a budget is above the least cost, as those think who give it."""
SPARING: Final = 1.15
"""The first machines are those that would do if it were above by so much: should it be more, there
is time to rent others, and what they cost is not missed should it be less ..."""
FIRST_DOUBT, FIRST_SPREAD = 0.02, 0.35
"""... if tasks vary as most do."""
SHARES: Final = (0.03, 0.1, 0.2, 0.35, 0.55, 0.75, 0.92)
"""Run times for which a first fleet is judged: such shares of those that are possible are longer.
Where the money hardly does, they are closer."""
DEADLINE_SHARE: Final = 10
"""Without a budget a task is believed to take one part in so many of the time."""
CONTRADICTED: Final = 3.5
"""Deviations of a mean by which results exceed what was said before."""
LONGEST: Final = 0.57
"""The longest of some is on average where so many of such longest are shorter."""


class BagBelief(RunTimes):
    """Run times of the tasks, as far as the run has shown them."""

    def __init__(
        self,
        runtime: Time | None = None,
        deviation: Time | None = None,
        history: PastRuntimes | None = None,
    ) -> None:
        """What somebody knows: a mean and a deviation, and the run times that these are of."""
        self._runtime, self._deviation, self._history = runtime, deviation, history
        self._prior: WorkPrior | None = None
        self.seen: dict[str, EndedWork] = {}
        """by offer, results"""
        self.count = 0
        """results"""
        self.times = BagTimes.lognormal(1.0, 1.0, 1.0, 0)
        self.speeds: dict[str, float] = {}
        self.doubts: dict[str, float] = {}
        self.are_speeds_given = True
        """whether the market tells speeds"""

    @property
    def is_known(self) -> bool:
        """Whether somebody knew run times before."""
        return self._runtime is not None

    @property
    def tail(self) -> PastTail | None:
        """How the longest of earlier tasks fall off; None where too few are known."""
        return None if self._history is None else tail_of(self._history)

    @property
    def known_tasks(self) -> int:
        """Tasks whose run times are known: those that ended, and earlier ones."""
        return self.count + (0 if self._history is None else self._history.count)

    @property
    def is_longer(self) -> bool:
        """Whether tasks prove to take longer than somebody said: those that end first are short."""
        if self._runtime is None or self._prior is None or self.count < ENOUGH:
            return False
        mean = sum(seen.total * self.speeds[name] for name, seen in self.seen.items()) / self.count
        chance = CONTRADICTED * (self._prior.spread or 0.0) / sqrt(self.count)
        return mean > self._prior.mean * (1 + chance)

    def afforded(self, view: View) -> Time:
        """Work of a task that the budget pays for on average; 0: it does not tell run times."""
        is_by_budget = self._runtime is None and view.ledger.budget is not None
        return round(self._prior.mean * BELIEVED * SECOND) if is_by_budget and self._prior else 0

    def first_fleet(self, view: View) -> KnownFleet:
        """The one for a bag and a budget of which nothing is spent, where run times are known."""
        assert self._runtime is not None and view.goal.budget is not None  # noqa: S101
        self._prior = self._first(view)
        self.speeds = {offer.name: offer.speed for offer in view.market.offers}
        self.times = learn(self._prior, {}, {}, self.speeds)
        known = KnownRuntimes(self._runtime, self._deviation, self._history)
        return fleet_of_market(view.market, len(view.ready), known, view.goal.budget)

    def saw(self, event: ev.AnyEvent, state: View) -> None:
        if isinstance(event, ev.AttemptEnded) and event.outcome == "success":
            name = state.machines[state.log.machine[event.attempt]].offer.name
            if name not in self.seen:
                self.seen[name] = EndedWork()
            self.seen[name].add(max(1, event.runtime) / SECOND)
            self.count += 1

    def saw_before(self, view: View) -> None:
        """Learn what happened before anybody watched."""
        for past in past_successes(view):
            self.seen[past.offer] = EndedWork.of(np.maximum(past.runtimes, 1) / SECOND)
        self.count = sum(seen.count for seen in self.seen.values())

    def learn(self, view: View, ages: Mapping[str, Floats]) -> None:
        """Renew what is believed; ages by offer, of attempts under way, in seconds."""
        if self._prior is None or not (self.count or self._runtime):
            self._prior = self._first(view)  # what the budget is believed to buy may be gone
        likely = likely_speeds(view.market)
        self.are_speeds_given = has_speeds(view.market)
        self.speeds, self.doubts = learn_speeds(
            likely,
            self.seen,
            self.times.spread,
            given=self.are_speeds_given,
            under_way=self._expected_of(ages),
        )
        is_known_work = self.count > 0 or self._runtime is not None or view.ledger.budget is None
        if is_known_work:
            self.times = learn(self._prior, self.seen, ages, self.speeds)
            if self.count and not self.are_speeds_given:
                self.times = self.times.more_doubtful(self._speed_doubt(ages))
        else:
            mean = self._prior.mean * BELIEVED / SPARING
            self.times = BagTimes.lognormal(mean, FIRST_DOUBT, FIRST_SPREAD, 0)
            # What the budget says of work is said of it on the offers that are best for it.
            self.doubts = dict.fromkeys(likely, 0.0)

    def _speed_doubt(self, ages: Mapping[str, Floats]) -> float:
        """By how much work is in doubt since what ended first may have ended on fast machines."""
        begun = {name: len(some) for name, some in ages.items()}
        for name, seen in self.seen.items():
            begun[name] = begun.get(name, 0) + seen.count
        total = sum(begun.values())
        return sum(count * self.doubts[name] for name, count in begun.items()) / total

    def possible(self) -> list[PossibleMean]:
        """Means that the budget leaves possible; none where somebody knows the mean."""
        if self._prior is None or self._runtime is not None:
            return []
        normal = NormalDist()
        edges = (0.0, *((one + other) / 2 for one, other in pairwise(SHARES)), 1.0)
        return [
            PossibleMean(
                self._prior.mean * exp(-self._prior.shorter * normal.inv_cdf((1 + share) / 2)),
                after - before,
            )
            for share, (before, after) in zip(SHARES, pairwise(edges), strict=True)
        ]

    def _expected_of(self, ages: Mapping[str, Floats]) -> dict[str, Floats]:
        """What attempts under way take in all, as it was believed so far, by offer in seconds."""
        if not (self.speeds and self.count):
            return {}
        return {
            name: some + self.times.rest(some * self.speeds[name]) / self.speeds[name]
            for name, some in ages.items()
            if len(some)
        }

    def _first(self, view: View) -> WorkPrior:
        if self._runtime is not None:
            deviation = self._runtime // 5 if self._deviation is None else self._deviation
            return WorkPrior.known(self._runtime / SECOND, deviation / SECOND, self._history)
        budget = view.ledger.budget
        if budget is not None:
            every, speeds = view.market.offers, likely_speeds(view.market)
            offers = [one for one in every if one.limit != 0] or every
            price = {one.name: price_of_slot(one) / speeds[one.name] for one in offers}
            sure = [price[one.name] for one in offers if one.pool == "reliable"]
            least = min(price.values())
            if least > 0:
                # Nobody knows whether it is meant for machines that may be taken away.
                between = log(min(sure, default=least) / least)
                mean = budget.nanos / (BELIEVED * view.total * least)
                return WorkPrior.of_budget(mean, between)
        until = view.goal.deadline or 3600 * SECOND
        return WorkPrior(until / SECOND / DEADLINE_SHARE, 1.5, 0.8)

    def expected(self, offer: str, elapsed: Time = 0, task: int = 0) -> Time | None:
        """What a task takes in all on an offer that has run for so long."""
        if not self.count or offer not in self.speeds:
            return None
        if not elapsed:
            return round(self.times.mean / self.speeds[offer] * SECOND)
        found = self.expected_each(offer, np.array([elapsed]), np.array([task]))
        return None if found is None else int(found[0])

    def expected_each(self, offer: str, elapsed: Integers, tasks: Integers) -> Integers | None:
        if not self.count or offer not in self.speeds:
            return None
        speed = self.speeds[offer]
        rest = self.times.rest(elapsed / SECOND * speed) / speed
        return elapsed + np.rint(rest * SECOND).astype(np.int64)


class FleetNow:
    """The machines in groups, and what is left to do; `look` first."""

    def __init__(self, belief: BagBelief) -> None:
        self._belief = belief
        self._members: list[list[Machine]] = []
        """by group, the machines that are there"""
        self.groups: MachineGroups
        self.left: WorkLeft
        self.speed_doubt: Floats

    def look(self, view: View, now: Time, dropped: AbstractSet[int]) -> None:
        offers = view.market.offers
        machines, places, started = under_way(view)
        ages = (now - started) / SECOND
        by_offer = {offer.name: ages[places == place] for place, offer in enumerate(offers)}
        self._belief.learn(view, by_offer)
        speeds = np.array([self._belief.speeds[offer.name] for offer in offers])
        done = ages * speeds[places]
        rest = self._belief.times.rest(done)
        longest = self._longest(machines, done)
        held, work = _by_machine(machines, longest / speeds[places], rest, _count(view))
        standing = StandingMachines(view, now)
        free, ending = standing.count(view.machines.values(), dropped, held)
        self._members = [group.members for group in standing.groups.values()]
        rows = standing.rows(held, work)
        is_kept = standing.has(machines, len(held))
        rows += _new_rows(view, now, self._belief)
        self.groups = _groups(rows, speeds)
        self.speed_doubt = np.array(
            [self._belief.doubts[offers[place].name] for place in self.groups.offer]
        )
        money = view.ledger.left
        self.left = WorkLeft(
            ready=len(view.ready),
            running=float(rest[is_kept].sum()),
            attempts=int(is_kept.sum()),
            money=inf if money is None else money.nanos + free - ending,
            deadline=inf if view.goal.deadline is None else (view.goal.deadline - now) / SECOND,
            elapsed=now / SECOND,
            spent=view.ledger.committed.nanos - free,
        )

    def _longest(self, machines: Integers, done: Floats) -> Floats:
        """What is left of attempts, as far as they are the longest of those of their machine."""
        if not len(machines):
            return done
        beside = np.bincount(machines)[machines]
        return self._belief.times.curve.rest_within(done, LONGEST ** (1 / beside))

    def dropped(self, fleet: Floats, view: View) -> set[int]:
        """Machines that a fleet has no more of: first those that boot, then those that do least."""
        found: set[int] = set()
        for members, count in zip(self._members, fleet.tolist(), strict=False):
            if len(members) > count:
                order = sorted(members, key=lambda one: (one.up is not None, len(one.attempts)))
                found.update(machine.id for machine in order[: len(members) - round(count)])
        return found

    def wanted(self, fleet: Floats, view: View) -> dict[str, int]:
        """New machines of a fleet by offer, the best value first."""
        found: Counter[str] = Counter()
        for place in np.flatnonzero(self.groups.is_new & (fleet > 0)):
            found[view.market.offers[self.groups.offer[place]].name] += round(fleet[place])
        return dict(found)

    def cheapest(self) -> float:
        """What is left costs at least so much where work costs least and nothing idles.

        In billionths; what fits the time that is paid for costs nothing more.
        """
        groups, times = self.groups, self._belief.times
        rate = groups.slots * groups.speed
        price = float(np.min(groups.price / groups.unit / rate))
        here = np.where(groups.is_new, 0.0, groups.room)
        paid = float(here @ (rate * np.maximum(0.0, groups.paid - groups.begin)))
        work = self.left.ready * times.mean + self.left.running
        return max(0.0, work - paid) * price


def _new_rows(view: View, now: Time, belief: BagBelief) -> list[GroupRow]:
    """Machines that might be rented; where nothing can be given back, those that can be paid."""
    found = []
    left = None if view.machines else view.ledger.left
    for place, offer in enumerate(view.market.offers):
        if left is not None and offer.entry_charge > left:
            continue
        room = -(-(len(view.ready) + len(view.attempts)) // offer.slots)
        if offer.limit is not None:
            room = min(room, offer.limit - view.fleet.get(offer.name, 0))
        if room <= 0 or is_refused(view, offer.name, now):
            continue
        paid = offer.paid_for(0) / SECOND
        found.append(GroupRow(offer, place, True, room, view.boot_time(offer, now) / SECOND, paid))
    return found


def _groups(rows: list[GroupRow], speeds: Floats) -> MachineGroups:
    def column(values: list[float]) -> Floats:
        return np.array(values, dtype=np.float64)

    places = np.array([row.place for row in rows], dtype=np.int64)
    return MachineGroups(
        offer=places,
        is_new=np.array([row.is_new for row in rows], dtype=np.bool_),
        room=column([row.room for row in rows]),
        slots=column([row.offer.slots for row in rows]),
        speed=speeds[places],
        begin=column([row.begin for row in rows]),
        price=column([row.offer.price.nanos for row in rows]),
        unit=column([row.offer.billing / SECOND for row in rows]),
        paid=column([row.paid for row in rows]),
        held=column([row.held for row in rows]),
        running=column([row.running for row in rows]),
    )


def under_way(view: View) -> tuple[Integers, Integers, Integers]:
    """Machines, places of offers and times of begin of what runs, in the order of the offers.

    A replica is no work of its own: it ends with the attempt that it repeats.
    """
    first: dict[int, Attempt] = {}
    for attempt in view.attempts.values():
        if not (attempt.cancelling or attempt.machine.releasing or attempt.task in first):
            first[attempt.task] = attempt
    attempts = first.values()
    place_of = {offer.name: place for place, offer in enumerate(view.market.offers)}
    places = np.array([place_of[one.machine.offer.name] for one in attempts], np.int64)
    machines = np.array([one.machine.id for one in attempts], np.int64)
    started = np.array([one.started for one in attempts], np.int64)
    order = places.argsort(kind="stable")
    return machines[order], places[order], started[order]


def _count(view: View) -> int:
    """Above the numbers of all machines, which are in the order in which they were rented."""
    return 1 + max(view.machines, default=0)


def _by_machine(
    machines: Integers, rests: Floats, work: Floats, count: int
) -> tuple[Floats, Floats]:
    """By machine, the longest of what is left there, and all the work that is; 0: nothing is."""
    longest, sums = np.zeros((2, count))
    np.maximum.at(longest, machines, rests)
    np.add.at(sums, machines, work)
    return longest, sums
