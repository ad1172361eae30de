"""`expert-runtime`: what it takes to sample the strategy space (ExPERT, sections 6.4 and 4.5).

Seconds are of the machine that computes them. What fewer repetitions and a lower resolution cost in
quality is judged by many repetitions with another seed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import fmean
from typing import Final

import msgspec
import numpy as np

from bursar.model.strategy import Strategy
from bursar.plan.pools.estimator import Estimates, estimate
from bursar.plan.pools.frontier import frontier
from bursar.plan.pools.strategies import PAPER, Resolution, sampled_strategies
from bursar.reproduce.expert_setting import (
    ASSUMED,
    CENT,
    MACHINES,
    MEAN,
    MOST_RATIO,
    REPETITIONS,
    SEED,
    conditions,
    cost_band,
    span_band,
    study,
)
from bursar.reproduce.result import Reproduction, Row, between, checked, judged, shown_only

USUAL: Final = 10
"""repetitions of the paper, about"""
TRIED: Final = (1, USUAL)
SEEDS: Final = 10
"""choices whose mean loss is shown"""
LOW: Final = Resolution(copies=3, points=3, ratios=3)
MINUTES: Final = between(0, 10, "no more than several minutes")
SECONDS: Final = between(0, 10, "no more than several seconds")
DOZENS: Final = between(24, 120, "dozens: from two to ten of them")


class StrategySearch(msgspec.Struct, frozen=True):
    """How good the strategy of least makespan * cost is, and what it took to find it."""

    seconds: float
    loss: float
    """by how much its makespan * cost is above the least, in per cent"""
    error: float
    """mean deviation of estimated makespans and costs, in per cent"""


def reproduce(name: str, repetitions: int = REPETITIONS, seeds: int = SEEDS) -> Reproduction:
    grid = sampled_strategies(MEAN, MOST_RATIO, MACHINES)
    estimate(conditions(), grid[:1], 1)  # whatever is compiled once is not measured
    return Reproduction(
        name=name,
        title="Time to sample the strategy space, and what less of it costs",
        source="ExPERT, sections 6.4 and 4.5",
        rows=(
            *_rows_of_time(grid),
            *_rows_of_repetitions(grid, repetitions, seeds),
            *_rows_of_resolution(grid, repetitions),
        ),
        assumed=(
            *ASSUMED[:2],
            f"{USUAL} repetitions, as in section 6.3, on two threads; the paper had a Core 2 Duo",
            f"choices are by tail makespan * cost, and judged by {repetitions} repetitions with"
            f" another seed; means of {seeds} choices",
            f"a low resolution has {LOW.points} points of T and of D and {LOW.ratios} of Mr,"
            f" instead of {PAPER.points} and {PAPER.ratios}",
        ),
    )


def _rows_of_time(grid: list[Strategy]) -> Iterator[Row]:
    began = time.perf_counter()
    frontier(study(grid, USUAL).tails)
    taken = time.perf_counter() - began
    what = "sampling and frontier, min"
    yield judged(what, "several", taken / 60, MINUTES, note=f"{taken:.2f} s")
    note = "mean of all, which share their throughput phases"
    yield judged("one strategy, s", "several", taken / len(grid), SECONDS, note=note)
    yield judged(
        "strategies that are simulated",
        "dozens",
        len(grid),
        DOZENS,
        why="so many there are with N, T, D and Mr as section 6.1 samples them, each once",
    )


def _rows_of_repetitions(grid: list[Strategy], repetitions: int, seeds: int) -> Iterator[Row]:
    """Fewer repetitions trade accuracy for time."""
    judge = estimate(conditions(), grid, repetitions, seed=SEED)
    found = {count: _chosen(grid, count, judge, seeds) for count in TRIED}
    for count, one in found.items():
        note = f"estimates are off by {one.error:.1f} % on average; {one.seconds:.3f} s"
        what = f"repetitions {count}: makespan * cost of the choice above the least, %"
        yield shown_only(what, None, one.loss, note)
    yield checked(
        f"deviation of estimates with 1 repetition by that with {USUAL}",
        found[1].error / found[USUAL].error,
        between(1, USUAL, "accuracy is lost, and no more than time is saved"),
    )


def _chosen(grid: list[Strategy], count: int, judge: Estimates, seeds: int) -> StrategySearch:
    spans, costs = judge.tails.mean(axis=1), judge.costs.mean(axis=1)
    least = float((spans * costs).min())
    seconds, losses, errors = [], [], []
    for seed in range(SEED + 1, SEED + 1 + seeds):
        began = time.perf_counter()
        found = estimate(conditions(), grid, count, seed=seed)
        their_spans, their_costs = found.tails.mean(axis=1), found.costs.mean(axis=1)
        index = int((their_spans * their_costs).argmin())
        seconds.append(time.perf_counter() - began)
        losses.append(100 * (float(spans[index] * costs[index]) / least - 1))
        apart = np.abs(their_spans / spans - 1), np.abs(their_costs / costs - 1)
        errors.append(100 * float(np.mean(apart)))
    return StrategySearch(fmean(seconds), fmean(losses), fmean(errors))


def _rows_of_resolution(grid: list[Strategy], repetitions: int) -> Iterator[Row]:
    """A low resolution is enough to find the extreme strategies (section 4.5)."""
    low = sampled_strategies(MEAN, MOST_RATIO, MACHINES, LOW)
    every, few = (estimate(conditions(), some, repetitions, seed=SEED) for some in (grid, low))
    cheapest, cheap = (CENT * float(one.costs.mean(axis=1).min()) for one in (every, few))
    why = f"{len(low)} strategies instead of {len(grid)} leave it out"
    yield judged(
        "low resolution: cost of the cheapest by that of the paper's",
        "enough to find it",
        cheap / cheapest,
        cost_band(1),
        note=f"{cheap:.3f} and {cheapest:.3f} cent/task",
        why=why,
    )
    fastest, fast = (float(one.tails.mean(axis=1).min()) for one in (every, few))
    what = "low resolution: tail of the fastest by that of the paper's"
    yield judged(what, "enough to find it", fast / fastest, span_band(1), why=why)
    product, other = (
        float((one.tails.mean(axis=1) * one.costs.mean(axis=1)).min()) for one in (every, few)
    )
    what = "low resolution: least makespan * cost by that of the paper's"
    yield shown_only(what, None, other / product)
