"""Lines between the run times on different offers (thesis, section 3.1.3).

BaTS assumes that a task's run times on two offers lie on a line, t_k = intercept + slope * t_j
(equation 3.1), and finds the line from a few tasks that ran on both. `least_squares` is that.
`relate` also doubts it: it leaves outliers out, falls back on a common ratio where tasks are too
much alike for a line, and says so where neither holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from statistics import median
from typing import Final

import msgspec

from bursar.model.errors import InputError

Point = tuple[float, float]
"""A task's run time on the base offer, and on the other."""

FEWEST_POINTS: Final = 3
"""Any two points lie on a line."""
LEAST_FIT: Final = 0.8
"""r^2 below which a line is not believed."""
RATIO_SPREAD: Final = 0.15
"""Deviation of the ratios, relative to their mean, up to which a common ratio is believed."""
OUTLYING: Final = 6.0
"""Residuals beyond so many of their usual size, ..."""
OUTLYING_SHARE: Final = 0.2
"""... and beyond this share of the run time, are left out."""


class Line(msgspec.Struct, frozen=True):
    """From the run time on the base to that on another offer."""

    slope: float
    intercept: float
    r2: float = 1.0
    """share of the variation that the line explains"""
    points: int = 0

    def apply(self, runtime: float) -> float:
        return self.intercept + self.slope * runtime

    def inverse(self) -> Line:
        """Back from the other offer to the base; the slope must not be zero (section 3.1.3)."""
        return Line(1 / self.slope, -self.intercept / self.slope, self.r2, self.points)

    def after(self, first: Line) -> Line:
        """This line, of what `first` makes of a run time."""
        intercept = self.apply(first.intercept)
        points = min(self.points, first.points)
        return Line(self.slope * first.slope, intercept, self.r2 * first.r2, points)


class Relation(msgspec.Struct, frozen=True):
    """What could be found out about two offers."""

    line: Line | None
    """None: no line is to be trusted"""
    outliers: tuple[int, ...] = ()
    """which points were left out"""
    caution: str | None = None
    """what people should know"""


def least_squares(points: Sequence[Point]) -> Line:
    """The published regression; the points' base run times must not all be equal."""
    count = len(points)
    if count < 2:
        raise InputError(f"a line needs two points, there are {count}; time more tasks on both")
    mean_x = sum(x for x, _ in points) / count
    mean_y = sum(y for _, y in points) / count
    xx = sum((x - mean_x) ** 2 for x, _ in points)
    xy = sum((x - mean_x) * (y - mean_y) for x, y in points)
    yy = sum((y - mean_y) ** 2 for _, y in points)
    if xx == 0:
        raise InputError("all tasks took the same time on the base offer: no line fits")
    slope = xy / xx
    # Where all run times on the other offer are equal, the line explains all there is.
    r2 = 1.0 if yy == 0 else xy * xy / (xx * yy)
    return Line(slope, mean_y - slope * mean_x, r2, count)


def relate(points: Sequence[Point], base: str = "the base", offer: str = "the offer") -> Relation:
    """The line from `base` to `offer`, as far as the points carry one.

    A line from `relate` has a slope above zero: what takes longer on one takes longer on both.
    """
    if len(points) < FEWEST_POINTS:
        tasks = f"{len(points)} task{'s' * (len(points) != 1)}"
        return Relation(
            None, caution=f"Only {tasks} ran on both {base} and {offer}: too few for a line."
        )
    outliers = _outliers(points)
    kept = [point for number, point in enumerate(points) if number not in outliers]
    line = _line(kept, min(x for x, _ in points)) or _ratio(kept)
    if line is None:
        return Relation(
            None,
            caution=f"Run times on {offer} do not follow those on {base}.",
        )
    if not outliers:
        return Relation(line)
    left_out = "1 task was" if len(outliers) == 1 else f"{len(outliers)} tasks were"
    note = f"{left_out} left out of {len(points)}: unusually long or short on {offer} or {base}."
    return Relation(line, outliers, note)


def _line(points: Sequence[Point], shortest: float) -> Line | None:
    """The line, if it is to be trusted: rising, close to the points, and never below zero."""
    if len({x for x, _ in points}) < 2:
        return None
    line = least_squares(points)
    is_sound = line.slope > 0 and line.r2 >= LEAST_FIT and line.apply(shortest) > 0
    return line if is_sound else None


def _ratio(points: Sequence[Point]) -> Line | None:
    """A line through the origin, where all tasks agree on it."""
    if any(x <= 0 or y <= 0 for x, y in points):
        return None
    ratios = [y / x for x, y in points]
    mean = sum(ratios) / len(ratios)
    spread = (sum((ratio - mean) ** 2 for ratio in ratios) / (len(ratios) - 1)) ** 0.5
    if spread > RATIO_SPREAD * mean:
        return None
    slope = sum(y for _, y in points) / sum(x for x, _ in points)
    return Line(slope, 0.0, max(0.0, 1 - (spread / mean) ** 2), len(points))


def _outliers(points: Sequence[Point]) -> tuple[int, ...]:
    """Points far from the line through the middle of all (Theil and Sen), at most a quarter.

    The usual size of a residual is 1.4826 times the median, as for a normal distribution.
    """
    slopes = [(y2 - y1) / (x2 - x1) for (x1, y1), (x2, y2) in combinations(points, 2) if x1 != x2]
    slope = median(slopes) if slopes else 0.0
    intercept = median(y - slope * x for x, y in points)
    residuals = [abs(y - intercept - slope * x) for x, y in points]
    usual = 1.4826 * median(residuals)
    far = [
        number
        for number, (residual, (_, y)) in enumerate(zip(residuals, points, strict=True))
        if residual > OUTLYING * usual and residual > OUTLYING_SHARE * abs(y)
    ]
    most = len(points) // 4 if len(points) > FEWEST_POINTS else 0
    return tuple(far) if len(far) <= most else ()
