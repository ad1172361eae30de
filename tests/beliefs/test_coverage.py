"""Upper bounds hold about as often as they say: bags, samples and executions drawn at random.

Each bag is sampled, predicted from the sample, and its other tasks are executed step by step, with
the offers of the thesis (section 4.5.3): A, B three times as fast at four times the price, C twice
as fast at the price of A, 24 machines of each. Bag number n is drawn with seed n, from 0 on.
"""

from __future__ import annotations

from heapq import heapreplace

import numpy as np
import pytest

from bursar.beliefs.bounds import published_bound
from bursar.beliefs.prediction import FleetPart, predict
from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, SECOND
from bursar.plan.bag.choices import ABOVE_CHEAPEST, BELOW_FASTEST, choose, least_budget
from bursar.plan.bag.knapsack import fastest
from bursar.simulate.distributions import BAGS

SPEEDS = {"A": 1, "B": 3, "C": 2}
PRICES = {"A": "3.6", "B": "14.4", "C": "3.6"}
HOURLY = {name: Offer(name, Money.parse(p), HOUR, limit=24) for name, p in PRICES.items()}
FINE = {
    name: Offer(name, Money(offer.price.nanos // 3600), SECOND, limit=24)
    for name, offer in HOURLY.items()
}
MIXED = {"A": 4, "B": 3, "C": 3}
TASKS, SAMPLED = 1000, 30
BAGS_OF_A_KIND = 200
"""The true share is then within 4 points of what is measured, in 95 of 100 cases."""


def execute(times: np.ndarray, fleet: dict[str, int]) -> list[tuple[str, int]]:
    """Offer and end of each machine, where the one that is free first takes the next task."""
    machines = [name for name, count in fleet.items() for _ in range(count)]
    free = [(0, number) for number in range(len(machines))]
    for time in times.tolist():
        now, number = free[0]
        heapreplace(free, (now + time // SPEEDS[machines[number]], number))
    return [(machines[number], end) for end, number in free]


def predicted(sample: np.ndarray, fleet: dict[str, int], offers, tasks: int, seed: int):
    parts = [FleetPart(offers[n], c, sample // SPEEDS[n], "bag") for n, c in fleet.items()]
    return predict(parts, tasks, np.random.default_rng(seed), draws=100)


def keeps(sample: np.ndarray, rest: np.ndarray, fleet: dict[str, int], offers, seed: int):
    """Whether an execution keeps the 90 % bounds of its makespan and of its cost."""
    made = predicted(sample, fleet, offers, len(rest), seed)
    ends = execute(rest, fleet)
    cost = sum(offers[name].charge(end).nanos for name, end in ends)
    return max(end for _, end in ends) <= made.makespan(0.9), cost <= made.cost(0.9).nanos


def choice_of(sample: np.ndarray, offers, number: int) -> dict[str, int]:
    """The fleet of one of the choices that the sample leads to; all six take turns."""
    known = tuple(offers.values())
    runtimes = {name: round(float((sample // speed).mean())) for name, speed in SPEEDS.items()}
    low = least_budget(known, runtimes, TASKS - SAMPLED)
    high = fastest(known, runtimes, TASKS - SAMPLED).cost
    asked = [(low, 100 + share) for share in ABOVE_CHEAPEST]
    asked += [(high, 100 - share) for share in BELOW_FASTEST]
    base, share = asked[number % len(asked)]
    found = choose("this", known, runtimes, TASKS - SAMPLED, base, share)
    return {name: count for name, count in found.fleet.items() if count}


@pytest.mark.parametrize("bag", ["normal", "levy", "multi-modal"])
def test_bounds_at_ninety_percent_hold_in_87_to_97_percent_of_executions(bag):
    """Bags of 1,000 tasks, on the choices from cheapest to fastest; the cost may hold more often.

    Charges are whole units: where one more is hardly ever entered, its bound holds always.
    """
    kept: dict[str, list[tuple[bool, bool]]] = {"by the hour": [], "by the second": []}
    for number in range(BAGS_OF_A_KIND):
        times = BAGS[bag](np.random.default_rng(number), TASKS)
        sample, rest = times[:SAMPLED], times[SAMPLED:]
        for billing, offers in (("by the hour", HOURLY), ("by the second", FINE)):
            fleet = choice_of(sample, offers, number)
            kept[billing].append(keeps(sample, rest, fleet, offers, number))
    for billing, each in kept.items():
        makespan, cost = np.mean(each, axis=0)
        assert 0.87 <= makespan <= 0.97, billing
        assert cost >= 0.87, billing


@pytest.mark.parametrize("bag", ["normal", "levy", "multi-modal"])
@pytest.mark.parametrize("sampled", [15, 50])
def test_bounds_hold_for_smaller_and_larger_samples(bag, sampled):
    """On ten machines of three kinds; the limits allow for the few bags of this test."""
    kept = []
    for number in range(200):
        times = BAGS[bag](np.random.default_rng(number), 300)
        offers = FINE if number % 2 else HOURLY
        kept.append(keeps(times[:sampled], times[sampled:], MIXED, offers, number))
    makespan, cost = np.mean(kept, axis=0)
    assert 0.85 <= makespan <= 0.985
    assert cost >= 0.85


def test_the_published_bound_is_too_low_where_the_last_tasks_decide():
    """As figures 4.12 and 4.18 show; it promises 70 %."""
    rng = np.random.default_rng(1)
    fleet = {"A": 24, "B": 24, "C": 24}
    kept = 0
    for _ in range(60):
        sample = BAGS["levy"](rng, 30)
        parts = [(HOURLY[n], c, sample // SPEEDS[n]) for n, c in fleet.items()]
        bound = published_bound(parts, 970)
        ends = execute(BAGS["levy"](rng, 970), fleet)
        kept += max(end for _, end in ends) <= bound.makespan_bound
    assert kept / 60 < 0.7


def test_hourly_and_fine_offers_cost_the_same_per_hour():
    for name, offer in HOURLY.items():
        assert FINE[name].charge(HOUR) == offer.charge(HOUR)
