"""Bags of 1,000 tasks on 72 machines of three offers: the compiled kernels beside plain Python.

The study is that of the BaTS thesis (section 4.5.3): 972,000 executions of bags whose tasks are put
in a new random order each time. A part of it is measured, and the time scaled to the whole.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from heapq import heapify, heapreplace
from random import Random
from typing import TYPE_CHECKING

from benchmarks.measure import Goal, Line, Result, best_of

if TYPE_CHECKING:
    from bursar.plan.bag.executions import BagExecutor

STUDY = 972_000
PART = 24_300
TAIL_PART = 4_860
PLAIN_BAGS = 100
THREADS = 2
MOST_SECONDS = 15.0
MOST_SECONDS_WITH_REPLICAS = 60.0
LEAST_RATIO = 30.0
FLEET = {"A": 24, "B": 24, "C": 24}
REPLICATORS = ("stochastic", "random", "stochastic-random", "migrate", "perfect")


def measure(rounds: int) -> Result:
    shop, runtimes = _workshop()
    rivals: dict[str, Callable[[], float]] = {
        "plain Python, heapq": lambda: _plain(runtimes) / PLAIN_BAGS,
        "kernel": partial(_each, shop, "none", PART, 1),
        "kernel, 2 threads": partial(_each, shop, "none", PART, THREADS),
    }
    for name in REPLICATORS:
        rivals[f"{name}, 2 threads"] = partial(_each, shop, name, TAIL_PART, THREADS)
    for name in ("none", *REPLICATORS):
        _each(shop, name, 2, 1)  # compiled, or loaded, before the clock runs
    best = best_of(rivals, rounds)
    return Result(
        title=f"{STUDY:,} bags of {len(runtimes[0]):,} tasks on {sum(FLEET.values())} machines",
        lines=[Line(name, 1e6 * each, "us", "a bag") for name, each in best.items()],
        goals=[
            Goal(
                "kernel beside plain Python, a core each",
                best["plain Python, heapq"] / best["kernel"],
                ">=",
                LEAST_RATIO,
                "times as fast",
            ),
            Goal("the study", STUDY * best["kernel, 2 threads"], "<=", MOST_SECONDS, "s"),
            *(_study_with(name, best[f"{name}, 2 threads"]) for name in REPLICATORS),
        ],
    )


def _study_with(replicator: str, each: float) -> Goal:
    """The study with replicas in the tail, by the clock."""
    return Goal(f"the study with {replicator}", STUDY * each, "<=", MOST_SECONDS_WITH_REPLICAS, "s")


def _workshop() -> tuple[BagExecutor, list[list[int]]]:
    import numpy as np

    from bursar.model.market import Offer
    from bursar.model.money import Money
    from bursar.model.time import HOUR
    from bursar.plan.bag.executions import BagExecutor
    from bursar.simulate.distributions import truncated_levy

    offers = [
        Offer(name, Money.parse(price), HOUR, limit=24, speed=speed)
        for name, price, speed in (("A", 1, 1.0), ("B", 4, 3.0), ("C", 1, 2.0))
    ]
    bag = truncated_levy(np.random.default_rng(0), 1000)
    rows = {offer.name: np.rint(bag / offer.speed).astype(np.int64) for offer in offers}
    return BagExecutor(offers, FLEET, rows), [row.tolist() for row in rows.values()]


def _each(shop: BagExecutor, replicator: str, executions: int, threads: int) -> float:
    """Seconds for a bag."""
    began = time.perf_counter()
    shop.many(executions, replicator, early=30, threads=threads)
    return (time.perf_counter() - began) / executions


def _plain(runtimes: list[list[int]]) -> float:
    """The makespans of some bags as one would write it in Python."""
    rng = Random(0)
    began = time.perf_counter()
    for _ in range(PLAIN_BAGS):
        order = list(range(len(runtimes[0])))
        rng.shuffle(order)
        machines = [(0, number) for number in range(sum(FLEET.values()))]
        heapify(machines)
        for task in order:
            now, number = machines[0]
            heapreplace(machines, (now + runtimes[number % 3][task], number))
        max(machines)
    return time.perf_counter() - began
