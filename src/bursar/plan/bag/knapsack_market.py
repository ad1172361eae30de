"""Offers and run times as integers: a fleet's speed, makespan and cost without any rounding.

The estimates are those of BaTS (Oprescu's thesis, section 2.2.2): a fleet is as fast as its
machines together, its makespan is the tasks divided by that, as if tasks were divisible, and every
machine stays for the makespan and is charged as its offer says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import gcd, lcm
from operator import mul
from typing import Final

import msgspec

from bursar.model.errors import InputError
from bursar.model.market import Offer
from bursar.model.money import ZERO, Money
from bursar.model.time import Time
from bursar.plan.bag.knapsack_bounded import Bounded, NodeLimit
from bursar.plan.bag.knapsack_form import KnapsackGoal

Runtimes = Mapping[str, Time | None]
"""Offer name to the mean run time of a task there; None, or no entry: unknown."""


MOST_TRIED: Final = 4096


class FleetChoice(msgspec.Struct, frozen=True):
    """A fleet, and what the estimates say of it."""

    fleet: dict[str, int]
    """machines of each offer, at least one, in the market's order"""
    units: dict[str, int]
    """billing units that each machine of an offer is charged for"""
    makespan: Time
    cost: Money


class Terms(msgspec.Struct, frozen=True):
    """What machines are charged if they stay for a while: the same up to `until`."""

    until: Time
    bounded: Bounded
    """value: speed; weight: price; the items are the priced offers that money allows for"""
    units: int
    """the weight so many times is the charge"""
    offers: list[int]
    """which of the priced offers the items are"""


