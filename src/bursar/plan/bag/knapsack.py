"""Which fleet? The modified bounded knapsack of BaTS (thesis, section 2.2.2), solved exactly.

For a bag of tasks with known mean run times, four questions: the fastest fleet that a budget pays
for, the cheapest fleet, the cheapest by a deadline, and the fastest at all. All are answered with
integers only; of fleets that are equally good the one is taken that costs less, then has fewer
machines, then more machines of the offers that stand first in the market.

How: a machine's charge is a step function of how long it stays. As long as a fleet's makespan stays
between two steps of any offer, charges are constants, and the fastest fleet within the budget is a
bounded knapsack. Walk the steps upward from the shortest makespan there is: the first one whose
knapsack holds a fleet fast enough to finish by its end has the fastest fleet of all. A longer stay
is never cheaper, so what can be reached within a step bounds all later ones, and most steps are
jumped over: a knapsack that reaches speed s tells that nothing ends before tasks / s.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from bursar.model.errors import InvariantError
from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import Time
from bursar.plan.bag.knapsack_market import FleetChoice, FleetMarket, Runtimes, Terms
from bursar.plan.bag.knapsack_ties import preferred

__all__ = [
    "FleetChoice",
    "Runtimes",
    "cheapest",
    "cheapest_within",
    "fastest",
    "fastest_within",
]

STEPS_BEFORE_LEAP: Final = 8
"""Steps in vain before the walk looks further ahead, at the price of some 40 steps."""


def fastest_within(
    offers: Sequence[Offer], runtimes: Runtimes, tasks: int, budget: Money
) -> FleetChoice | None:
    """The fastest fleet whose estimated cost is within the budget; None: the budget is too small.

    `cheapest(...).cost` is the smallest budget that is not.
    """
    return _fastest_within(FleetMarket(offers, runtimes, tasks), budget.nanos)


def cheapest(offers: Sequence[Offer], runtimes: Runtimes, tasks: int) -> FleetChoice:
    """The fleet of least estimated cost, however long it takes, and the fastest of these."""
    market = FleetMarket(offers, runtimes, tasks)
    choice = _cheapest_within(market, market.slowest())
    if choice is None:
        raise InvariantError("no fleet is cheapest")
    return choice


def cheapest_within(
    offers: Sequence[Offer], runtimes: Runtimes, tasks: int, deadline: Time
) -> FleetChoice | None:
    """The fleet of least estimated cost among those with a makespan within the deadline.

    None: the deadline is too early. `fastest(...).makespan` is the earliest that is not.
    """
    market = FleetMarket(offers, runtimes, tasks)
    return _cheapest_within(market, min(deadline, market.slowest()))


def fastest(offers: Sequence[Offer], runtimes: Runtimes, tasks: int) -> FleetChoice:
    """Every machine there is."""
    return FleetMarket(offers, runtimes, tasks).all_machines()


# --- answers --------------------------------------------------------------------------------------


def _fastest_within(market: FleetMarket, nanos: int, begin: Time = 0) -> FleetChoice | None:
    """The fastest fleet for so much money; it is known to take `begin` or longer."""
    money = nanos // market.quantum
    if money < 0:
        return None
    if not market.priced:
        return market.all_machines()
    found = _walk(market, money, begin, market.slowest())
    if found is None:
        return None
    counts = preferred(found.terms.bounded, found.speed, money // found.terms.units)
    choice = market.choice(dict(zip(found.terms.offers, counts, strict=True)))
    if choice.cost.nanos > nanos or choice.makespan > found.terms.until:
        raise InvariantError(f"a fleet for {Money(nanos)} costs {choice.cost}: {choice.fleet}")
    return choice


def _cheapest_within(market: FleetMarket, deadline: Time) -> FleetChoice | None:
    """The fastest fleet for the least money that pays for any by the deadline."""
    everything = market.all_machines()
    if everything.makespan > deadline:
        return None
    if market.free_speed and market.makespan(market.free_speed) <= deadline:
        return _fastest_within(market, 0)
    least = everything.cost.nanos // market.quantum
    least = min((least, *market.of_one_offer(deadline)))
    least = min(least, _least_at(market, deadline, least))
    least, last = market.try_best_value(deadline, least)
    floor = 0 if market.free_speed else market.least_cost()
    if least > floor:
        surely, least = market.cheapest_at_once(least, deadline)
        floor = max(floor, surely)
    begin = 0
    while least > floor:
        found = _walk(market, least - 1, begin, last)
        if found is None:
            break
        begin = found.stay
        least = _least_at(market, min(found.terms.until, last), least - 1)
    return _fastest_within(market, least * market.quantum, begin)


def _least_at(market: FleetMarket, stay: Time, money: int) -> int:
    """The least cost of a fleet that ends by then, if charged for so long; at most the money."""
    terms = market.terms(stay, money)
    room = money // terms.units
    wanted = market.speed_for(stay) - market.free_speed
    lightest = terms.bounded.least(wanted, (room + 1, 0))
    return money if lightest is None else lightest.weight * terms.units


# --- the walk -------------------------------------------------------------------------------------


class LeastStay(msgspec.Struct, frozen=True):
    """The first step of charges at which the money does."""

    stay: Time
    """no fleet that the money pays for takes less"""
    terms: Terms
    speed: int
    """the most that the money pays for, free machines not counted"""


def _walk(market: FleetMarket, money: int, begin: Time, deadline: Time) -> LeastStay | None:
    """The first step, from a stay of `begin`, at which a fleet ends by the deadline."""
    stay = max(begin, market.makespan(market.full_speed))
    steps = 0
    while stay <= deadline:
        terms = market.terms(stay, money)
        until = min(terms.until, deadline)
        needed = max(0, market.speed_for(until) - market.free_speed)
        # With steps this fine, what is reached below what is needed tells how many to jump over.
        far = until + (until >> 8)
        is_fine = far > 2 * until - stay
        hint = max(0, market.speed_for(far) - market.free_speed) if is_fine else needed
        reached = terms.bounded.most(money // terms.units, needed, hint)
        if reached >= needed:
            return LeastStay(stay, terms, reached)
        speed = reached + market.free_speed
        if speed == 0:
            return None
        stay = max(until + 1, market.makespan(speed))
        steps += 1
        if steps == STEPS_BEFORE_LEAP:
            stay = _leap(market, money, stay, deadline)
        if steps >= STEPS_BEFORE_LEAP:
            stay = market.next_stay(stay, money, deadline)
    return None


def _leap(market: FleetMarket, money: int, stay: Time, deadline: Time) -> Time:
    """A quick lower bound of the stay for which the money is enough."""
    if market.could_pay(stay, money):
        return stay
    too_short, enough = stay, deadline + 1
    while enough - too_short > 1:
        middle = (too_short + enough) // 2
        if market.could_pay(middle, money):
            enough = middle
        else:
            too_short = middle
    return enough
