"""`forecasts`: how often what a run forecasts of itself comes true.

Many runs are simulated, each with a budget, a deadline or both that are neither safe nor hopeless.
At three moments of each a forecast is made as the page shows it. Of all forecasts that gave a
chance of some 30 %, about 30 % must come true; of the ends and the costs, half must be below their
P50, and nine in ten below their P90.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Final

import msgspec

from bursar.model.text import counted
from bursar.model.work import Work
from bursar.reproduce.forecast_cases import KINDS, ForecastCase, states_at
from bursar.reproduce.result import Band, Reproduction, Row, between, checked, shown_only
from bursar.runs.forecasting import forecast
from bursar.state.events import ForecastMade, WorkArrived
from bursar.state.state import fold

RUNS: Final = 16
"""of each kind"""
QUICK_RUNS: Final = 2
MOMENTS: Final = (0.25, 0.5, 0.75)
"""of the time that such runs take"""
DRAWS: Final = 16
"""simulations of a forecast, between the fewest and the most of a real run"""
BINS: Final = 5
REACH: Final = 0.12
"""beyond a bin: with some 20 runs in it, the share that comes true varies by as much"""
MIDDLE: Final = between(0.38, 0.62, "half, as far as so many runs tell it")
UPPER: Final = between(0.82, 0.97, "nine in ten, as far as so many runs tell it")
WITHIN: Final = between(0.68, 0.92, "eight in ten, as far as so many runs tell it")
ASSUMED: Final = (
    f"{RUNS} runs of each of {len(KINDS)} kinds, looked at after 25 %, 50 % and 75 % of the time of"
    f" another such run; {DRAWS} simulations a forecast",
    "log-normal run times; budget and deadline are 0.92 to 1.15 times what such runs take without"
    " a limit; every run is drawn from its name",
    "an end or a cost that is exactly the P50 counts half: costs in whole hours are often known",
    "forecasts of one run are not independent: the bands allow for a third of their number",
)


class JudgedForecast(msgspec.Struct, frozen=True):
    """One forecast, and what became of it."""

    kind: str
    made: ForecastMade
    is_kept: bool
    """everything was done within budget and deadline"""
    end: int
    cost: int
    """in billionths"""

    @property
    def ends(self) -> tuple[int, int, int]:
        return self.made.end

    @property
    def costs(self) -> tuple[int, int, int]:
        low, middle, high = (one.nanos for one in self.made.cost)
        return low, middle, high


def judged_forecasts(case: ForecastCase, draws: int = DRAWS) -> list[JudgedForecast]:
    """The forecasts of a run at all moments at which it makes one."""
    events = case.events()
    final = fold(events)
    works = {n: one.work for n, one in enumerate(events, 1) if isinstance(one, WorkArrived)}
    recall: Callable[[int], Work] = works.__getitem__
    assert final.ended is not None  # noqa: S101
    is_kept = final.ended.status in ("done", "failed")
    moments = [round(share * case.typical) for share in MOMENTS]
    found = []
    for now, state in states_at(events, [one for one in moments if one < final.last_settled]):
        made = forecast(state, now, recall, draws=draws)
        if made is not None:
            cost = final.ledger.committed.nanos
            found.append(JudgedForecast(case.name, made, is_kept, final.last_settled, cost))
    return found


def reproduce(
    name: str, runs: int | None = None, seed: str = "", *, quick: bool = False
) -> Reproduction:
    """`seed` draws other runs."""
    count = runs or (QUICK_RUNS if quick else RUNS)
    every = [
        one
        for kind in KINDS
        for number in range(count)
        for one in judged_forecasts(ForecastCase(kind, number, seed))
    ]
    return Reproduction(
        name=name,
        title="How often the forecasts of a run come true",
        source="a demand of our own; no figure of a paper",
        rows=(*_chances(every), *_quantiles(every), *_kinds(every)),
        assumed=ASSUMED,
    )


def _chances(every: Sequence[JudgedForecast]) -> list[Row]:
    """Of the forecasts of a bin: how many came true."""
    rows = []
    for place in range(BINS):
        low, high = place / BINS, (place + 1) / BINS
        some = [one for one in every if _bin(one.made.chance) == place]
        if not some:
            continue
        predicted = fmean(one.made.chance or 0.0 for one in some)
        share = round(fmean(one.is_kept for one in some), 3)
        band = Band(max(0.0, low - REACH), min(1.0, high + REACH), "as often as it says, about")
        what = f"chance of {100 * low:.0f} to {100 * high:.0f} %: kept"
        note = f"{counted(len(some), 'forecast')}, {predicted:.2f} on average"
        rows.append(checked(what, share, band, note=note))
    predicted = fmean(one.made.chance or 0.0 for one in every)
    share = round(fmean(one.is_kept for one in every), 3)
    band = Band(max(0.0, predicted - 0.08), min(1.0, predicted + 0.08), "the mean of all chances")
    rows.append(checked("all: kept", share, band, note=f"{counted(len(every), 'forecast')}"))
    return rows


def _bin(chance: float | None) -> int:
    return min(BINS - 1, int((chance or 0.0) * BINS))


def _quantiles(every: Sequence[JudgedForecast]) -> list[Row]:
    ends = [(one.end, one.ends) for one in every]
    costs = [(one.cost, one.costs) for one in every]
    return [
        row
        for name, some in (("end", ends), ("cost", costs))
        for row in (
            checked(f"{name} below P50", _below(some, 1), MIDDLE),
            checked(f"{name} at most P90", _at_most(some, 2), UPPER),
            checked(f"{name} from P10 to P90", _within(some), WITHIN),
        )
    ]


def _kinds(every: Sequence[JudgedForecast]) -> list[Row]:
    rows = []
    for kind in KINDS:
        some = [one for one in every if one.kind == kind]
        if some:
            predicted = fmean(one.made.chance or 0.0 for one in some)
            note = (
                f"{counted(len(some), 'forecast')}; chance {predicted:.2f} on average;"
                f" from P10 to P90: end {_within([(one.end, one.ends) for one in some]):.2f},"
                f" cost {_within([(one.cost, one.costs) for one in some]):.2f}"
            )
            share = round(fmean(one.is_kept for one in some), 3)
            rows.append(shown_only(f"{kind}: kept", None, share, note))
    return rows


Found = Sequence[tuple[int, tuple[int, int, int]]]


def _below(some: Found, place: int) -> float:
    """Those that are exactly the quantile count half."""
    shares = (
        0.5 if came == predicted[place] else float(came < predicted[place])
        for came, predicted in some
    )
    return round(fmean(shares), 3)


def _at_most(some: Found, place: int) -> float:
    return round(fmean(came <= predicted[place] for came, predicted in some), 3)


def _within(some: Found) -> float:
    return round(fmean(predicted[0] <= came <= predicted[2] for came, predicted in some), 3)
