"""What `bursar plan --joblog` learns from the log of an earlier run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.formats.history import from_joblog
from bursar.formats.joblog import HERE, JoblogRow
from bursar.model.errors import InputError
from bursar.model.market import Market
from bursar.model.time import seconds
from bursar.plan.pools.plans import PoolKnowledge
from bursar.plan.pools.split import unreliable_offers

Samples = dict[str, NDArray[np.int64]]

OF_THIS_COMPUTER: Final = (
    "the job log is of this computer: its run times are taken as those of speed 1"
)


def learned(
    log: Sequence[JoblogRow], path: str, market: Market, reliability: float | None
) -> tuple[Samples, PoolKnowledge | None]:
    """Run times of successes, by the offer that a host's name begins with (`small-3`).

    Of unreliable offers also what was lost there, unless the reliability is given.
    """
    times: dict[str, list[int]] = {}
    rows = []
    for row in log:
        offer = row.host.rpartition("-")[0] or row.host
        if offer in market:
            rows.append(msgspec.structs.replace(row, host=f"{offer}-1"))
        if row.has_result and offer in market:
            times.setdefault(offer, []).append(max(1, seconds(row.runtime)))
    samples = {name: np.array(values, dtype=np.int64) for name, values in times.items()}
    if not any(offer.name in times for offer in unreliable_offers(market)):
        return samples, None
    history = from_joblog(rows, path, market).history
    return samples, PoolKnowledge.learned(history, reliability=reliability)


def of_this_computer(
    log: Sequence[JoblogRow], path: str, market: Market, reliability: float | None
) -> Samples:
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
