"""How well the supply of machines followed the demand (workload thesis, 4.3.2 to 4.3.6).

Demand is the slots that ready and running tasks could use, supply those that are rented, both at
equal steps of time. Steps at which demand is beyond the size of the system are left out: no
autoscaler could have served it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from bursar.model.errors import InvariantError
from bursar.model.time import HOUR, Time


class Elasticity(msgspec.Struct, frozen=True):
    """Shares from 0 to 1, but for what is normalised; less is better of each but `supply`."""

    under: float
    """a_U (4.1): mean of the demand that was not served, as a share of the system"""
    over: float
    """a_O (4.2): mean of the supply that was not asked for, as a share of the system"""
    under_normalised: float
    """(4.3): the same as a share of the demand at each step"""
    over_normalised: float
    """(4.4)"""
    idle: float
    """m_U (4.5): mean of idle slots, as a share of the system"""
    under_time: float
    """t_U (4.6): share of time with less supply than demand"""
    over_time: float
    """t_O (4.7): share of time with more"""
    over_trend: float
    """k (4.8): share of steps at which supply rose more than demand, by sign"""
    under_trend: float
    """k' (4.9): share of steps at which demand did"""
    supply: float
    """V (4.10): mean number of slots"""


def elasticity(
    demand: ArrayLike, supply: ArrayLike, size: int, idle: ArrayLike | None = None
) -> Elasticity:
    """All metrics of two series at equal steps.

    Where idle slots are not given, they are what supply exceeds demand by.
    """
    wanted, given = np.asarray(demand, np.float64), np.asarray(supply, np.float64)
    if wanted.shape != given.shape or wanted.ndim != 1 or not len(wanted):
        raise InvariantError("demand and supply are series of one length, of at least one step")
    counted = wanted <= size
    if not counted.any():
        raise InvariantError("demand is beyond the size of the system at every step")
    missing, spare = np.maximum(wanted - given, 0), np.maximum(given - wanted, 0)
    unused = spare if idle is None else np.asarray(idle, np.float64)
    rises, falls = _trends(wanted, given, counted)
    return Elasticity(
        under=_mean(missing, counted) / size,
        over=_mean(spare, counted) / size,
        under_normalised=_mean(missing / np.maximum(wanted, 1), counted),
        over_normalised=_mean(spare / np.maximum(wanted, 1), counted),
        idle=_mean(unused, counted) / size,
        under_time=_mean(missing > 0, counted),
        over_time=_mean(spare > 0, counted),
        over_trend=rises,
        under_trend=falls,
        supply=_mean(given, counted),
    )


def _mean(values: NDArray[np.float64] | NDArray[np.bool_], counted: NDArray[np.bool_]) -> float:
    return float(values[counted].mean())


def _trends(
    wanted: NDArray[np.float64], given: NDArray[np.float64], counted: NDArray[np.bool_]
) -> tuple[float, float]:
    """How k and k' come out of the changes between neighbouring steps that both count."""
    both = counted[1:] & counted[:-1]
    if not both.any():
        return 0.0, 0.0
    more = np.sign(np.diff(given)) - np.sign(np.diff(wanted))
    return float((more[both] > 0).mean()), float((more[both] < 0).mean())


# --- hours ---------------------------------------------------------------------------------------


def charged_hours(stays: Iterable[tuple[Time, Time]], unit: Time = HOUR) -> float:
    """What machines were up for where every stay is paid in whole units (4.13), in hours.

    A stay is from its begin to its end.
    """
    return sum(-(-(end - begin) // unit) for begin, end in stays) * unit / HOUR


# --- what users feel -----------------------------------------------------------------------------


class WorkMoments(msgspec.Struct, frozen=True):
    """How a figure that every work has is spread, as in table 4.6."""

    mean: float
    deviation: float
    skewness: float
    kurtosis: float
    """in excess of the normal distribution's; -3 where all are alike, as printed"""


def moments(values: Sequence[float]) -> WorkMoments:
    """The figures are the whole population, not a sample."""
    figures = np.asarray(values, np.float64)
    mean, deviation = float(figures.mean()), float(figures.std())
    if deviation == 0:
        return WorkMoments(mean, 0.0, 0.0, -3.0)
    standard = (figures - mean) / deviation
    return WorkMoments(
        mean, deviation, float((standard**3).mean()), float((standard**4).mean()) - 3.0
    )


def elastic_slowdowns(responses: Sequence[float], without: Sequence[float]) -> NDArray[np.float64]:
    """S_e of each work: its response time, over that in a system whose machines are always up."""
    return np.asarray(responses, np.float64) / np.asarray(without, np.float64)
