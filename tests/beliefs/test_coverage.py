"""Upper bounds hold about as often as they say: bags, samples and executions drawn at random.

Each bag is sampled, predicted from the sample, and its other tasks are executed step by step, with
the offers of the thesis (section 4.5.3): A, B three times as fast at four times the price, C twice
as fast at the price of A.
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
from bursar.simulate.distributions import BAGS

SPEEDS = {"A": 1, "B": 3, "C": 2}
HOURLY = {name: Offer(name, Money.parse(p)) for name, p in (("A", 3.6), ("B", 14.4), ("C", 3.6))}
FINE = {name: Offer(name, Money(o.price.nanos // 3600), SECOND) for name, o in HOURLY.items()}
CHEAP, MIXED, LARGE = {"C": 1}, {"A": 4, "B": 3, "C": 3}, {"A": 12, "B": 8, "C": 12}


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
    return predict(parts, tasks, np.random.default_rng(seed), draws=200)


def coverage(bag: str, tasks: int, fleet: dict[str, int], bags: int, sampled: int = 30):
    """Shares of bags that kept the 90 % bounds: makespan, cost by the hour, cost by the second."""
    rng = np.random.default_rng(2013)
    kept = np.zeros(3)
    for seed in range(bags):
        sample = BAGS[bag](rng, sampled)
        ends = execute(BAGS[bag](rng, tasks - sampled), fleet)
        makespan = max(end for _, end in ends)
        for column, offers in ((1, HOURLY), (2, FINE)):
            made = predicted(sample, fleet, offers, tasks - sampled, seed)
            cost = sum(offers[name].charge(end).nanos for name, end in ends)
            kept[column] += cost <= made.cost(0.9).nanos
        kept[0] += makespan <= made.makespan(0.9)
    return kept / bags


@pytest.mark.parametrize("bag", ["normal", "levy", "multi-modal"])
def test_bounds_at_ninety_percent_hold_in_87_to_97_percent_of_executions(bag):
    """Of 450 executions, a bound that holds in 92 % of all is within these limits for sure."""
    shares = np.mean([coverage(bag, 300, fleet, 150) for fleet in (CHEAP, MIXED, LARGE)], axis=0)
    makespan, hourly, fine = shares
    assert 0.87 <= makespan <= 0.97
    assert hourly >= 0.87
    assert fine >= 0.87


@pytest.mark.parametrize("bag", ["normal", "levy", "multi-modal"])
@pytest.mark.parametrize("sampled", [15, 50])
def test_bounds_hold_for_smaller_and_larger_samples(bag, sampled):
    makespan, hourly, fine = coverage(bag, 200, MIXED, 200, sampled)
    assert 0.85 <= makespan <= 0.985
    assert min(hourly, fine) >= 0.85


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
