"""Plans for a bag without running any of it: by run times that are assumed, or in a job log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.beliefs.samples import SampleLog
from bursar.formats.history import from_joblog
from bursar.formats.joblog import HERE, JoblogRow, read_joblog
from bursar.model.deviation import read_any_deviation
from bursar.model.errors import InputError, shown
from bursar.model.market import Market
from bursar.model.option_words import PYTHON, OptionWords
from bursar.model.past_runtimes import PastRuntimes
from bursar.model.reading import read_duration
from bursar.model.time import Time, parse_duration, seconds
from bursar.plan.bag.plans import known_runtimes, make_plans
from bursar.plan.pools.plans import (
    PoolKnowledge,
    known_unreliable,
    mixed_candidates,
    pooled_runtimes,
)
from bursar.plan.pools.split import unreliable_offers
from bursar.rent.local import local_market
from bursar.runs.planning import Asked
from bursar.state.events import PlansOffered

Runtimes = dict[str, NDArray[np.int64]]
"""Offer name to run times there."""

OF_THIS_COMPUTER: Final = (
    "the job log is of this computer: its run times are taken as those of speed 1"
)


def plans_by_assumed(
    market: Market, tasks: int, assume: str, reliability: float | None, asked: Asked
) -> PlansOffered:
    """By run times that somebody tells: `small=1.66m,large=0.97m~0.2m`."""
    samples = _assumed(assume, market)
    pool = _assumed_pool(market, samples, tasks, reliability, asked.words)
    return _plans(market, tasks, samples, pool, asked, paired=True)


def plans_by_runtime(
    market: Market,
    tasks: int,
    runtime: str,
    deviation: str | None,
    reliability: float | None,
    asked: Asked,
) -> PlansOffered:
    """By one run time, at speed 1; its deviation is a time or a share of it.

    Unreliable offers are left out without a word on their reliability.
    """
    mean = read_duration(runtime, least=1)
    spread = 0 if deviation is None else read_any_deviation(deviation).of(mean)
    samples = {
        offer.name: known_runtimes(max(1, round(mean / offer.speed)), round(spread / offer.speed))
        for offer in market.offers
        if offer.pool == "reliable" or reliability is not None
    }
    pool = _assumed_pool(market, samples, tasks, reliability, asked.words)
    return _plans(market, tasks, samples, pool, asked, paired=True)


def plans_by_joblog(
    market: Market, tasks: int, path: str, reliability: float | None, asked: Asked
) -> PlansOffered:
    """By the log of an earlier run, on offers of the market or on this computer."""
    rows = read_joblog(path)
    log, pool = _learned(rows, path, market, reliability)
    if log.runtimes:
        samples = log.samples(market.offers) if log.is_paired else _by_itself(log)
        cautions = log.cautions(market.offers) if log.is_paired else []
        return _plans(market, tasks, samples, pool, asked, paired=log.is_paired, cautions=cautions)
    samples = _of_this_computer(rows, path, market, reliability)
    pool = _assumed_pool(market, samples, tasks, reliability, asked.words)
    return _plans(market, tasks, samples, pool, asked, paired=True, cautions=[OF_THIS_COMPUTER])


def _plans(
    market: Market,
    tasks: int,
    samples: Runtimes,
    pool: PoolKnowledge | None,
    asked: Asked,
    *,
    paired: bool,
    cautions: Sequence[str] = (),
) -> PlansOffered:
    mixed = []
    if pool is not None:
        mixed = mixed_candidates(market, samples, pool, tasks, between=asked.between)
    return make_plans(
        market,
        samples,
        tasks,
        asked.goal,
        between=asked.between,
        confidence=asked.confidence,
        faithful=asked.faithful,
        paired=paired,
        mixed=mixed,
        known_cautions=cautions,
    )


def history_of_joblog(path: str, market: Market) -> PastRuntimes:
    """What tasks took at speed 1, by the log of an earlier run."""
    rows = read_joblog(path)
    here = dict.fromkeys((HERE, *(offer.name for offer in local_market().offers)), 1.0)
    speeds = here | {offer.name: offer.speed for offer in market.offers}
    times = [
        seconds(row.runtime) * speeds[name]
        for row in rows
        if row.has_result and (name := _offer_of(row)) in speeds
    ]
    if not times:
        names = ", ".join(offer.name for offer in market.offers)
        raise InputError(f"{path}: no successful task on any offer of the market ({names})")
    return PastRuntimes.of(round(time) for time in times)


def _offer_of(row: JoblogRow) -> str:
    """The offer of a machine is in its name: `small-3`."""
    return row.host if row.host == HERE else row.host.rpartition("-")[0] or row.host


# --- what is given -------------------------------------------------------------------------------


def check_reliability(
    market: Market, reliability: float | None, asked: OptionWords = PYTHON
) -> None:
    """Refuse a reliability where no machine may be lost."""
    if reliability is not None and not unreliable_offers(market):
        raise InputError(
            f"{asked.option('reliability')}: no offer of this market is unreliable; leave it out"
        )


def _assumed(text: str, market: Market) -> Runtimes:
    """Read `small=1.66m,large=0.97m~0.2m`."""
    samples: Runtimes = {}
    for part in text.split(","):
        name, sign, times = part.strip().partition("=")
        if not sign:
            raise InputError(
                f"{shown(part.strip())} is not a run time; write small=1.66m,large=0.97m"
            )
        offer = market[name.strip()]
        mean, _, deviation = times.partition("~")
        runtime = parse_duration(mean)
        if runtime <= 0:
            raise InputError(f"a run time of 0 on {offer.name}; write for example 1.66m")
        spread = parse_duration(deviation) if deviation else 0
        samples[offer.name] = known_runtimes(runtime, spread)
    return samples


def _assumed_pool(
    market: Market,
    samples: Runtimes,
    tasks: int,
    reliability: float | None,
    asked: OptionWords,
) -> PoolKnowledge | None:
    """What is assumed of unreliable machines; None: nothing.

    Without a word on their reliability there is no plan with them: its bounds would be promises
    about something of which nothing is known.
    """
    offers = known_unreliable(market, samples, tasks)
    if not offers:
        return None
    if reliability is None:
        raise InputError(
            f"{offers[0].name} is unreliable: give the share of its attempts that return a result,"
            f" e.g. {asked.number('reliability', '0.9')}"
        )
    return PoolKnowledge(pooled_runtimes(offers, samples), reliability=reliability)


# --- what a job log tells ------------------------------------------------------------------------


def _learned(
    log: Sequence[JoblogRow], path: str, market: Market, reliability: float | None
) -> tuple[SampleLog, PoolKnowledge | None]:
    """Run times of successes, by the offer that a host's name begins with (`small-3`).

    Rows with the same number and command are attempts of one task. Of unreliable offers also what
    was lost there, unless the reliability is given.
    """
    numbers: dict[tuple[int, str], int] = {}
    times: dict[str, dict[int, Time]] = {}
    rows = []
    for row in log:
        offer = row.host.rpartition("-")[0] or row.host
        if offer in market:
            rows.append(msgspec.structs.replace(row, host=f"{offer}-1"))
        if row.has_result and offer in market:
            task = numbers.setdefault((row.seq, row.command), len(numbers))
            times.setdefault(offer, {})[task] = max(1, seconds(row.runtime))
    samples = SampleLog.of(times)
    if not any(offer.name in times for offer in unreliable_offers(market)):
        return samples, None
    history = from_joblog(rows, path, market).history
    return samples, PoolKnowledge.learned(history, reliability=reliability)


def _by_itself(log: SampleLog) -> Runtimes:
    """What each offer tells of its own tasks."""
    return {
        name: np.array(list(times.values()), dtype=np.int64) for name, times in log.runtimes.items()
    }


def _of_this_computer(
    log: Sequence[JoblogRow], path: str, market: Market, reliability: float | None
) -> Runtimes:
    """What an ordinary log of GNU parallel tells, without offers: run times at speed 1.

    Of unreliable offers it tells nothing but that: without a reliability they are left out.
    """
    local = [max(1, seconds(row.runtime)) for row in log if row.host == HERE and row.has_result]
    if not local:
        names = ", ".join(offer.name for offer in market.offers)
        raise InputError(f"{path}: no successful task on any offer of the market ({names})")
    times = np.array(local, dtype=np.float64)
    return {
        offer.name: np.maximum(1, np.rint(times / offer.speed)).astype(np.int64)
        for offer in market.offers
        if offer.pool == "reliable" or reliability is not None
    }
