"""`conpaas`: forecasts of the next 20 intervals, from the loads so far (workload thesis, 4.4.1).

The rule of Fernandez, Pierre and Kielmann, in two readings. With fewer than 21 loads, both want the
load itself.

- `code` (default): what the public code of its authors does. Autoregression over all loads; what is
  wanted is a mean of the forecast in which an interval weighs the more, the further it is, and
  negative ones do not count. A forecast of nothing keeps the supply; a load of 1 is served by 1.
- `paper`: linear regression, autoregression, ARMA and exponential smoothing each forecast. The one
  whose forecasts had the least error lately counts, and what is near weighs most.

The first is the default: published runs used that code, and the published row is near with it only.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Final, Literal

import numpy as np

from bursar.model.fleet import Fleet
from bursar.model.market import Market
from bursar.model.time import Time
from bursar.policies.autoscaling import INTERVAL, Leaving
from bursar.policies.load import LoadAutoscaler, LoadKind
from bursar.policies.load_models import (
    AHEAD,
    MODELS,
    WINDOW,
    Floats,
    autoregression,
    forecast_by,
    forecasts,
)
from bursar.state import events as ev

LEAST: Final = 21
"""Loads that a forecast needs."""
MOST: Final = 5_000
"""Loads that autoregression is fitted to: almost two days of them."""
JUDGED: Final = 10
"""Last errors of each model that count."""
NEAR: Final = np.arange(AHEAD, 0, -1, dtype=np.float64)
"""Weights of the next intervals: each weighs less than the one before, evenly."""
FAR: Final = NEAR[::-1]
"""The same the other way round."""


class ConPaaS(LoadAutoscaler):
    """Follows the forecast of autoregression, or of the best of four models."""

    def __init__(
        self,
        market: Market,
        fleet: Fleet | None = None,
        interval: Time = INTERVAL,
        *,
        rate: float = 1.0,
        load: LoadKind = "demand",
        reading: Literal["code", "paper"] = "code",
        release: Leaving = "paid",
    ) -> None:
        super().__init__(market, fleet, interval, rate=rate, load=load, release=release)
        self._by_code = reading == "code"

    def begin(self) -> None:
        self._known: dict[str, array[float]] = {}
        """by account, loads of decisions, oldest first"""
        self._errors: dict[tuple[str, str], deque[float]] = {}
        """by account and model, of the last forecasts of one interval ahead"""
        self._foreseen: dict[str, Mapping[str, float]] = {}
        """by account and model, what was foreseen for the decision to come"""
        self._latest: dict[str, Mapping[str, float]] = {}
        """the same of the decision being made, for the one after it"""

    def decided(self, account: str, load: int, event: ev.ScaleDecided) -> None:
        known = self._known.setdefault(account, array("d"))
        known.append(load)
        if len(known) > 2 * MOST:
            del known[:-MOST]
        for model, foreseen in self._foreseen.get(account, {}).items():
            errors = self._errors.setdefault((account, model), deque(maxlen=JUDGED))
            errors.append(abs(foreseen - load))
        self._foreseen[account] = self._latest.pop(account, {})

    def slots(
        self, load: int, supply: int, past: Sequence[tuple[Time, int]], now: Time, account: str
    ) -> tuple[int, str]:
        if len(past) + 1 < LEAST:
            return load, f"the load; forecasts begin with {LEAST} loads"
        loads = self._series(load, account)
        if self._by_code:
            return _by_autoregression(loads, supply)
        found = forecasts(loads)
        best = min(MODELS, key=lambda model: self._error(account, model))
        self._latest[account] = {model: float(ahead[0]) for model, ahead in found.items()}
        return max(0, ceil(_near_first(found[best]))), f"forecast by {best}"

    def _series(self, load: int, account: str) -> Floats:
        """The loads of all decisions that count, and this one."""
        known = self._known[account]
        most = MOST if self._by_code else WINDOW
        series = np.empty(min(most, len(known) + 1))
        series[:-1] = known[len(known) + 1 - len(series) :]
        series[-1] = load
        return series

    def _error(self, account: str, model: str) -> float:
        """The mean of the last ones; those without any come first in the order of the models."""
        errors = self._errors.get((account, model), ())
        return sum(errors) / len(errors) if errors else 0.0


def _by_autoregression(loads: Floats, supply: int) -> tuple[int, str]:
    """As the code does it that was published."""
    if loads[-1] <= 1:
        return 1, "a load of 1 at the most"
    ahead = forecast_by(autoregression, loads)
    foreseen = ceil(_far_first(ahead))
    if not foreseen:
        return supply, "a forecast of nothing: all stay"
    return foreseen, "forecast by autoregression"


def _far_first(ahead: Floats) -> float:
    """A mean in which each interval weighs more than the one before, without negative ones."""
    weights = np.where(ahead < 0, 0.0, FAR)
    return float((ahead * weights).sum() / weights.sum()) if weights.any() else 0.0


def _near_first(ahead: Floats) -> float:
    """A mean in which each interval weighs less than the one before, evenly."""
    return float(np.average(np.maximum(ahead, 0), weights=NEAR))
