"""Which work is served next: the keys of the placers for workloads of workflows.

The least key goes first; of equal keys the work that arrived first. The engine's placers call these
functions, and the compiled event loop is made of them: a placer differs from another in its key
alone. Sections and equations are those of the thesis on workloads of workflows.

Run times and ranks are whole microseconds on a machine of speed 1, so that ties are exact.
"""

from __future__ import annotations

from typing import Final

RESERVE: Final = 0
"""`sr`, `slop` and `fes`: no key, but machines reserved for works in the order of their arrival"""
BACKFILL: Final = 1
CPP: Final = 2
OWM: Final = 3
OWM_HIGHEST: Final = 4
FDWS: Final = 5
HR: Final = 6
FWP: Final = 7
STRETCH: Final = 8

SOONEST: Final = -1e300
"""before all others: a work of which nothing takes any time"""
USELESS: Final = 0
ROUGH: Final = 1
RIGHT: Final = 2
"""how far estimates are worth following"""
ROUGHLY: Final = 30
"""percent: by how much right verdicts must outnumber wrong ones to follow estimates at all ..."""
RIGHTLY: Final = 90
"""... and to take slowdowns by them for true"""


def by_arrival() -> float:
    """`backfill`, `cpp` (3.3.2, 3.3.3): first come, first served."""
    return 0.0


def lowest_rank(rank: float) -> float:
    """`owm` as its results have it, and `hr` (3.3.4, 3.3.6)."""
    return float(rank)


def highest_rank(rank: float) -> float:
    """`owm` by the letter (3.3.4)."""
    return -float(rank)


def share_left(left: int, tasks: int, path: float) -> float:
    """`fdws` (3.3): the inverse of its rank, (m / p) c, rounded once."""
    return float(left * path) / tasks


def slowdown(age: int, scale: float, path_left: float, path: float) -> float:
    """What slowdown a work would have if the rest took as long as its critical path (3.5).

    `scale` is the mean speed of machines over the correction coefficient, as times on the clock are
    compared with those at speed 1.
    """
    return (age * scale + path_left) / path


def most_delayed(age: int, scale: float, path_left: float, path: float) -> float:
    """`fwp` (3.7), without the target slowdown: it is subtracted from all alike."""
    if path == 0:
        return SOONEST
    return -slowdown(age, scale, path_left, path)


def stretched(
    age: int, scale: float, path_left: float, path: float, work_left: float, power: int
) -> float:
    """`stretch`: the slowdown to a power, over the path times the work that is left.

    A work that suffers goes first, but one that costs the others less suffers more.
    """
    if path == 0 or work_left == 0:
        return SOONEST
    base = slowdown(age, scale, path_left, path)
    urgency = 1.0
    for _ in range(power):
        urgency *= base
    return -urgency / (float(path) * float(work_left))


def verdict(took: int, expected: float, other_took: int, other_expected: float) -> int:
    """Whether estimates put two works in the right order: 1, in the wrong one: -1, or in none: 0.

    Of each work it is about the second half of its tasks, as it was expected when that began.
    """
    if took == other_took or expected == other_expected:
        return 0
    return 1 if (took > other_took) == (expected > other_expected) else -1


def trust(agreed: int, compared: int, least: int) -> int:
    """How far estimates are worth following, by the verdicts on the last works, and their sum."""
    if compared < least or agreed * 100 >= compared * RIGHTLY:
        return RIGHT
    return ROUGH if agreed * 100 >= compared * ROUGHLY else USELESS


KEYS: Final = (
    by_arrival,
    lowest_rank,
    highest_rank,
    share_left,
    slowdown,
    most_delayed,
    stretched,
    verdict,
    trust,
)
"""what the compiler is to know"""