class FleetMarket:
    """The offers that can serve so many tasks: those with a known run time and a limit above zero.

    Speeds count in the greatest common measure of all speeds, money in that of all prices. An
    offer without a limit has as many machines as the tasks can fill. Machines that cost nothing
    are always taken, all of them.
    """

    def __init__(self, offers: Sequence[Offer], runtimes: Runtimes, tasks: int) -> None:
        if tasks < 1:
            raise InputError(f"{tasks} tasks need no fleet; plan for one task or more")
        known = [(offer, runtimes.get(offer.name)) for offer in offers if offer.limit != 0]
        self._usable: Final = [offer for offer, runtime in known if runtime is not None]
        if not self._usable:
            raise InputError("no offer has a known run time and a limit above zero")
        pace = [_pace(offer, runtime) for offer, runtime in known if runtime is not None]
        divisor = gcd(*(count for count, _ in pace))
        period = lcm(*(time for _, time in pace))
        self._work: Final = tasks * period
        """task time at a speed of one, times `_divisor`"""
        self._divisor: Final = divisor
        self._speed: Final = [count // divisor * (period // time) for count, time in pace]
        self._limit: Final = [
            -(-tasks // offer.slots) if offer.limit is None else offer.limit
            for offer in self._usable
        ]
        self.priced: Final = [i for i, offer in enumerate(self._usable) if offer.price]
        self.quantum: Final = gcd(*(offer.price.nanos for offer in self._usable)) or 1
        """all costs are multiples of so many billionths"""
        self._price: Final = [offer.price.nanos // self.quantum for offer in self._usable]
        self.node_limit: Final = NodeLimit()
        free = [i for i, offer in enumerate(self._usable) if not offer.price]
        self.free_speed: Final = sum(self._speed[i] * self._limit[i] for i in free)
        self.full_speed: Final = sum(map(mul, self._speed, self._limit))
        charged = [self._usable[i] for i in self.priced]
        self._is_uniform: Final = len({(offer.billing, offer.minimum) for offer in charged}) == 1
        self._listed: tuple[int, Bounded, list[int]] | None = None

    # --- time and speed --------------------------------------------------------------------------

    def makespan(self, speed: int) -> Time:
        """How long all tasks take at a speed, rounded up."""
        return -(-self._work // (self._divisor * speed))

    def speed_for(self, makespan: Time) -> int:
        """The least speed at which all tasks take no longer."""
        return -(-self._work // (self._divisor * makespan))

    def slowest(self) -> Time:
        """No fleet takes longer."""
        return self.makespan(min(self._speed))

    # --- money -----------------------------------------------------------------------------------

    def terms(self, stay: Time, money: int) -> Terms:
        """What machines are charged for such a stay; offers beyond so much money are left out."""
        if self._is_uniform:
            offer = self._usable[self.priced[0]]
            bounded, offers = self._at_list_price(money)
            return Terms(offer.paid_for(stay), bounded, offer.units(stay), offers)
        charges = [self._usable[i].units(stay) * self._price[i] for i in self.priced]
        until = min(self._usable[i].paid_for(stay) for i in self.priced)
        bounded, offers = self._bounded(charges, money)
        return Terms(until, bounded, 1, offers)

    def next_stay(self, stay: Time, money: int, deadline: Time) -> Time:
        """No shorter stay, from this on, can be paid for; found quickly if all are billed alike."""
        if not self._is_uniform or stay > deadline:
            return stay
        billing = self._usable[self.priced[0]].billing
        step = self._at_list_price(money)[0].first_step(self._goal(stay, money, deadline))
        return max(stay, (step - 1) * billing + 1)

    def cheapest_at_once(self, money: int, deadline: Time) -> tuple[int, int]:
        """The least cost of a fleet is no less and no more than this; so much money does."""
        if not self._is_uniform:
            return 0, money
        bounded, offers = self._at_list_price(money)
        least, counts = bounded.cheapest(self._goal(0, money, deadline))
        choice = self.choice(dict(zip(offers, counts, strict=True))) if any(counts) else None
        if choice is None or choice.makespan > deadline:
            return min(least, money), money
        return least, min(money, choice.cost.nanos // self.quantum)

    def _goal(self, stay: Time, money: int, deadline: Time) -> KnapsackGoal:
        """To finish by the deadline for so much money, after a stay so long or longer."""
        offer = self._usable[self.priced[0]]
        work = -(-self._work // (self._divisor * offer.billing))
        slowest = self.speed_for(deadline)
        return KnapsackGoal(money, work, self.free_speed, offer.units(stay), slowest)

    def could_pay(self, stay: Time, money: int) -> bool:
        """Whether the money might do for a fleet that takes so long, were everything divisible.

        Machines, their billing units and speeds are divisible here, so if the answer is no for a
        stay, it is no for every shorter one.
        """
        billing = [self._usable[i].billing for i in self.priced]
        shortest = [max(self._usable[i].minimum, self._usable[i].billing) for i in self.priced]
        common = lcm(*billing)
        charges = [
            self._price[i] * max(stay, least) * (common // unit)
            for i, least, unit in zip(self.priced, shortest, billing, strict=True)
        ]
        speeds, limits = zip(*((self._speed[i], self._limit[i]) for i in self.priced), strict=True)
        above, below = Bounded(speeds, charges, limits).ratio(money * common)
        speed = above + self.free_speed * below
        return speed * self._divisor * stay >= self._work * below

    def choice(self, counts: Mapping[int, int]) -> FleetChoice:
        """The fleet with so many machines of each priced offer, and all that cost nothing."""
        number = [
            counts.get(i, 0) if offer.price else self._limit[i]
            for i, offer in enumerate(self._usable)
        ]
        makespan = self.makespan(sum(map(mul, number, self._speed)))
        fleet = {o.name: n for o, n in zip(self._usable, number, strict=True) if n}
        units = {o.name: o.units(makespan) for o in self._usable if o.name in fleet}
        charges = (o.charge(makespan) * n for o, n in zip(self._usable, number, strict=True))
        return FleetChoice(fleet, units, makespan, sum(charges, ZERO))

    def all_machines(self) -> FleetChoice:
        return self.choice(dict(enumerate(self._limit)))

    def of_one_offer(self, deadline: Time) -> Iterator[int]:
        """Costs of fleets with priced machines of one offer only, as few as the deadline allows."""
        wanted = self.speed_for(deadline) - self.free_speed
        for i in self.priced:
            count = max(1, -(-wanted // self._speed[i]))
            if count <= self._limit[i]:
                stay = self.makespan(self.free_speed + count * self._speed[i])
                yield count * self._price[i] * self._usable[i].units(stay)

    def least_cost(self) -> int:
        """No fleet without free machines costs less, however slow, in quanta."""
        best = self._best_value()
        rate = self._divisor * self._speed[best] * self._usable[best].billing
        return -(-self._price[best] * self._work // rate)

    def try_best_value(self, deadline: Time, least: int) -> tuple[int, Time]:
        """Try all fleets of the best value alone, if there are no free machines and not too many.

        The answer is the least cost known then, and the longest makespan of any cheaper fleet. A
        machine of another kind costs more, while it stays, than its part of the work would cost at
        the best value; what may be spent on that limits how long it stays.
        """
        best = self._best_value()
        offer, speed, price = self._usable[best], self._speed[best], self._price[best]
        same = [i for i in self.priced if self._terms_of(i) == self._terms_of(best)]
        most = sum(self._limit[i] for i in same)
        fewest = max(1, -(-self.speed_for(deadline) // speed))
        if self.free_speed or most - fewest > MOST_TRIED:
            return least, deadline
        alone = self.makespan(speed)
        for number in range(fewest, most + 1):
            least = min(least, number * price * offer.units(-(-alone // number)))
        spare = (least - 1) * offer.billing * speed * self._divisor - price * self._work
        longest = 0
        for i in self.priced:
            unit = self._usable[i].billing
            loss = self._price[i] * offer.billing * speed - price * self._speed[i] * unit
            if loss:
                longest = max(longest, spare * unit // (self._divisor * loss))
            elif i not in same:
                return least, deadline
        return least, min(longest, deadline)

    def _best_value(self) -> int:
        """The offer with the most work for its price, were all paid time used."""
        best = self.priced[0]
        for i in self.priced:
            rate, best_rate = (self._speed[j] * self._usable[j].billing for j in (i, best))
            if self._price[i] * best_rate < self._price[best] * rate:
                best = i
        return best

    def _terms_of(self, i: int) -> tuple[int, ...]:
        offer = self._usable[i]
        return self._price[i], self._speed[i], offer.billing, offer.minimum

    def _at_list_price(self, money: int) -> tuple[Bounded, list[int]]:
        """The knapsack of all stays, where all offers are billed alike."""
        if self._listed is None or self._listed[0] < money:
            prices = [self._price[i] for i in self.priced]
            self._listed = (money, *self._bounded(prices, money))
        return self._listed[1:]

    def _bounded(self, weights: Sequence[int], room: int) -> tuple[Bounded, list[int]]:
        """The knapsack with such weights of the priced offers, as far as the room holds one."""
        held = [
            (i, weight) for i, weight in zip(self.priced, weights, strict=True) if weight <= room
        ]
        bounded = Bounded(
            [self._speed[i] for i, _ in held],
            [weight for _, weight in held],
            [min(self._limit[i], room // weight) for i, weight in held],
            self.node_limit,
        )
        return bounded, [i for i, _ in held]


def _pace(offer: Offer, runtime: Time) -> tuple[int, int]:
    """So many tasks in so much time, on one machine, in lowest terms."""
    if runtime <= 0:
        raise InputError(f"offer '{offer.name}': run time {runtime}; it must be above zero")
    common = gcd(offer.slots, runtime)
    return offer.slots // common, runtime // common
