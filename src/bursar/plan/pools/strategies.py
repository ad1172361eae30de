"""How a bag is spread over unreliable and reliable machines (ExPERT, sections 3, 5.3 and 6.1).

In the throughput phase every task has one instance at a time on the unreliable pool, given up after
a default deadline. The tail begins when fewer tasks remain than there are unreliable machines. From
then on a strategy NTDMr says how often, how soon and where a task is tried again.
"""

from __future__ import annotations

from math import ceil
from typing import Final

import msgspec

from bursar.beliefs.reliability import DEADLINE_IN_MEANS
from bursar.model.errors import InputError
from bursar.model.money import Money
from bursar.model.strategy import Kind, Strategy
from bursar.model.time import Time

LEAST_RATIO: Final = 0.02
"""The smallest share of reliable machines that is sampled (section 6.1)."""
MOST_COPIES: Final = 3
POINTS: Final = 5
"""Timeouts and deadlines are sampled at so many points of their range (section 6.1)."""
RATIOS: Final = 7
"""Shares of reliable machines are sampled at so many points at most (figure 10)."""
PAPER_BUDGET: Final = (Money.parse("7.50"), 150)
"""The budget of the static strategy `B`, and for how many tasks it is."""


def default_deadline(mean: Time) -> Time:
    """The deadline of an instance in the throughput phase, by the mean turnaround of successes."""
    return DEADLINE_IN_MEANS * mean


def static_strategies(mean: Time, ratio: float, tasks: int) -> list[Strategy]:
    """The seven that users know from experience (section 5.3); `ratio` is the greatest Mr.

    The paper's budget of $7.50 is for 150 tasks; for other bags it is in proportion.
    """
    longest = default_deadline(mean)
    total, bag = PAPER_BUDGET
    budget = Money(total.nanos * tasks // bag)

    def strategy(
        name: str,
        copies: int | None,
        timeout: Time,
        kind: Kind = Kind.NTDMR,
        budget: Money | None = None,
    ) -> Strategy:
        return Strategy(copies, timeout, longest, ratio, name, kind, budget)

    return [
        strategy("AR", 0, 0, Kind.ALL_RELIABLE),
        strategy("TRR", 0, 0),
        strategy("TR", 0, longest),
        strategy("AUR", None, longest),
        strategy("B=7.5", None, longest, Kind.BUDGET, budget),
        strategy("CN-inf", None, longest, Kind.COMBINED),
        strategy("CN1T0", 1, 0, Kind.COMBINED_THEN_BOTH),
    ]


class Resolution(msgspec.Struct, frozen=True):
    """How finely the strategy space is sampled; the paper's, if not given."""

    copies: int = MOST_COPIES
    """N is 0 to this"""
    points: int = POINTS
    """of T and of D"""
    ratios: int = RATIOS
    """of Mr, at most"""


PAPER: Final = Resolution()
FINE: Final = Resolution(copies=4, points=9, ratios=13)
"""Half the paper's steps, and one copy more; it has every strategy of the paper's grid."""


def sampled_strategies(
    mean: Time, ratio: float, unreliable: int, resolution: Resolution = PAPER
) -> list[Strategy]:
    """The strategy space as the paper samples it (section 6.1), each strategy once.

    N is 0 to 3, D and T are at five points of 0 <= T <= D <= 4 means, Mr is 0.02 to `ratio`. An
    instance with D = 0 is given up at once, which is N = 0 with T = 0; and with N = 0 no instance
    has the deadline D. What is the same for these reasons is left out.
    """
    longest = default_deadline(mean)
    points, steps = resolution.points, resolution.points - 1
    deadlines = [max(1, longest * step // steps) for step in range(1, points)]
    pairs = [(part * limit // steps, limit) for limit in deadlines for part in range(points)]
    alone = sorted({timeout for timeout, _ in pairs})
    return [
        Strategy(copies, timeout, deadline, share)
        for share in sampled_ratios(ratio, unreliable, resolution.ratios)
        for copies in range(resolution.copies + 1)
        for timeout, deadline in (pairs if copies else [(one, longest) for one in alone])
    ]


def sampled_ratios(most: float, unreliable: int, points: int = RATIOS) -> list[float]:
    """Values of Mr from 0.02 to `most`, evenly spaced, each with another number of machines."""
    if unreliable < 1:
        raise InputError("no unreliable machine; give at least 1")
    if not 0 < most <= 1:
        raise InputError(f"a ratio of {most:g} reliable machines; use more than 0 and at most 1")
    last = ceil(most * unreliable - 1e-9)
    first = min(last, ceil(LEAST_RATIO * unreliable - 1e-9))
    steps = min(points - 1, last - first)
    counts = [first + (last - first) * step // max(steps, 1) for step in range(steps + 1)]
    return [count / unreliable for count in counts]
