"""Steps over time, of which a page needs some hundred: tasks, money, machines, attempts."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.model.money import NANOS
from bursar.model.time import SECOND, Time
from bursar.report.page.machine_log import NEVER, MachineLog
from bursar.state.attempts import AttemptLog
from bursar.state.state import RunState
from bursar.state.time_series import TimeSeries

MOST_POINTS: Final = 400
"""of a series: a screen has no more columns for it"""

Ints = NDArray[np.int64]


class Steps(msgspec.Struct, frozen=True):
    """A value from each moment (seconds) to the next."""

    t: list[float]
    v: list[float]


class AttemptColumns(msgspec.Struct, frozen=True):
    """All attempts of a run as arrays; index 0 is the first attempt."""

    task: Ints
    machine: Ints
    started: Ints
    ended: Ints
    """-1 while it lives"""
    outcome: NDArray[np.uint8]
    is_winner: NDArray[np.bool_]

    @classmethod
    def of(cls, state: RunState) -> AttemptColumns:
        """Copies: the state's own columns must be free to grow."""
        log = state.log
        task, machine, started, ended = (
            np.array(column, dtype=np.int64)[1:]
            for column in (log.task, log.machine, log.started, log.ended)
        )
        winners = np.array(state.winners, dtype=np.int64)
        is_winner = winners[task] == np.arange(1, len(task) + 1)
        outcome = np.array(log.outcome, dtype=np.uint8)[1:]
        return cls(task, machine, started, ended, outcome, is_winner)

    @property
    def is_live(self) -> NDArray[np.bool_]:
        live: NDArray[np.bool_] = self.outcome == AttemptLog.LIVE
        return live


def thinned(times: Any, values: Any, most: int = MOST_POINTS) -> Steps:
    """At most so many steps: the last of each stretch of time, and the first of all."""
    t, v = np.asarray(times, dtype=np.float64), np.asarray(values, dtype=np.float64)
    if len(t):
        last = np.append(t[1:] != t[:-1], True)
        t, v = t[last], v[last]
    if len(t) > most:
        span = max(t[-1] - t[0], 1.0)
        place = ((t - t[0]) / span * (most - 2)).astype(np.int64)
        keep = np.append(place[1:] != place[:-1], True)
        keep[0] = True
        t, v = t[keep], v[keep]
    return Steps([round(one, 6) for one in t.tolist()], [round(one, 9) for one in v.tolist()])


def counted_up(moments: Ints) -> Steps:
    """How many of these moments have passed."""
    ordered = np.sort(moments)
    times = np.concatenate(([0], ordered))
    return thinned(times / SECOND, np.arange(len(times)))


def done_series(columns: AttemptColumns) -> Steps:
    return counted_up(columns.ended[columns.is_winner])


def failed_series(state: RunState) -> Steps:
    ends = [state.log.ended[failure.attempt] for failure in state.failed_tasks.values()]
    return counted_up(np.array(ends, dtype=np.int64))


def running_series(columns: AttemptColumns) -> Steps:
    ends = columns.ended[~columns.is_live]
    times = np.concatenate(([0], columns.started, ends))
    changes = np.concatenate(([0], np.ones(len(columns.started)), -np.ones(len(ends))))
    order = np.argsort(times, kind="stable")
    return thinned(times[order] / SECOND, np.cumsum(changes[order]))


def money_series(log: MachineLog) -> Steps:
    times, committed = np.array(log.committed_at), np.array(log.committed, dtype=np.float64)
    return thinned(times / SECOND, committed / NANOS)


def supply_series(log: MachineLog, now: Time) -> Steps:
    """Slots of the machines that are up."""
    slots = np.array([offer.slots for offer in log.market.offers] or [1])[np.array(log.offer)]
    up, gone = np.array(log.up), np.array(log.gone)
    came, left = up != NEVER, (up != NEVER) & (gone != NEVER)
    times = np.concatenate(([0], up[came], gone[left]))
    order = np.argsort(times, kind="stable")
    count = np.cumsum(np.concatenate(([0], slots[came], -slots[left]))[order])
    return thinned(np.append(times[order], now) / SECOND, np.append(count, count[-1]))


def noted_series(series: TimeSeries, now: Time) -> Steps:
    """Its mean from each of its notes, some seconds apart, to the next; the last is what it is."""
    noted, sums = np.array(series.times, dtype=np.int64), np.array(series.sums)
    inside = (noted > 0) & (noted < now)
    times = np.concatenate(([0], noted[inside], [now]))
    added_up = np.concatenate(([0.0], sums[inside], [series.sum_until(now)]))
    means = np.diff(added_up) / np.maximum(np.diff(times), 1)
    return thinned(times / SECOND, np.append(means, series.value))


def fleet_series(log: MachineLog) -> Steps:
    return thinned(np.array(log.fleet_at) / SECOND, np.array(log.fleet))


class OfferFleet(msgspec.Struct, frozen=True):
    """Machines of an offer that boot or are up, over time."""

    offer: str
    most: int
    steps: Steps


def fleets_by_offer(log: MachineLog, now: Time) -> list[OfferFleet]:
    """In the order of the market; offers of which nothing was rented are left out."""
    offer, rented, gone = np.array(log.offer), np.array(log.rented), np.array(log.gone)
    offer[0] = -1  # index 0 is unused
    found = []
    for place, name in enumerate(one.name for one in log.market.offers):
        came = offer == place
        left = came & (gone != NEVER)
        if not came.any():
            continue
        times = np.concatenate(([0], rented[came], gone[left]))
        changes = np.concatenate(([0], np.ones(came.sum()), -np.ones(left.sum())))
        order = np.lexsort((changes, times))
        count = np.cumsum(changes[order])
        steps = thinned(np.append(times[order], now) / SECOND, np.append(count, count[-1]), 200)
        found.append(OfferFleet(name, int(count.max()), steps))
    return found


def tail_begin(columns: AttemptColumns, total: int) -> Time | None:
    """When the last of all tasks was first started; None: some were not."""
    first = np.full(total + 1, NEVER, dtype=np.int64)
    first[columns.task[::-1]] = columns.started[::-1]  # of several the last assigned stays
    return int(first[1:].max()) if total and (first[1:] != NEVER).all() else None
