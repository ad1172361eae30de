"""Models that forecast a load from the loads so far: what `conpaas` chooses from.

All are fitted by least squares in closed form. Tests find the forecasts of statsmodels, which takes
20 times as long and is not needed here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from math import floor, isfinite, log
from operator import mul
from typing import Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Forecast = Callable[[Floats], Floats]
"""The loads of the next intervals, from those so far, oldest first."""

AHEAD: Final = 20
"""Intervals that are forecast."""
LAGS: Final = 9
"""Loads before the present one that autoregression looks at."""
WINDOW: Final = 120
"""Loads that a model of several is fitted to."""
LEVELS: Final = (0.2, 0.5, 0.8)
"""Smoothing levels that are tried: an optimiser would take ten times as long."""
NOTHING: Final = 1e-15
"""A singular value that is smaller, as a share of the largest, is none."""
APART: Final = 1e-6
"""The least share of the largest eigenvalue that all have, so that the equations are exact."""


def forecasts(loads: Sequence[float] | Floats) -> dict[str, Floats]:
    """What each model tells of the next intervals; one that does not fit tells the last load."""
    series = np.asarray(loads, dtype=np.float64)
    return {model: forecast_by(forecast, series) for model, forecast in MODELS.items()}


def forecast_by(forecast: Forecast, series: Floats) -> Floats:
    """What one model tells of the next intervals; the last load where it does not fit."""
    try:
        ahead = forecast(series)
    except np.linalg.LinAlgError:
        return np.full(AHEAD, series[-1])
    return ahead if isfinite(float(ahead.sum())) else np.full(AHEAD, series[-1])


# --- linear regression and smoothing --------------------------------------------------------------


def line(series: Floats) -> Floats:
    """The straight line that fits best, continued."""
    steps = np.arange(len(series), dtype=np.float64)
    centre = steps.mean()
    apart = steps - centre
    slope = float(apart @ series) / float(apart @ apart)
    later = len(series) + np.arange(AHEAD) - centre
    return np.asarray(series.mean() + slope * later, dtype=np.float64)


def smoothing(series: Floats) -> Floats:
    """The level with the least squares of errors one interval ahead; it stays as it is."""
    fits = []
    for share in LEVELS:
        levels = _levels(series[-WINDOW:], share)
        errors = series[-WINDOW:] - levels[:-1]
        fits.append((float(errors @ errors), float(levels[-1])))
    return np.full(AHEAD, min(fits)[1])


def _levels(series: Floats, share: float) -> Floats:
    """The level before each load, and after the last; it begins with the first load."""
    weights, first = _smoothing_weights(share)
    count = len(series)
    found: Floats = weights[: count + 1, :count] @ series + first[: count + 1] * series[0]
    return found


@cache
def _smoothing_weights(share: float) -> tuple[Floats, Floats]:
    """By place, how much each load before it counts in its level, and the level of the begin."""
    steps = np.arange(WINDOW + 1, dtype=np.float64)
    ago = steps[:, np.newaxis] - 1 - steps[np.newaxis, :WINDOW]
    weights = np.where(ago >= 0, share * (1 - share) ** np.maximum(ago, 0), 0.0)
    return weights, (1 - share) ** steps


# --- autoregression, alone and with a moving average ----------------------------------------------


def autoregression(series: Floats) -> Floats:
    """A constant and the last loads, by least squares; of solutions, the one with least squares.

    Each forecast takes those before it for loads.
    """
    lags = min(LAGS, len(series) // 2 - 2)
    known = np.ones((len(series) - lags, 1 + lags))
    known[:, 1:] = _lagged(series, lags)
    weights = _least_squares(known, series[lags:])
    constant, *by_lag = weights.tolist()
    latest = series[: -1 - lags : -1].tolist()
    ahead: list[float] = []
    for _ in range(AHEAD):
        ahead.append(constant + sum(map(mul, by_lag, latest)))
        latest = [ahead[-1], *latest[:-1]]
    return np.array(ahead)


def moving_average(series: Floats) -> Floats:
    """ARMA(1, 1) around the mean: the last load and the last shock; the last load if it explodes.

    The shock is what the model did not foresee of the last load.
    """
    mean = float(series.mean())
    loads = (series - mean).tolist()
    towards, echo = arma_weights(series)
    if abs(towards) >= 1 or abs(echo) >= 1:
        return np.full(AHEAD, series[-1])
    shock = 0.0
    for before, load in pairwise(loads):
        shock = load - towards * before - echo * shock
    first = towards * loads[-1] + echo * shock
    return np.asarray(mean + first * towards ** np.arange(AHEAD), dtype=np.float64)


def arma_weights(series: Floats) -> tuple[float, float]:
    """The weights of the last load and of the last shock, by Hannan and Rissanen.

    A long autoregression (Yule and Walker) tells the shocks; then both weights are found by least
    squares. Raises `LinAlgError` where all loads are alike.
    """
    loads = series - series.mean()
    order = max(floor(log(len(loads)) ** 2), 2)
    shocks = loads[order:] - _lagged(loads, order) @ _yule_walker(loads, order)
    known = np.column_stack([loads[order:-1], shocks[:-1]])
    towards, echo = _least_squares(known, loads[order + 1 :]).tolist()
    return towards, echo


def _yule_walker(loads: Floats, order: int) -> Floats:
    """The weights of an autoregression that has these covariances."""
    last = len(loads) - 1
    covariances = np.correlate(loads, loads, "full")[last : last + order + 1]
    apart = np.abs(np.subtract.outer(np.arange(order), np.arange(order)))
    return np.asarray(np.linalg.solve(covariances[apart], covariances[1:]), dtype=np.float64)


def _lagged(loads: Floats, order: int) -> Floats:
    """By load from the place `order` on, the loads before it, latest first."""
    return sliding_window_view(loads[:-1], order)[:, ::-1]


def _least_squares(known: Floats, wanted: Floats) -> Floats:
    """By the normal equations, where these tell columns apart, else by singular values."""
    squares = known.T @ known
    values, vectors = np.linalg.eigh(squares)
    if values[0] > APART * values[-1]:
        weights: Floats = vectors @ ((vectors.T @ (known.T @ wanted)) / values)
        return weights
    return np.asarray(np.linalg.pinv(known, rcond=NOTHING) @ wanted, dtype=np.float64)


MODELS: Final[Mapping[str, Forecast]] = {
    "autoregression": autoregression,
    "ARMA": moving_average,
    "linear regression": line,
    "exponential smoothing": smoothing,
}
"""In the order in which they are preferred before any error is known."""
