"""The last tasks of a bag: which machines are too dear to be held until their tasks have ended.

Once no task is ready, a machine stays until the longest of its tasks has ended, and all its slots
are paid for. One long task on a machine of 64 slots may cost more than all that is left. Begun
again on a small machine it costs a fraction, but takes longer: what was done is lost. So a machine
is held as long as the money that is left also pays for that, and released before it does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.model.market import Offer
from bursar.model.time import SECOND, Time, seconds
from bursar.plan.bag.live_plan import PRICE_OF_CHANCE
from bursar.policies.provision.frontier_state import BagBelief, under_way
from bursar.policies.provision.standing_machines import refund_of
from bursar.policies.reconcile import Target, is_refused, reconcile
from bursar.state.actions import Release, Rent, Wake
from bursar.state.view import Machine, View

Floats = NDArray[np.float64]

LIKELY: Final = 0.95
"""Money is kept for what all machines together do not exceed this often."""
DRAWS: Final = 64
"""Ends of the tasks that run by which that is judged ..."""
MOST_ENDS: Final = 20_000
"""... fewer where many run."""
OLD, FEW, FALLS = 2.0, 5.0, 6.4
"""A task is no longer like any other that is older than this many average tasks and than all but
so few of those that are known, which hardly tell when it ends. What it takes is at least Pareto
with this exponent from its age on: it exceeds that by 60 % once in twenty times. Where many earlier
tasks are known, the longest of them tell both."""
CHECKS: Final = 4
"""Times that are looked at in the time of an average task."""
SOONEST: Final = 2 * SECOND
"""No look comes sooner after another."""


class Held(msgspec.Struct, frozen=True, eq=False):
    """A machine that is held by its last tasks."""

    machine: Machine
    tasks: int
    works: Floats
    """that its longest task has in all, draw by draw, at speed 1; in seconds"""
    costs: Floats
    """until its tasks have ended, beyond what is paid, draw by draw; in billionths"""
    stays: Floats
    """until its tasks have ended, draw by draw; in seconds"""

    @property
    def price(self) -> float:
        """Billionths for a second."""
        offer = self.machine.offer
        return offer.price.nanos * SECOND / offer.billing

    def paid_until(self, now: Time) -> Time:
        """When its unit ends: until then it costs nothing more."""
        rented, offer = self.machine.rented, self.machine.offer
        return rented + offer.paid_for(now - rented + 1)


class Restart(msgspec.Struct, frozen=True, eq=False):
    """The cheapest machines on which some tasks can be begun again."""

    offer: Offer
    count: int
    costs: Floats
    """draw by draw, in billionths"""
    stays: Floats
    """until they have ended, draw by draw; in seconds"""
    cost: float
    """as far as is likely"""
    growth: float
    """billionths by which it costs more if they begin a second later, as they are older then"""


class LastLook(msgspec.Struct, frozen=True):
    """What to do with machines that are held by the last tasks."""

    again: Time
    """when to look again"""
    released: tuple[int, ...] = ()
    """machines whose tasks are begun again elsewhere ..."""
    restart: Restart | None = None
    """... and where"""


class LastTasks:
    """Follows the machines that the last tasks hold, and tasks that begin again elsewhere."""

    def __init__(self, belief: BagBelief) -> None:
        self._belief = belief
        self._next_look: Time = 0
        self._restart: Restart | None = None
        """where tasks begin again whose machine was released; None: there are none"""
        self._is_rented = False
        """whether that was rented, and the tasks wait for it"""

    def look_now(self) -> None:
        """The last task has just begun: look at the next question."""
        self._next_look = 0

    def hold(self, view: View, now: Time) -> list[Release | Wake]:
        """No task is ready: let go of machines that cost too much until their tasks end."""
        if self._is_rented:  # they have begun
            self._restart, self._is_rented = None, False
        if now < self._next_look or view.ledger.budget is None or not view.attempts:
            return []
        look = look_at_last(view, now, self._belief, money_to_spend(view, now))
        self._next_look, self._restart = look.again, look.restart
        why = "the money would not last until its tasks end: they begin again on a smaller machine"
        return [
            *(Release(number, at_once=True, reason=why) for number in look.released),
            Wake(look.again),
        ]

    def begin_again(self, view: View, now: Time) -> Sequence[Rent | Release] | None:
        """Some tasks are ready: rent what those need whose machine was released, and wait for it.

        None: there are none, or that machine cannot be paid or was lost, so that a plan must do.
        """
        if self._restart is None or view.arrivals_open:
            return None
        name, have = self._restart.offer.name, view.fleet.get(self._restart.offer.name, 0)
        if self._is_rented and have:
            return ()
        if not self._is_rented:
            why = "for long tasks that held a machine which costs more"
            target = Target(fleet={name: have + self._restart.count}, rent=why)
            if rented := reconcile(view, target, now):
                self._is_rented = True
                return rented
        self._restart, self._is_rented = None, False
        return None


def look_at_last(view: View, now: Time, belief: BagBelief, money: float) -> LastLook:
    """Compare what the last tasks cost where they are with what they would cost elsewhere.

    `money` is what may still be spent beyond what machines have used by now.
    """
    attempts = _Attempts(view, now, belief)
    between = max(SOONEST, seconds(belief.times.mean / CHECKS))
    if not len(attempts.done) or attempts.most_cost() <= money:
        return LastLook(now + between)
    held = attempts.held()
    if _likely_cost(held) <= money:
        return LastLook(now + between)
    leaving, restart = _cheapest(view, now, held, money)
    if restart is None:
        return LastLook(now + between)
    others = _without(held, leaving)
    stay = _chance(held, money), now / SECOND + _end(held)
    move = _chance(others, money, restart), now / SECOND + _end(others, restart)
    if not _is_better(move, stay, is_known=belief.is_known):
        return LastLook(now + between)
    needed = _likely_cost(others) + restart.cost
    growth = restart.growth + sum(one.price for one in leaving)
    spare = round((money - needed) / growth * SECOND)
    paid = min(one.paid_until(now) for one in leaving) - now
    if max(spare, paid) > SOONEST:
        return LastLook(now + max(SOONEST, min(between, max(spare, paid) - SOONEST)))
    return LastLook(now + between, tuple(one.machine.id for one in leaving), restart)


def _likely_cost(held: Sequence[Held]) -> float:
    """What machines cost together until their tasks have ended, as far as is likely.

    Not all of them have a very long task at once: so it is less than what each may cost.
    """
    return float(np.quantile(_total(held), LIKELY)) if held else 0.0


def _total(held: Sequence[Held]) -> Floats:
    """What machines cost together until their tasks have ended, draw by draw."""
    found: Floats = np.sum([one.costs for one in held], axis=0) if held else np.zeros(1)
    return found


def _chance(held: Sequence[Held], money: float, *more: Restart) -> float:
    """How likely it is that machines, and those on which tasks begin again, cost no more."""
    costs = _total(held) + sum(one.costs for one in more)
    return float(np.mean(costs <= money))


def _end(held: Sequence[Held], *more: Restart) -> float:
    """When the last of their tasks ends, half of the time; in seconds from now."""
    stays = [*(one.stays for one in held), *(one.stays for one in more)]
    return float(np.median(np.max(stays, axis=0)))


def _is_better(move: tuple[float, float], stay: tuple[float, float], *, is_known: bool) -> bool:
    """Whether tasks should begin again elsewhere, by the chance that money does and by the end.

    They end much later then: where run times are known, only a chance that is clearly better is
    worth that. Where they are only believed, the end is too much in doubt to count.
    """
    if not (is_known and move[0] and stay[0]):
        return move[0] > stay[0]
    return log(move[1] / stay[1]) < PRICE_OF_CHANCE * log(move[0] / stay[0])


def _without(held: Sequence[Held], leaving: Sequence[Held]) -> list[Held]:
    gone = {one.machine.id for one in leaving}
    return [one for one in held if one.machine.id not in gone]


def _cheapest(
    view: View, now: Time, held: Sequence[Held], money: float
) -> tuple[list[Held], Restart | None]:
    """The machines to release, as few as the money allows, and where their tasks go."""
    each = {one.machine.id: _likely_cost([one]) for one in held}
    rest, works = _total(held), np.zeros(len(held[0].works))
    leaving: list[Held] = []
    best: Restart | None = None
    tasks, speed = 0, 0.0
    for one in sorted(held, key=lambda one: -each[one.machine.id]):
        tasks, works = tasks + one.tasks, np.maximum(works, one.works)
        speed = max(speed, one.machine.offer.speed)
        restart = _restart(view, now, tasks, works, speed)
        before = best.cost if best is not None else 0.0
        if restart is None or restart.cost - before >= each[one.machine.id]:
            break
        leaving.append(one)
        best, rest = restart, rest - one.costs
        if float(np.quantile(rest, LIKELY)) + best.cost <= money:
            break
    return leaving, best


def _restart(view: View, now: Time, tasks: int, works: Floats, speed: float) -> Restart | None:
    """The cheapest machines for tasks of others; None: there are none.

    `works` has the longest of them, draw by draw, and `speed` is the highest at which they run.
    """
    found = []
    for offer in view.market.offers:
        count = -(-tasks // offer.slots)
        limit = offer.limit
        is_full = limit is not None and view.fleet.get(offer.name, 0) + count > limit
        if is_full or offer.pool != "reliable" or is_refused(view, offer.name, now):
            continue
        stays = view.boot_time(offer, now) + (works / offer.speed * SECOND).astype(np.int64)
        costs: Floats = _units(offer, stays) * np.float64(count * offer.price.nanos)
        ends = stays / SECOND
        growth = count * offer.price.nanos * SECOND / offer.billing * speed / offer.speed
        likely = float(np.quantile(costs, LIKELY))
        found.append(Restart(offer, count, costs, ends, likely, growth))
    return min(found, key=lambda one: one.cost, default=None)


class _Attempts:
    """What runs now, and draws of when it ends."""

    def __init__(self, view: View, now: Time, belief: BagBelief) -> None:
        machines, places, started = under_way(view)
        offers, ages = view.market.offers, (now - started) / SECOND
        belief.learn(view, {one.name: ages[places == at] for at, one in enumerate(offers)})
        speeds = np.array([belief.speeds[offer.name] for offer in offers])[places]
        self._now, self._belief = now, belief
        self.done: Floats = ages * speeds
        """work of each, at speed 1"""
        self._order = machines.argsort(kind="stable")
        numbers, self._first = np.unique(machines[self._order], return_index=True)
        self._machines = [view.machines[number] for number in numbers.tolist()]
        self._speed = speeds[self._order[self._first]]
        """by machine"""
        self._luck = _luck(len(self.done))

    def most_cost(self) -> float:
        """What all machines cost at most in any draw, in billionths: the longest of each attempt.

        Where the money does even then, no draw need be looked at.
        """
        _, costs, _ = self._ends(self._luck.max(axis=0)[np.newaxis])
        return float(costs.sum())

    def held(self) -> list[Held]:
        """Machines that run something, with what it is expected to cost to let it end."""
        works, costs, stays = self._ends(self._luck)
        counts = np.diff(self._first, append=len(self.done)).tolist()
        return [
            Held(self._machines[at], counts[at], works[:, at], costs[:, at], stays[:, at])
            for at in self._order[self._first].argsort().tolist()  # in the order of the attempts
        ]

    def _ends(self, luck: Floats) -> tuple[Floats, Floats, Floats]:
        """The longest work of each machine in all, what it costs, and when it ends, in seconds.

        All are `[draw, machine]`.
        """
        rests = _rests(self._belief, self.done, luck)
        longest = np.maximum.reduceat(rests[:, self._order], self._first, axis=1)
        works = np.maximum.reduceat((self.done + rests)[:, self._order], self._first, axis=1)
        ends = longest / self._speed
        stays = (ends * SECOND).astype(np.int64)
        return works, _costs(self._machines, self._now, stays), ends


def _luck(count: int) -> Floats:
    """Luck of so many attempts, draw by draw; the same at each look: what was seen changes."""
    draws = max(2, min(DRAWS, MOST_ENDS // max(1, count)))
    return np.random.default_rng(count).random((draws, count))


def _rests(belief: BagBelief, done: Floats, luck: Floats) -> Floats:
    """What is left of attempts that have done so much work: `[draw, attempt]`, at speed 1."""
    curve = belief.times.curve
    rests = curve.rest_within(np.broadcast_to(done, luck.shape), luck)
    if belief.tail is None:
        falls, longer = FALLS, np.interp(done, curve.points, curve.alive) * belief.known_tasks
        is_old = longer < FEW
    else:  # and not by what is believed, as that may rest on the very tasks that run
        falls, is_old = belief.tail.exponent, done > belief.tail.begin
    beyond = done * (np.power(1 - luck, -1 / falls) - 1)
    is_old &= done > OLD * belief.times.mean
    found: Floats = np.where(is_old, np.maximum(rests, beyond), rests)
    return found


def _costs(machines: Sequence[Machine], now: Time, more: NDArray[np.int64]) -> Floats:
    """What each costs for so much longer, beyond what is paid: `[draw, machine]`, in billionths."""
    offers = [machine.offer for machine in machines]
    stay = np.array([now - machine.rented for machine in machines])
    least = np.array([max(offer.minimum, 1) for offer in offers])
    billing = np.array([offer.billing for offer in offers])
    paid = -(-np.maximum(stay + 1, least) // billing)
    units = -(-np.maximum(stay + more, least) // billing) - paid
    found: Floats = units * np.array([offer.price.nanos for offer in offers], np.float64)
    return found


def _units(offer: Offer, stays: NDArray[np.int64]) -> NDArray[np.int64]:
    """The same as `Offer.units`, of many stays."""
    least = max(offer.minimum, 1)
    found: NDArray[np.int64] = -(-np.maximum(stays, least) // offer.billing)
    return found


def money_to_spend(view: View, now: Time) -> float:
    """What may still be spent, with what machines would give back now; in billionths."""
    left = view.ledger.left
    if left is None:
        return float("inf")
    known: dict[tuple[str, Time, Time], float] = {}
    """machines are rented many at once, and those get the same"""
    found = float(left.nanos)
    for machine in view.machines.values():
        alike = machine.offer.name, machine.rented, machine.until
        if alike not in known:
            known[alike] = refund_of(machine, now)
        found += known[alike]
    return found
