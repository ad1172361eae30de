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
MIXED = {"A": 4, "B": 3, "C": 3}
FLEETS = (({"C": 1}, 250), ({"A": 1, "C": 24}, 250), ({"A": 24, "B": 24, "C": 24}, 250))


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
    """Shares of bags that kept the 90 % bounds: makespan, cost by the hour, cost by the second.

    Half of the bags are billed by the hour, half by the second.
    """
    rng = np.random.default_rng([2013, tasks, sampled, *fleet.values()])
    kept = np.zeros(3)
    for seed in range(bags):
        sample = BAGS[bag](rng, sampled)
        ends = execute(BAGS[bag](rng, tasks - sampled), fleet)
        offers = FINE if seed % 2 else HOURLY
        made = predicted(sample, fleet, offers, tasks - sampled, seed)
        cost = sum(offers[name].charge(end).nanos for name, end in ends)
        kept[1 + seed % 2] += 2 * (cost <= made.cost(0.9).nanos)
        kept[0] += max(end for _, end in ends) <= made.makespan(0.9)
    return kept / bags


@pytest.mark.parametrize(
    ("bag", "least"), [("normal", 0.87), ("levy", 0.87), ("multi-modal", 0.83)]
)
def test_bounds_at_ninety_percent_hold_in_87_to_97_percent_of_executions(bag, least):
    """Bags of 1,000 tasks on the cheapest, a middling and the fastest fleet of the thesis.

    The multi-modal bag falls short: a sample of 30 may miss most of its second mode.
    """
    shares = [coverage(bag, 1000, fleet, count) for fleet, count in FLEETS]
    makespan, hourly, fine = np.mean(shares, axis=0)
    assert least <= makespan <= 0.985
    assert hourly >= least
    assert fine >= least


@pytest.mark.parametrize("bag", ["normal", "levy", "multi-modal"])
@pytest.mark.parametrize("sampled", [15, 50])
def test_bounds_hold_for_smaller_and_larger_samples(bag, sampled):
    """On ten machines of three kinds; the limits allow for the few bags of a test."""
    makespan, hourly, fine = coverage(bag, 300, MIXED, 200, sampled)
    assert 0.85 <= makespan <= 0.985
    assert min(hourly, fine) >= 0.84


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
