"""Looking closer where it matters: strategies near the frontier of a coarse grid (ExPERT, 4.4).

The grid is estimated first. Then, in rounds of ever smaller steps, the neighbours of the
strategies on the frontier are estimated, too. Nothing that was estimated is forgotten: whatever is
preferred, the best found is never worse than the best of the grid. The estimates must be made with
the same random numbers in every round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, Literal

import msgspec

from bursar.model.strategy import Kind, Strategy
from bursar.model.time import Time
from bursar.plan.dominance import Point
from bursar.plan.pools.frontier import frontier
from bursar.plan.pools.strategies import (
    FINE,
    PAPER,
    POINTS,
    default_deadline,
    sampled_ratios,
    sampled_strategies,
)

Estimate = Callable[[Sequence[Strategy]], Sequence[Point]]
"""The mean makespan in seconds and the mean cost of each strategy."""
Grid = Literal["paper", "fine", "adaptive"]

ROUNDS: Final = 4
"""In each the steps are half those of the one before."""
MOST_COPIES: Final = 6
"""N is refined up to this; beyond it the trade-off is practically nonexistent (section 6.1)."""
MOST_CENTRES: Final = 24
"""Points of the frontier whose neighbours are looked at in a round, evenly spread if more."""


class Space(msgspec.Struct, frozen=True):
    """What strategies there can be for a bag."""

    mean: Time
    """turnaround time of results"""
    ratio: float
    """the greatest Mr"""
    unreliable: int
    """machines of the unreliable pool"""


class Searched(msgspec.Struct, frozen=True):
    """All strategies that were estimated, each once, and their points in the same order."""

    strategies: list[Strategy]
    points: list[Point]

    @property
    def frontier(self) -> list[int]:
        """Those that no other beats, from the cheapest to the fastest."""
        return frontier(self.points)


def search(space: Space, estimate: Estimate, grid: Grid = "adaptive") -> Searched:
    """Estimate a grid, and refine it if it is to be adaptive."""
    resolution = FINE if grid == "fine" else PAPER
    start = sampled_strategies(space.mean, space.ratio, space.unreliable, resolution)
    return refine(space, estimate, start, rounds=ROUNDS if grid == "adaptive" else 0)


def refine(
    space: Space, estimate: Estimate, start: Sequence[Strategy], rounds: int = ROUNDS
) -> Searched:
    """Estimate `start`, then round by round the neighbours of what is on the frontier by then."""
    found = Searched(list(start), list(estimate(start)))
    known = set(start)
    for halving in range(1, rounds + 1):
        centres = [found.strategies[index] for index in _spread(found.frontier)]
        around = (one for centre in centres for one in neighbours(centre, space, halving))
        near = list(dict.fromkeys(one for one in around if one not in known))
        if near:
            known.update(near)
            found.strategies.extend(near)
            found.points.extend(estimate(near))
    return found


def neighbours(centre: Strategy, space: Space, halving: int) -> Iterator[Strategy]:
    """Strategies that differ from it in one parameter by a step of the grid, halved so often.

    T stays the same part of D where D changes. Only NTDMr strategies have neighbours.
    """
    if centre.kind != Kind.NTDMR or centre.copies is None:
        return
    longest, parts = default_deadline(space.mean), (POINTS - 1) << halving
    copies, timeout, deadline = centre.copies, centre.timeout, centre.deadline
    for sign in (-1, 1):
        wanted = deadline + sign * longest // parts
        yield from _valid(copies, timeout * wanted // deadline, wanted, centre.ratio, longest)
        wanted = timeout + sign * max(1, deadline // parts)
        yield from _valid(copies, wanted, deadline, centre.ratio, longest)
        yield from _valid(copies + sign, timeout, deadline, centre.ratio, longest)
    for ratio in _near_ratios(centre, space, halving):
        yield from _valid(copies, timeout, deadline, ratio, longest)


def _valid(
    copies: int, timeout: Time, deadline: Time, ratio: float, longest: Time
) -> Iterator[Strategy]:
    """The strategy, if there is one; where N is 0 no instance has a deadline of its own."""
    deadline = deadline if copies else longest
    is_possible = 0 <= copies <= MOST_COPIES and 1 <= deadline <= longest
    if is_possible and 0 <= timeout <= deadline:
        yield Strategy(copies, timeout, deadline, ratio)


def _near_ratios(centre: Strategy, space: Space, halving: int) -> Iterator[float]:
    """One step of Mr less and more, at least a machine."""
    ratios = sampled_ratios(space.ratio, space.unreliable)
    first, last = round(ratios[0] * space.unreliable), round(ratios[-1] * space.unreliable)
    step = max(1, (last - first) // max(1, len(ratios) - 1) >> halving)
    count = centre.reliable_machines(space.unreliable)
    for near in (count - step, count + step):
        if 1 <= near <= last:
            yield near / space.unreliable


def _spread(front: Sequence[int]) -> list[int]:
    """All of them, or so many evenly spread ones with both ends."""
    if len(front) <= MOST_CENTRES:
        return list(front)
    last = len(front) - 1
    return [front[last * place // (MOST_CENTRES - 1)] for place in range(MOST_CENTRES)]


def search_strategies(
    mean: Time,
    ratio: float,
    unreliable: int,
    points_of: Callable[[Sequence[Strategy]], list[Point]],
    *,
    quickest: Time,
) -> Searched:
    """Estimate the strategies that there can be, of those without reliable machines if the ratio
    is 0; then none gives an instance up before the quickest result could have come.
    """
    space = Space(mean, ratio, unreliable)
    if ratio > 0:
        return search(space, points_of)
    longest, steps = default_deadline(mean), POINTS - 1
    alone = [
        Strategy(None, longest * part * whole // steps**2, longest * whole // steps, 0.0)
        for whole in range(1, POINTS)
        for part in range(1, POINTS)
    ]
    possible = [one for one in alone if one.deadline > quickest]
    return refine(space, points_of, possible, rounds=0)
