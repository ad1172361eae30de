"""Run times per offer: what was seen, and what was believed before."""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.model.market import Offer
from bursar.model.time import SECOND, seconds
from bursar.model.workflow import Workflow
from bursar.report.page.machine_log import MachineLog
from bursar.report.page.numbers import SPACE, duration, share
from bursar.report.page.series import AttemptColumns, Ints
from bursar.state.attempts import OUTCOMES
from bursar.state.state import RunState
from bursar.state.work_plans import FIRST_WORK

MOST_DOTS: Final = 600
FEWEST: Final = 3
"""results that make a belief"""
FIRST: Final = 10
"""results that make a belief where nothing was known before"""
TENTH: Final = 1.2816
"""deviations from the middle of a normal distribution to its P10 or P90"""


class OfferRunTimes(msgspec.Struct, frozen=True):
    """Times in seconds; exact quantiles of all, and a sample of dots."""

    offer: str
    count: int
    dots: list[float]
    p50: float | None
    p90: float | None
    believed: tuple[float, float, float] | None
    """P10, P50 and P90, as known before what is seen; None: too little was"""
    text: str


class _OfferBelief(msgspec.Struct, frozen=True):
    """What was known of the run times on an offer, and from where."""

    p10: float
    p50: float
    p90: float
    source: str


def run_times(
    state: RunState, columns: AttemptColumns, machines: MachineLog
) -> list[OfferRunTimes]:
    """Successes alone. What a belief was made of is not judged by it.

    What is believed of an offer comes from the sample before the choice of a plan; without one,
    from what the user or the file of a workflow said; else from the first results of a bag.
    """
    runtime = np.array(state.log.runtime, dtype=np.int64)[1:]
    success = columns.outcome == OUTCOMES.index("success")
    offers = np.array(machines.offer)[columns.machine] if len(columns.task) else columns.machine
    known = _known_tasks(state)
    found = []
    for place, offer in enumerate(machines.market.offers):
        mine = np.flatnonzero(success & (offers == place))  # in the order of their start
        if not len(mine):
            continue
        before = mine[columns.ended[mine] <= state.begun] if state.begun else mine[:0]
        since = np.setdiff1d(mine, before, assume_unique=True)
        belief = _of_results(runtime[before], f"after {len(before)} results")
        if belief is None and known is not None:
            belief = _of_file(known[columns.task[mine]] / _speed(state, offer))
        elif belief is None:
            belief = _as_given(state, offer)
        if belief is None and known is None and len(since) >= 3 * FIRST:
            belief = _of_results(runtime[since[:FIRST]], f"after its first {FIRST} results")
            since = since[FIRST:]
        found.append(_of_offer(offer.name, runtime[since], belief))
    return found


def _known_tasks(state: RunState) -> NDArray[np.float64] | None:
    """Seconds of each task at speed 1, from 1 on, of a single workflow; NaN: not known."""
    if len(state.work) != 1:
        return None
    tasks = state.work[0][1].tasks
    if not isinstance(tasks, Workflow):
        return None
    return np.array([np.nan, *(np.nan if one is None else one for one in tasks.runtimes)])


def _speed(state: RunState, offer: Offer) -> float:
    offered = state.plans_of(FIRST_WORK).offered
    measured = None if offered is None else offered.assumed.measured.get(offer.name)
    return offer.speed if measured is None else measured.speed


def _of_results(results: Ints, source: str) -> _OfferBelief | None:
    if len(results) < FEWEST:
        return None
    low, middle, high = (float(np.quantile(results, part)) / SECOND for part in (0.1, 0.5, 0.9))
    return _OfferBelief(low, middle, high, source)


def _of_file(times: NDArray[np.float64]) -> _OfferBelief | None:
    """From the times of the tasks that ran there."""
    times = times[~np.isnan(times)]
    if not len(times):
        return None
    low, middle, high = (float(np.quantile(times, part)) for part in (0.1, 0.5, 0.9))
    return _OfferBelief(low, middle, high, "by the file of the workflow")


def _as_given(state: RunState, offer: Offer) -> _OfferBelief | None:
    options = None if state.created is None else state.created.made_with
    if options is None or options.runtime is None:
        return None
    middle = options.runtime / SECOND / offer.speed
    deviation = options.runtime // 5 if options.deviation is None else options.deviation
    reach = TENTH * deviation / SECOND / offer.speed
    return _OfferBelief(max(0.0, middle - reach), middle, middle + reach, "as was given")


def _of_offer(name: str, since: Ints, belief: _OfferBelief | None) -> OfferRunTimes:
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
        believed=None if belief is None else (belief.p10, belief.p50, belief.p90),
        text=_text(since, belief, p50),
    )


def _text(since: Ints, belief: _OfferBelief | None, p50: float | None) -> str:
    seen = "none seen" if p50 is None else f"seen {duration(seconds(p50))} in {len(since):,}"
    if belief is None:
        return seen
    inside = np.count_nonzero((since >= belief.p10 * SECOND) & (since <= belief.p90 * SECOND))
    share_inside = (
        f"; {share(inside / len(since))} inside the 80{SPACE}% band" if len(since) else ""
    )
    after = " since" if "results" in belief.source else ""
    middle = duration(seconds(belief.p50))
    return f"believed {middle} {belief.source}, {seen}{after}{share_inside}"
