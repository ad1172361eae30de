"""The list of choices: plans from cheapest to fastest (BaTS thesis, sections 3.1.4, 3.1.5 and 6.2).

The lower end is the budget of one machine of the most profitable offer for the whole bag, the upper
end that of all machines there are. Between them, fixed shares above the one and below the other.
Each budget buys the fastest fleet it can.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from bursar.model.market import Offer
from bursar.model.money import ZERO, Money
from bursar.model.time import Time
from bursar.plan.bag.knapsack import (
    FleetChoice,
    Runtimes,
    cheapest_within,
    fastest,
    fastest_within,
)

REFINEMENT: Final = 10
"""Per cent by which a risky plan's budget is raised at most, in steps of one (section 3.3.3)."""

ABOVE_CHEAPEST: Final = (0, 10, 20)
BELOW_FASTEST: Final = (20, 10, 0)
"""Per cent: the six choices of chapter 6."""


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """A fleet that a budget buys, with what the estimates say, and its risk."""

    name: str
    budget: Money
    """asked for, before any refinement"""
    fleet: dict[str, int]
    units: dict[str, int]
    """billing units that each machine of an offer is charged for"""
    makespan: Time
    cost: Money
    cushion: Money
    """what the refinement added, or is kept aside for the last tasks"""
    risk: int
    """Delta-N: tasks that do not fit if no task is split between machines; risky above zero"""


def most_profitable(offers: Sequence[Offer], runtimes: Runtimes) -> Offer:
    """The offer that does a task for the least money, by rate (section 2.3.3)."""
    known = [offer for offer in offers if runtimes.get(offer.name) and offer.limit != 0]

    def worth(offer: Offer) -> tuple[float, float]:
        return _cost_of_a_task(offer, runtimes), (runtimes[offer.name] or 0) / offer.slots

    return min(known, key=worth)


def profitability(offer: Offer, cheapest: Offer, runtimes: Runtimes) -> float:
    """The speed-up over the cheapest offer by the increase in price (section 2.3.3).

    It is (T_m / T_i) x (c_m / c_i): above one where money is better spent here.
    """
    here, there = (_cost_of_a_task(each, runtimes) for each in (offer, cheapest))
    return there / here


def least_budget(offers: Sequence[Offer], runtimes: Runtimes, tasks: int) -> Money:
    """B_min: one machine of the most profitable offer does everything (section 3.1.4)."""
    offer = most_profitable(offers, runtimes)
    runtime = runtimes[offer.name] or 0
    return offer.charge(-(-tasks * runtime // offer.slots))


def delta_n(
    choice: FleetChoice, offers: Mapping[str, Offer], runtimes: Runtimes, tasks: int
) -> int:
    """Tasks that are left if each machine does whole tasks only, in its paid time."""
    fitting = 0
    for name, count in choice.fleet.items():
        offer, runtime = offers[name], runtimes[name]
        if runtime:
            fitting += count * offer.slots * (choice.units[name] * offer.billing // runtime)
    return tasks - fitting


def list_choices(
    offers: Sequence[Offer], runtimes: Runtimes, tasks: int, *, between: int = 0
) -> list[Choice]:
    """The six choices of chapter 6, and `between` more with budgets evenly between their ends."""
    low = least_budget(offers, runtimes, tasks)
    high = fastest(offers, runtimes, tasks).cost
    asked = [(_name("cheapest", "+", share), low, 100 + share) for share in ABOVE_CHEAPEST]
    for step in range(1, between + 1):
        share = round(100 * step / (between + 1))
        middle = Money(low.nanos + max(0, high.nanos - low.nanos) * step // (between + 1))
        asked.append((f"between {share} %", middle, 100))
    asked += [(_name("fastest", "-", share), high, 100 - share) for share in BELOW_FASTEST]
    found = [
        choose(name, offers, runtimes, tasks, base, share)
        for name, base, share in asked
        if base.nanos * share // 100 >= low.nanos
    ]
    chosen = [choice for choice in found if choice is not None]
    return sorted(chosen, key=lambda choice: (choice.budget, -choice.makespan))


def choose(
    name: str,
    offers: Sequence[Offer],
    runtimes: Runtimes,
    tasks: int,
    base: Money,
    share: int = 100,
) -> Choice | None:
    """The fastest fleet for a share (per cent) of the base budget, refined where it is risky.

    Where the fleet leaves tasks over, the budget is raised by one per cent of the base at a time
    until none are left over, at most by `REFINEMENT`. Where no fleet helps (all machines are in
    use), a cushion is kept aside instead: a further unit of the most profitable offer for each
    task left over. None: the budget buys no fleet that can finish.
    """
    by_name = {offer.name: offer for offer in offers}
    budget = Money(base.nanos * share // 100)
    first = fastest_within(offers, runtimes, tasks, budget)
    if first is None:
        return None
    risk = delta_n(first, by_name, runtimes, tasks)
    refined, cushion = first, ZERO
    everything = fastest(offers, runtimes, tasks).fleet
    if risk > 0 and first.fleet == everything:
        cushion = most_profitable(offers, runtimes).price * risk
    elif risk > 0:
        for extra in range(1, REFINEMENT + 1):
            raised = Money(base.nanos * (share + extra) // 100)
            better = fastest_within(offers, runtimes, tasks, raised)
            if better is not None and delta_n(better, by_name, runtimes, tasks) <= 0:
                refined, cushion = better, raised - budget
                risk = delta_n(better, by_name, runtimes, tasks)
                break
    return Choice(
        name=name,
        budget=budget,
        fleet=refined.fleet,
        units=refined.units,
        makespan=refined.makespan,
        cost=refined.cost,
        cushion=cushion,
        risk=risk,
    )


def choose_by_deadline(
    offers: Sequence[Offer], runtimes: Runtimes, tasks: int, deadline: Time
) -> Choice | None:
    """The cheapest fleet whose estimated makespan is within the deadline; None: there is none."""
    found = cheapest_within(offers, runtimes, tasks, deadline)
    if found is None:
        return None
    by_name = {offer.name: offer for offer in offers}
    return Choice(
        name="within deadline",
        budget=found.cost,
        fleet=found.fleet,
        units=found.units,
        makespan=found.makespan,
        cost=found.cost,
        cushion=ZERO,
        risk=delta_n(found, by_name, runtimes, tasks),
    )


def _cost_of_a_task(offer: Offer, runtimes: Runtimes) -> float:
    """If all paid time is used, in billionths."""
    rate = offer.price.nanos / (offer.billing * offer.slots)
    return rate * (runtimes[offer.name] or 0)


def _name(end: str, sign: str, share: int) -> str:
    return f"{end} {sign}{share} %" if share else end
