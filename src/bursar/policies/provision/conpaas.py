"""`conpaas`: a forecast by the model that was best lately (workload thesis, 4.4.1).

The rule of Fernandez, Pierre and Kielmann: linear regression, an autoregressive model and
exponential smoothing each forecast the next 20 intervals from the loads so far. The one whose
forecasts had the least error lately counts; what is wanted is a mean of its forecast in which what
is near weighs most. With fewer than 21 loads, the load itself.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from math import ceil, isfinite
from typing import TYPE_CHECKING, Final

from bursar.model.errors import InputError
from bursar.model.time import Time
from bursar.policies.load import LoadAutoscaler
from bursar.state import events as ev

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LEAST: Final = 21
AHEAD: Final = 20
LAGS: Final = 9
WINDOW: Final = 120
"""Loads that models are fitted to."""
LEVELS: Final = (0.2, 0.5, 0.8)
"""Smoothing levels that are tried: an optimiser would take ten times as long."""
JUDGED: Final = 10
"""Last errors of each model that count."""

Forecast = Callable[["NDArray[np.float64]"], "NDArray[np.float64]"]


class ConPaaS(LoadAutoscaler):
    """Follows the forecast of the best of three models."""

    def begin(self) -> None:
        _statsmodels()  # told before anything is rented, if it is missing
        self._errors: dict[tuple[str, str], deque[float]] = {}
        """by account and model, of the last forecasts of one interval ahead"""
        self._foreseen: dict[str, Mapping[str, float]] = {}
        """by account and model, what was foreseen for the decision to come"""
        self._latest: dict[str, Mapping[str, float]] = {}
        """the same of the decision being made, for the one after it"""

    def decided(self, account: str, load: int, event: ev.ScaleDecided) -> None:
        for model, foreseen in self._foreseen.get(account, {}).items():
            errors = self._errors.setdefault((account, model), deque(maxlen=JUDGED))
            errors.append(abs(foreseen - load))
        self._foreseen[account] = self._latest.pop(account, {})

    def slots(
        self, load: int, supply: int, past: Sequence[tuple[Time, int]], now: Time, account: str
    ) -> tuple[int, str]:
        loads = [one for _, one in list(past)[-(WINDOW - 1) :]] + [load]
        if len(loads) < LEAST:
            return load, f"the load; forecasts begin with {LEAST} loads"
        found = forecasts(loads)
        best = min(MODELS, key=lambda model: self._error(account, model))
        self._latest[account] = {model: float(ahead[0]) for model, ahead in found.items()}
        return max(0, ceil(_near_first(found[best]))), f"forecast by {best}"

    def _error(self, account: str, model: str) -> float:
        """The mean of the last ones; those without any come first in the order of the models."""
        errors = self._errors.get((account, model), ())
        return sum(errors) / len(errors) if errors else 0.0


def forecasts(loads: Sequence[float]) -> dict[str, NDArray[np.float64]]:
    """What each model tells of the next intervals; one that does not fit tells the last load."""
    import numpy as np

    series = np.asarray(loads, dtype=np.float64)
    found: dict[str, NDArray[np.float64]] = {}
    for model, forecast in MODELS.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of models that fit badly: they are judged below
                ahead = np.asarray(forecast(series), dtype=np.float64)
        except (ValueError, np.linalg.LinAlgError):
            ahead = np.full(AHEAD, series[-1])
        found[model] = ahead if isfinite(float(ahead.sum())) else np.full(AHEAD, series[-1])
    return found


def _near_first(ahead: NDArray[np.float64]) -> float:
    """A mean in which each interval weighs less than the one before, evenly."""
    import numpy as np

    weights = np.arange(len(ahead), 0, -1, dtype=np.float64)
    return float(np.average(np.maximum(ahead, 0), weights=weights))


def _line(series: NDArray[np.float64]) -> NDArray[np.float64]:
    import numpy as np

    steps = np.arange(len(series), dtype=np.float64)
    slope, begin = np.polyfit(steps, series, 1)
    return np.asarray(begin + slope * (len(series) + np.arange(AHEAD)), dtype=np.float64)


def _autoregression(series: NDArray[np.float64]) -> NDArray[np.float64]:
    from statsmodels.tsa.ar_model import AutoReg

    lags = min(LAGS, len(series) // 2 - 2)
    fitted = AutoReg(series, lags).fit()
    return fitted.predict(len(series), len(series) + AHEAD - 1)  # type: ignore[no-any-return]


def _smoothing(series: NDArray[np.float64]) -> NDArray[np.float64]:
    from statsmodels.tsa.holtwinters import SimpleExpSmoothing

    model = SimpleExpSmoothing(series, initialization_method="known", initial_level=series[0])
    fits = [model.fit(smoothing_level=level, optimized=False) for level in LEVELS]
    best = min(fits, key=lambda fit: float(fit.sse))
    return best.forecast(AHEAD)  # type: ignore[no-any-return]


MODELS: Final[Mapping[str, Forecast]] = {
    "autoregression": _autoregression,
    "linear regression": _line,
    "exponential smoothing": _smoothing,
}
"""In the order in which they are preferred before any error is known."""


def _statsmodels() -> None:
    try:
        import statsmodels.tsa.ar_model  # noqa: F401
    except ImportError:
        raise InputError(
            "the provisioner conpaas needs statsmodels; install it: pip install 'bursar[forecast]'"
        ) from None
