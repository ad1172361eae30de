"""Which autoscaler is best: three ways of ranking by many metrics (workload thesis, 4.8).

In two things the thesis computes otherwise than it prints, as table 4.7 shows. The fractional
score is the mean of signed differences to the best, relative to the best (4.15 prints a sum of
absolute ones). For the deviation of the elastic slowdown the best is that of an autoscaler, since
without one every slowdown is 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.model.errors import InputError, instead_of, shown


class RankedFigures(msgspec.Struct, frozen=True):
    """What autoscalers are ranked by; less is better of each."""

    under: float
    over: float
    under_time: float
    over_time: float
    over_trend: float
    under_trend: float
    slowdown: float
    """mean elastic slowdown"""
    slowdown_deviation: float
    hours: float
    """accounted, mean of machines"""


class Scores(msgspec.Struct, frozen=True):
    """One row of table 4.7."""

    pairwise: float
    """a point for each metric of each other that is worse, half a point for an equal one"""
    fractional: float
    """how far from the best, on the mean of metrics; less is better"""
    elasticity: float
    """s (4.16): above 1, better than without an autoscaler"""
    user: float
    """u (4.17)"""
    overall: float
    """o (4.18)"""


_DEVIATION: Final = RankedFigures.__struct_fields__.index("slowdown_deviation")


def rank(rows: Mapping[str, RankedFigures], without: str) -> dict[str, Scores]:
    """Scores by name; `without` names the row of the system that has no autoscaler."""
    names = list(rows)
    if without not in rows:
        raise InputError(f"no row {shown(without)} to compare with; {instead_of(without, names)}")
    figures = np.array([msgspec.structs.astuple(row) for row in rows.values()], np.float64)
    base = names.index(without)
    elasticity, user = _aggregated(figures, base)
    found = zip(_pairwise(figures), _fractional(figures, base), elasticity, user, strict=True)
    return {
        name: Scores(float(points), float(far), float(s), float(u), float(np.sqrt(s * u)))
        for name, (points, far, s, u) in zip(names, found, strict=True)
    }


def _pairwise(figures: NDArray[np.float64]) -> NDArray[np.float64]:
    one, other = figures[:, None, :], figures[None, :, :]
    points = (one < other) + 0.5 * (one == other)
    own = 0.5 * figures.shape[1]  # nobody competes with itself
    return np.asarray(points.sum(axis=(1, 2)) - own, np.float64)


def _fractional(figures: NDArray[np.float64], base: int) -> NDArray[np.float64]:
    best = figures.min(axis=0)
    others = np.delete(figures, base, axis=0)
    if len(others):
        best[_DEVIATION] = others[:, _DEVIATION].min()
    share = (figures - best) / np.where(best == 0, 1, best)
    return np.asarray(share.mean(axis=1), np.float64)


def _aggregated(
    figures: NDArray[np.float64], base: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Geometric means of what the base has over what each has: s and u.

    Neither is a number where a row has none of what is divided by.
    """
    pairs = figures[:, 0:6:2] + figures[:, 1:6:2]  # accuracy, time share, instability
    slowdown, hours = figures[:, 6], figures[:, 8]
    with np.errstate(divide="ignore", invalid="ignore"):
        elasticity = np.prod(pairs[base] / pairs, axis=1) ** (1 / 3)
        user = np.sqrt(hours[base] / hours * slowdown[base] / slowdown)
    return elasticity, user
