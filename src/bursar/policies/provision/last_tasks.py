"""The last tasks of a bag: which machines are too dear to be held until their tasks have ended.

Once no task is ready, a machine stays until the longest of its tasks has ended, and all its slots
are paid for. One long task on a machine of 64 slots may cost more than all that is left. Begun
again on a small machine it costs a fraction, but takes longer: what was done is lost. So a machine
is held as long as the money that is left also pays for that, and released before it does not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.model.market import Offer
from bursar.model.time import MINUTE, SECOND, Time, seconds
from bursar.policies.provision.frontier_state import BagBelief, refund_of, under_way
from bursar.policies.reconcile import Target, is_refused, reconcile
from bursar.state.actions import Release, Rent, Wake
from bursar.state.view import Machine, View

Floats = NDArray[np.float64]

LIKELY: Final = 0.95
"""Money is kept for tasks that end within what they do not exceed this often."""
OLD, AS_LONG = 2.0, 0.6
"""A task that is older than this many average tasks is no longer like any other: money is kept for
this share of its age. Few tasks are so old, so results hardly tell when they end."""
CHECKS: Final = 4
"""Times that are looked at in the time of an average task."""
LONG_UNIT: Final = 5 * MINUTE
"""A machine with such a billing unit is held: until the unit ends, it costs nothing more."""
SOONEST: Final = 2 * SECOND
"""No look comes sooner after another."""


class Held(msgspec.Struct, frozen=True):
    """A machine that is held by its last tasks."""

    machine: Machine
    tasks: int
    work: float
    """that its longest task has in all, at speed 1; in seconds"""
    cost: float
    """until its tasks have ended, beyond what is paid; in billionths"""

    @property
    def price(self) -> float:
        """Billionths for a second."""
        offer = self.machine.offer
        return offer.price.nanos * SECOND / offer.billing


class Restart(msgspec.Struct, frozen=True):
    """The cheapest machines on which some tasks can be begun again."""

    offer: Offer
    count: int
    cost: float


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
    held = _held(view, now, belief)
    between = max(SOONEST, seconds(belief.times.mean / CHECKS))
    total = sum(one.cost for one in held)
    if total <= money or not held:
        return LastLook(now + between)
    leaving, restart = _cheapest(view, now, held, money)
    if restart is None:
        return LastLook(now + between)
    needed = total - sum(one.cost for one in leaving) + restart.cost
    spare = (money - needed) / sum(one.price for one in leaving)
    if spare * SECOND > SOONEST:
        return LastLook(now + max(SOONEST, min(between, round(spare * SECOND) - SOONEST)))
    return LastLook(now + between, tuple(one.machine.id for one in leaving), restart)


def _cheapest(
    view: View, now: Time, held: Sequence[Held], money: float
) -> tuple[list[Held], Restart | None]:
    """The machines to release, as few as the money allows, and where their tasks go."""
    short = [one for one in held if one.machine.offer.billing < LONG_UNIT]
    order = sorted(short, key=lambda one: -one.cost)
    total = sum(one.cost for one in held)
    leaving: list[Held] = []
    best: Restart | None = None
    for one in order:
        more = [*leaving, one]
        restart = _restart(view, now, sum(each.tasks for each in more), max(e.work for e in more))
        before = best.cost if best is not None else 0.0
        if restart is None or restart.cost - before >= one.cost:
            break
        leaving, best = more, restart
        if total - sum(each.cost for each in leaving) + best.cost <= money:
            break
    return leaving, best


def _restart(view: View, now: Time, tasks: int, work: float) -> Restart | None:
    """The cheapest machines for some tasks, the longest of which has so much work; None: none."""
    found = []
    for offer in view.market.offers:
        count = -(-tasks // offer.slots)
        limit = offer.limit
        is_full = limit is not None and view.fleet.get(offer.name, 0) + count > limit
        if is_full or offer.pool != "reliable" or is_refused(view, offer.name, now):
            continue
        stay = view.boot_time(offer, now) + seconds(work / offer.speed)
        found.append(Restart(offer, count, float(count * offer.charge(stay).nanos)))
    return min(found, key=lambda one: one.cost, default=None)


def _held(view: View, now: Time, belief: BagBelief) -> list[Held]:
    """Machines that run something, with what it is expected to cost to let it end."""
    machines, places, started = under_way(view)
    ages = (now - started) / SECOND
    by_offer = {offer.name: ages[places == place] for place, offer in enumerate(view.market.offers)}
    belief.learn(view, by_offer)
    speeds = np.array([belief.speeds[offer.name] for offer in view.market.offers])
    done = ages * speeds[places]
    rest = belief.times.curve.rest_within(done, np.full(len(done), LIKELY))
    rest = np.where(done > OLD * belief.times.mean, np.maximum(rest, AS_LONG * done), rest)
    rows: dict[int, list[int]] = defaultdict(list)
    for row, number in enumerate(machines.tolist()):
        rows[number].append(row)
    found = []
    for number, some in rows.items():
        machine = view.machines[number]
        longest = float((rest[some] / speeds[places[some]]).max())
        stay = now - machine.rented
        units = machine.offer.units(stay + seconds(longest)) - machine.offer.units(stay + 1)
        work = float((done[some] + rest[some]).max())
        found.append(Held(machine, len(some), work, float(units * machine.offer.price.nanos)))
    return found


def money_to_spend(view: View, now: Time) -> float:
    """What may still be spent, with what machines would give back now; in billionths."""
    left = view.ledger.left
    if left is None:
        return float("inf")
    return left.nanos + sum(refund_of(machine, now) for machine in view.machines.values())
