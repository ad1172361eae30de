"""Bounds for `regret`: how fast one could be without hindsight.

Who knows run times before the run still does not know those of these very executions: the plain
fleet without hindsight is chosen as the rival is, but by other executions of the same bag.

Where run times are not known, nobody can tell a budget of 1.1 times the least from one of 3 times
before a task has ended: with the same money, market and number of tasks, only run times differ. So
a run that is to finish with 1.1 begins with a fleet that is safe there. The oracle begins so, and
knows everything as soon as its first task has ended, or once some share of the first ones has: then
it rents what makes the run fastest within the budget. It tries plain fleets, as the rival does;
that a first machine is let go early is not tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np

from bursar.model.time import Time
from bursar.reproduce.regret_cases import RegretCase, Runtimes
from bursar.reproduce.regret_rival import Counts, FleetRunner, PlainFleet, Rival, plain_fleets

SAFE_AT: Final = 1.1
"""The budget, by the least, with which a first fleet must finish ..."""
SAFE: Final = 0.85
"""... so many of the executions."""
FIRST: Final = 10
"""First fleets that are tried: those of the safe ones that do most work in a second."""
FURTHER: Final = 12
"""What they rent later: so many of the fastest with one execution are tried with all."""
NOTHING_MORE: Final = 0
OTHERS: Final = 100
"""Executions by which a fleet is chosen without hindsight ..."""
AMONG_OTHERS: Final = 1_000
"""... which have numbers from here on, so that no run is one of them."""


class Unaided(msgspec.Struct, frozen=True):
    """What a fleet does that was chosen without hindsight."""

    done: float
    """share of the executions that it finishes"""
    ratio: float
    """the 90 % quantile of its times, by the rival's"""


def without_hindsight(
    case: RegretCase, factor: float, runs: int, rival: PlainFleet
) -> Unaided | None:
    """The fastest plain fleet that finishes all of some other executions; None: there is none."""
    budget, runner = float(case.budget(factor)), FleetRunner(case.market)
    others = [case.runtimes(AMONG_OTHERS + run) for run in range(OTHERS)]
    best = Rival(case.market, others).best(budget)
    if best is None:
        return None
    rows = [runner.runtimes(case.runtimes(run)) for run in range(runs)]
    ends, costs = zip(*(runner.run(best.counts, row) for row in rows), strict=True)
    done = float(np.mean(np.array(costs) <= budget))
    return Unaided(done, float(np.quantile(ends, 0.9)) / rival.p90)


def oracle_time(case: RegretCase, factor: float, runs: int, after: float = 0.0) -> float | None:
    """The 90 % quantile of its times, in microseconds; None: no first fleet is safe.

    `after` is the share of its first tasks that have ended when it knows; 0: one of them has.
    """
    runner, budget = FleetRunner(case.market), float(case.budget(factor))
    bags = [case.runtimes(run) for run in range(runs)]
    rows = [runner.runtimes(bag) for bag in bags]
    fleets = plain_fleets(case.market)
    safe = _safe_fleets(case, runner, fleets, bags, factor)
    times = [_fastest(case, runner, first, fleets, rows, budget, after) for first in safe]
    return min((time for time in times if time is not None), default=None)


def _safe_fleets(
    case: RegretCase,
    runner: FleetRunner,
    fleets: Sequence[Counts],
    bags: Sequence[Runtimes],
    factor: float,
) -> list[Counts]:
    """Fleets that finish often enough were tasks so long that the money is `SAFE_AT` the least."""
    budget = float(case.budget(factor))
    longer = [runner.runtimes(np.rint(bag * factor / SAFE_AT)) for bag in bags]
    offers = case.market.offers

    def rate(counts: Counts) -> float:
        return sum(n * one.slots * one.speed for n, one in zip(counts, offers, strict=True))

    found: list[Counts] = []
    for counts in sorted(fleets, key=rate, reverse=True):
        if len(found) == FIRST:
            break
        if runner.run(counts, longer[0])[1] > 1.05 * budget:
            continue  # far too dear in all executions, or nearly
        fits = [runner.run(counts, row)[1] <= budget for row in longer]
        if np.mean(fits) >= SAFE:
            found.append(counts)
    return found


def _fastest(
    case: RegretCase,
    runner: FleetRunner,
    first: Counts,
    fleets: Sequence[Counts],
    rows: Sequence[Runtimes],
    budget: float,
    after: float,
) -> float | None:
    """With a first fleet: the best time of all that may be added once everything is known."""
    limits = [offer.limit or 1 for offer in case.market.offers]
    none = tuple(NOTHING_MORE for _ in limits)
    rooms = [limit - count for limit, count in zip(limits, first, strict=True)]
    more = [none, *(one for one in fleets if all(n <= r for n, r in zip(one, rooms, strict=True)))]
    began = [runner.results_at(first, row, after) for row in rows]
    tried = [(runner.run_later(first, one, began[0], rows[0]), one) for one in more]
    tried = sorted(one for one in tried if one[0][1] <= budget)[:FURTHER]
    best: float | None = None
    for counts in dict.fromkeys([*(one for _, one in tried), none]):
        ends: list[Time] = []
        for row, at in zip(rows, began, strict=True):
            end, cost = runner.run_later(first, counts, at, row)
            if cost > budget:
                break
            ends.append(end)
        if len(ends) == len(rows):
            time = float(np.quantile(ends, 0.9))
            best = time if best is None else min(best, time)
    return best
