"""The fleets that no other beats in time and cost, with a confidence.

A formula leaves out what is far too bad, a few executions what is bad, many executions decide. The
fleets next to the good ones are tried until none is better.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.model.goal import Goal
from bursar.plan.bag.fleet_candidates import (
    MOST_ENUMERATED,
    QuickEstimate,
    all_fleets,
    first_fleets,
    neighbours,
    single_machines,
)
from bursar.plan.bag.fleet_judge import DRAWS, FleetJudge, Floats, Integers, Outcomes, SampledBag

ROUNDS: Final = 2
"""of moves"""
FURTHER_ROUNDS: Final = 3
FURTHER_SEARCHED: Final = 16
"""Moves from the ends, and from what the goal asks for."""
BESIDE: Final = 2
"""Plans on each side of those that get a name that are judged by all draws."""
SEARCHED: Final = 72
"""Fleets that are executed in a round."""
SHOWN: Final = 24
MOST_SHOWN: Final = 500
"""Fleets of which some are shown: more, where more rows are asked for."""
CELLS: Final = 24
"""Parts of the time between the slowest and the fastest, each with as many candidates."""
SLACK: Final = 1.03
"""Fleets that are beaten by no more than this are looked at again, with more executions."""
SEARCH_STEPS: Final = 3_000_000
SHOWN_STEPS: Final = 4_000_000
"""Tasks executed in a round of the search, and at the end, unless the fewest draws are more."""
FEW_OFFERS: Final = 8
"""Where there are more, only some are looked at closely."""
MOST_OFFERS: Final = 12
SCOUT_DRAWS: Final = 16
NEAR_FRONTIER: Final = 1.1
"""An offer all of whose fleets are worse than others by more than this is of no use."""
FEWEST_DRAWS: Final = 20
FEWEST_SHOWN: Final = 64


class JudgedFleet(msgspec.Struct, frozen=True):
    """A fleet of the frontier."""

    fleet: dict[str, int]
    outcomes: Outcomes


def find_frontier(
    sampled: SampledBag,
    confidence: float,
    *,
    goal: Goal | None = None,
    seed: int = 0,
    rows: int = 0,
) -> list[JudgedFleet]:
    """Cheapest first; finer next to what the goal asks for, and where more rows are to be shown."""
    return FrontierSearch(sampled, confidence, goal, seed=seed, rows=rows).find()


class FrontierSearch:
    def __init__(
        self,
        sampled: SampledBag,
        confidence: float,
        goal: Goal | None = None,
        *,
        seed: int = 0,
        rows: int = 0,
    ) -> None:
        self.goal = goal or Goal()
        self.sampled, self.confidence = _useful(sampled, seed), confidence
        easily = min(4 * SHOWN, SHOWN_STEPS // (DRAWS * sampled.tasks))
        self.shown = min(max(SHOWN, easily, 2 * rows), MOST_SHOWN)
        """fleets that are executed by all draws"""
        self.searched = max(SEARCHED, self.shown)
        """fleets that are executed in a round"""
        self.shown_draws = _affordable(SHOWN_STEPS // (SHOWN * sampled.tasks), FEWEST_SHOWN)
        self.search_draws = _affordable(SEARCH_STEPS // (SEARCHED * sampled.tasks), FEWEST_DRAWS)
        self.is_fine = rows > SHOWN
        """so many rows are asked for that a second or two may be spent on them"""
        if self.is_fine:
            self.search_draws = min(2 * self.search_draws, self.shown_draws)
        self.judge = FleetJudge(self.sampled, seed=seed, draws=self.shown_draws)
        self.counts = np.zeros((0, len(self.sampled.offers)), dtype=np.int64)
        self.points = np.zeros((0, 2))
        """time and cost of the counts, by few executions"""

    @cached_property
    def quick(self) -> QuickEstimate:
        return QuickEstimate(self.sampled, self.judge.bag)

    def find(self) -> list[JudgedFleet]:
        everything = all_fleets(self.quick, MOST_ENUMERATED * (5 if self.is_fine else 1))
        if everything is not None:
            self._execute(everything)
        else:
            self._search()
        return self._decide()

    def _search(self) -> None:
        counts = first_fleets(self.quick)
        points = self.quick.bounds(counts)
        self._execute(counts[_best(points, self.searched)])
        for _ in range(2 * ROUNDS if self.is_fine else ROUNDS):
            good = np.flatnonzero(is_unbeaten(self.points))
            found = self._next_to(good[_best(self.points[good], self.shown)])
            if not len(found):
                return
            self._execute(found)
        for _ in range(FURTHER_ROUNDS):
            found = self._next_to(self._targets())
            if not len(found):
                return
            self._execute(found[:FURTHER_SEARCHED])

    def _targets(self, beside: int = 0) -> NDArray[np.int64]:
        """The plans that get a name: both ends, and what the goal asks for; and those beside."""
        front = np.flatnonzero(is_unbeaten(self.points))
        front = front[np.argsort(self.points[front, 0])]
        times, costs = self.points[front, 0], self.points[front, 1]
        targets = [0, len(front) - 1]
        if self.goal.budget is not None:
            targets.append(int(np.searchsorted(-costs, -self.goal.budget.nanos)))
        if self.goal.deadline is not None:
            targets.append(int(np.searchsorted(times, self.goal.deadline, side="right")) - 1)
        reach = range(-beside, beside + 1)
        places = {min(max(place + step, 0), len(front) - 1) for place in targets for step in reach}
        targeted: NDArray[np.int64] = front[sorted(places)]
        return targeted

    def _next_to(self, good: NDArray[np.int64]) -> Integers:
        """The neighbours that may be on the frontier.

        What the formula says of one is corrected by how it errs for the fleet that it is next to.
        """
        counts, points = [], []
        quick = self.quick.bounds(self.counts[good])
        for place, number in enumerate(good):
            near = neighbours(self.quick, self.counts[number][None])
            counts.append(near)
            points.append(self.quick.bounds(near) / quick[place] * self.points[number])
        every, expected = np.concatenate(counts), np.concatenate(points)
        is_new = ~_seen_before(every, self.counts)
        every, expected = every[is_new], expected[is_new]
        beaten = shortfall(expected, self.points)
        promising = np.flatnonzero(beaten <= SLACK)
        order = promising[np.argsort(beaten[promising], kind="stable")]
        return every[order[: self.searched]]

    def _execute(self, counts: Integers) -> None:
        points = self.judge.bounds(counts, self.confidence, self.search_draws)
        self.counts = np.concatenate([self.counts, counts])
        self.points = np.concatenate([self.points, points])

    def _decide(self) -> list[JudgedFleet]:
        """By all draws: those near the frontier, and every machine that might do it alone."""
        near = np.flatnonzero(shortfall(self.points, self.points) <= SLACK)
        chosen = near[_best(self.points[near], self.shown)]
        wanted = self.counts[np.concatenate([chosen, self._targets(BESIDE)])]
        counts = np.concatenate([wanted, single_machines(self.quick)])
        counts = counts[~_seen_before(counts, counts[:0])]
        found = self.judge.outcomes(counts)
        points = np.array(
            [(one.makespan(self.confidence), float(one.cost(self.confidence))) for one in found]
        )
        front = np.flatnonzero(is_unbeaten(points))
        front = front[np.lexsort((points[front, 0], points[front, 1]))]
        names = [offer.name for offer in self.sampled.offers]
        return [
            JudgedFleet(
                {name: int(n) for name, n in zip(names, counts[number], strict=True) if n},
                found[number],
            )
            for number in front
        ]


def is_unbeaten(points: Floats) -> NDArray[np.bool_]:
    """Points that no other equals or beats in both; of equal ones the first."""
    order = np.lexsort((points[:, 1], points[:, 0]))
    kept = np.zeros(len(points), dtype=np.bool_)
    least = np.inf
    for number in order:
        if points[number, 1] < least:
            least = points[number, 1]
            kept[number] = True
    return kept


def shortfall(points: Floats, others: Floats) -> Floats:
    """By which factor a point would have to be better in both to be beaten by none; at least 1."""
    front = others[is_unbeaten(others)]
    if not len(front):
        return np.ones(len(points))
    front = np.log(np.maximum(front[np.argsort(front[:, 0])], 1e-9))
    own = np.log(np.maximum(points, 1e-9))
    # Along the frontier one ratio falls and the other rises: the least of both is most where they
    # cross.
    cross = np.searchsorted(front[:, 0] - front[:, 1], own[:, 0] - own[:, 1])
    worst = np.zeros(len(points))
    for near in (np.maximum(cross - 1, 0), np.minimum(cross, len(front) - 1)):
        worst = np.maximum(worst, (own - front[near]).min(axis=1))
    factor: Floats = np.exp(worst)
    return factor


def _best(points: Floats, most: int) -> NDArray[np.int64]:
    """The least beaten, evenly from the slowest to the fastest, and always these two themselves."""
    if len(points) <= most:
        return np.arange(len(points))
    beaten = shortfall(points, points)
    times = np.log(np.maximum(points[:, 0], 1.0))
    span = max(float(np.ptp(times)), 1e-9)
    cell = np.minimum((CELLS * (times - times.min()) / span).astype(np.int64), CELLS - 1)
    order = np.lexsort((beaten, cell))
    place_in_cell = np.empty(len(points), dtype=np.int64)
    starts = np.searchsorted(cell[order], np.arange(CELLS))
    place_in_cell[order] = np.arange(len(points)) - starts[cell[order]]
    unbeaten = np.flatnonzero(beaten <= 1.0)
    is_end = np.zeros(len(points), dtype=np.bool_)
    is_end[unbeaten[points[unbeaten].argmin(axis=0)]] = True
    first = np.lexsort((beaten, place_in_cell, beaten > 1.0, ~is_end))
    return first[:most]


def _seen_before(rows: Integers, before: Integers) -> NDArray[np.bool_]:
    """Rows that stand before, or earlier among these."""
    known, found = set(_keys(before)), []
    for key in _keys(rows):
        found.append(key in known)
        known.add(key)
    return np.array(found, dtype=np.bool_)


def _keys(rows: Integers) -> list[object]:
    """Rows as something that a set can hold."""
    whole_row = np.dtype((np.void, rows.itemsize * rows.shape[1]))
    return list(np.ascontiguousarray(rows).view(whole_row).ravel().tolist())


def _useful(sampled: SampledBag, seed: int) -> SampledBag:
    """Without the offers that are in no fleet near the frontier, where there are many."""
    if len(sampled.offers) <= FEW_OFFERS:
        return sampled
    scout = FleetJudge(sampled, seed=seed, draws=SCOUT_DRAWS, scouting=True)
    quick = QuickEstimate(sampled, scout.bag)
    counts = first_fleets(quick)
    points = quick.bounds(counts)
    beaten = shortfall(points, points)
    used = np.zeros(len(sampled.offers))
    for offer in range(len(used)):
        within = beaten[counts[:, offer] > 0]
        used[offer] = within.min() if len(within) else np.inf
    best = np.argsort(used, kind="stable")[:MOST_OFFERS]
    kept = sorted(int(offer) for offer in best if used[offer] <= NEAR_FRONTIER)
    return SampledBag(
        tuple(sampled.offers[offer] for offer in kept),
        tuple(sampled.samples[offer] for offer in kept),
        sampled.tasks,
        sampled.paired,
        sampled.known_from,
    )


def _affordable(draws: int, fewest: int) -> int:
    return max(fewest, min(DRAWS, draws))
