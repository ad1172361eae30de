"""When a run will end and what it will cost, as its journal tells (`ForecastMade`)."""

from __future__ import annotations

import msgspec

from bursar.model.time import SECOND, Time
from bursar.state.events import ForecastMade
from bursar.state.state import RunState


class RestForecast(msgspec.Struct, frozen=True):
    """The end, in seconds since the run began, and all that it will have cost."""

    at: float
    end: tuple[float, float, float]
    """P10, P50, P90"""
    cost: tuple[float, float, float]
    chance: float | None
    """that all is done within budget and deadline; None: there is neither"""
    draws: int = 0
    """simulations that it rests on"""


def shown_forecast(made: ForecastMade) -> RestForecast:
    low, middle, high = (one / SECOND for one in made.end)
    least, usual, most = (float(one) for one in made.cost)
    return RestForecast(
        made.at / SECOND, (low, middle, high), (least, usual, most), made.chance, made.draws
    )


def forecasts_of(state: RunState) -> list[RestForecast]:
    """All that were kept, since the run was last taken up."""
    since: Time = state.periods[-1][0] if state.periods else 0
    since = max(since, state.begun)
    return [shown_forecast(one) for one in state.forecasts if one.at >= since]
