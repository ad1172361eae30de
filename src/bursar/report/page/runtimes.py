"""Run times per offer: what was seen, and what was believed before the plan was chosen."""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np

from bursar.model.time import SECOND, Time, seconds
from bursar.report.page.machine_log import MachineLog
from bursar.report.page.numbers import duration, share
from bursar.report.page.series import AttemptColumns, Ints
from bursar.state.attempts import OUTCOMES
from bursar.state.state import RunState

MOST_DOTS: Final = 600
FEWEST: Final = 3
"""results that make a belief"""


class OfferRunTimes(msgspec.Struct, frozen=True):
    """Times in seconds; exact quantiles of all, and a sample of dots."""

    offer: str
    count: int
    dots: list[float]
    p50: float | None
    p90: float | None
    believed: tuple[float, float, float] | None
    """P10, P50 and P90 of the sample before the choice; None: there was none"""
    told: str


def run_times(
    state: RunState, columns: AttemptColumns, machines: MachineLog
) -> list[OfferRunTimes]:
    """Successes alone; those of a sample make the belief, and those since are judged by it."""
    runtime = np.array(state.log.runtime, dtype=np.int64)[1:]
    success = columns.outcome == OUTCOMES.index("success")
    offers = np.array(machines.offer)[columns.machine] if len(columns.task) else columns.machine
    began = state.begun
    found = []
    for place, offer in enumerate(machines.market.offers):
        mine = success & (offers == place)
        since = runtime[mine & (columns.ended > began)] if began else runtime[mine]
        before = runtime[mine & (columns.ended <= began)] if began else runtime[:0]
        if len(since) or len(before):
            found.append(_of_offer(offer.name, since, before))
    return found


def _of_offer(name: str, since: Ints, before: Ints) -> OfferRunTimes:
    believed = None
    if len(before) >= FEWEST:
        low, middle, high = (np.quantile(before, part) / SECOND for part in (0.1, 0.5, 0.9))
        believed = (float(low), float(middle), float(high))
    step = -(-len(since) // MOST_DOTS) or 1
    p50, p90 = (
        (float(np.quantile(since, part)) / SECOND for part in (0.5, 0.9))
        if len(since)
        else (None, None)
    )
    return OfferRunTimes(
        offer=name,
        count=len(since),
        dots=[round(one, 4) for one in (since[::step] / SECOND).tolist()],
        p50=p50,
        p90=p90,
        believed=believed,
        told=_told(since, before, believed, p50),
    )


def _told(
    since: Ints, before: Ints, believed: tuple[float, float, float] | None, p50: float | None
) -> str:
    seen = "none seen" if p50 is None else f"seen {duration(seconds(p50))} in {len(since):,}"
    if believed is None:
        return seen
    inside = np.count_nonzero((since >= believed[0] * SECOND) & (since <= believed[2] * SECOND))
    share_inside = f"; {share(inside / len(since))} inside the 80 % band" if len(since) else ""
    belief: Time = seconds(believed[1])
    return f"believed {duration(belief)} after {len(before)} results, {seen} since{share_inside}"
