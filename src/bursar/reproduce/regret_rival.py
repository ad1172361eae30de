"""The rival of `regret`: the best plain fleet, chosen with hindsight.

A plain fleet is what a user writes by hand: so many machines of one offer, of two offers, all
machines, half of them, a quarter. Every machine is rented at once, takes the next task whenever a
slot is free, and is released when nothing is left to start and its last task has ended.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import combinations
from math import ceil
from typing import Any, Final

import msgspec
import numpy as np

from bursar.kernels import bag as bag_kernel
from bursar.kernels import plain_fleet
from bursar.kernels.compiling import compile_kept, let_kernels_call, stamp_of
from bursar.model.market import Market
from bursar.model.time import Time
from bursar.reproduce.regret_cases import Runtimes

Counts = tuple[int, ...]
"""Machines of each offer, in the order of the market."""

GROWTH: Final = 1.5
"""From one count of machines to the next, in fleets of two offers."""
NEAR: Final = 1.3
"""Fleets up to so many times slower with the first bag are tried with all."""


class PlainFleet(msgspec.Struct, frozen=True):
    """A fleet that finishes all bags within a budget."""

    counts: Counts
    p90: float
    """microseconds until the last task is done"""


class FleetRunner:
    """Runs bags on plain fleets of a market."""

    def __init__(self, market: Market) -> None:
        self._offers = market.offers
        self._price = np.array([float(offer.price) for offer in market.offers])

    def runtimes(self, bag: Runtimes) -> Runtimes:
        """By offer and task."""
        rows = [np.maximum(np.rint(bag / offer.speed), 1) for offer in self._offers]
        return np.array(rows).astype(np.int64)

    def run(self, counts: Counts, runtimes: Runtimes) -> tuple[Time, float]:
        """When the last task ends, and what the machines cost."""
        machines = _in_turn(counts)
        return self._run(machines, np.zeros(len(machines), np.int64), runtimes)

    def run_later(
        self, first: Counts, more: Counts, later: Time, runtimes: Runtimes
    ) -> tuple[Time, float]:
        """The same where some more machines are rented at a later time."""
        machines = np.concatenate([_in_turn(first), _in_turn(more)])
        rented = np.zeros(len(machines), np.int64)
        rented[sum(first) :] = later
        return self._run(machines, rented, runtimes)

    def results_at(self, counts: Counts, runtimes: Runtimes, share: float) -> Time:
        """When so large a share of the tasks that begin first has ended; 0: one of them."""
        machines = _in_turn(counts)
        offer = np.repeat(machines, np.array([one.slots for one in self._offers])[machines])
        boot = np.array([one.boot for one in self._offers])[offer]
        order = np.argsort(boot, kind="stable")[: runtimes.shape[1]]
        ends = np.sort(boot[order] + runtimes[offer[order], np.arange(len(order))])
        return int(ends[max(0, ceil(share * len(ends)) - 1)])

    def _run(self, machines: Runtimes, rented: Runtimes, runtimes: Runtimes) -> tuple[Time, float]:
        """Machines, by the place of their offer, that are rented at some time each."""
        slots = np.array([offer.slots for offer in self._offers])
        offer = np.repeat(machines, slots[machines])
        boot = np.array([offer.boot for offer in self._offers])[offer]
        boot = boot + np.repeat(rented, slots[machines])
        ends = np.empty(len(offer), np.int64)
        makespan = _compiled()(runtimes, offer, boot, ends)
        begins = np.concatenate(([0], np.cumsum(slots[machines])[:-1]))
        stays = np.maximum(np.maximum.reduceat(ends, begins) - rented, 0)
        return int(makespan), self._cost(machines, stays)

    def _cost(self, machines: Runtimes, stays: Runtimes) -> float:
        units = np.array([offer.billing for offer in self._offers])[machines]
        least = np.array([offer.minimum for offer in self._offers])[machines]
        entered = np.maximum(1, -(-np.maximum(stays, least) // units))
        return float((entered * self._price[machines]).sum())


def _in_turn(counts: Counts) -> Runtimes:
    """Machines by the place of their offer, rented one of each offer in turn."""
    turns = range(max(counts))
    found = [place for turn in turns for place, count in enumerate(counts) if turn < count]
    return np.array(found, dtype=np.int64)


@cache
def _compiled() -> Callable[..., Any]:
    let_kernels_call(*plain_fleet.PARTS)
    stamp = stamp_of(map(inspect.getsource, (bag_kernel, plain_fleet)))
    return compile_kept(plain_fleet.run_plain_fleet, stamp)


class Rival:
    """All plain fleets of a market, on some bags."""

    def __init__(self, market: Market, bags: Sequence[Runtimes]) -> None:
        self._runner = FleetRunner(market)
        self._bags = [self._runner.runtimes(bag) for bag in bags]
        first = self._bags[0]
        found = [(self._runner.run(counts, first), counts) for counts in plain_fleets(market)]
        self._fleets = sorted(found)
        self._known: dict[Counts, list[tuple[Time, float]]] = {}

    def best(self, budget: float) -> PlainFleet | None:
        """The fastest that finishes every bag within the budget; None: there is none."""
        best: PlainFleet | None = None
        for (end, cost), counts in self._fleets:
            if best is not None and end > NEAR * best.p90:
                break
            if cost > budget:
                continue
            outcomes = self._outcomes(counts)
            if all(cost <= budget for _, cost in outcomes):
                p90 = float(np.quantile([end for end, _ in outcomes], 0.9))
                if best is None or p90 < best.p90:
                    best = PlainFleet(counts, p90)
        return best

    def _outcomes(self, counts: Counts) -> list[tuple[Time, float]]:
        if counts not in self._known:
            self._known[counts] = [self._runner.run(counts, bag) for bag in self._bags]
        return self._known[counts]


def plain_fleets(market: Market) -> list[Counts]:
    """One offer at any count, two at some, and all, halves and quarters; none twice."""
    limits = [offer.limit or 1 for offer in market.offers]
    found: dict[Counts, None] = {}
    for place, limit in enumerate(limits):
        for count in range(1, limit + 1):
            found[_counts(len(limits), {place: count})] = None
    for part in (1, 2, 4):
        found[tuple(max(1, limit // part) for limit in limits)] = None
    for one, other in combinations(range(len(limits)), 2):
        for count in _some_counts(limits[one]):
            for beside in _some_counts(limits[other]):
                found[_counts(len(limits), {one: count, other: beside})] = None
    return list(found)


def _counts(offers: int, given: dict[int, int]) -> Counts:
    return tuple(given.get(place, 0) for place in range(offers))


def _some_counts(limit: int) -> Iterator[int]:
    count = 1
    while count < limit:
        yield count
        count = max(count + 1, int(count * GROWTH))
    yield limit
