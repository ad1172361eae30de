"""When a run will end and what it will cost: simulations of what is left, as of any moment.

All that was known then is in the columns of attempts and machines, so the outlook of a moment that
has passed is the one that was shown then: "how good were the forecasts" needs nothing else. What is
left is played on the machines of that moment. It takes into account how long attempts have run
already, that few results tell little, attempts that fail or are lost with their machine, and what
is paid. Work that arrives later and machines that are rented later are not known to it.
"""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.model.money import NANOS
from bursar.model.time import SECOND, Time
from bursar.report.page.machine_log import NEVER, MachineLog
from bursar.report.page.series import AttemptColumns, Ints
from bursar.state.attempts import OUTCOMES
from bursar.state.state import RunState

DRAWS: Final = 200
MOST_KNOWN: Final = 2_000
"""the latest results that a forecast is made of"""
MOST_STEPS: Final = 6_000_000
"""of playing task by task; beyond it the rest flows"""
MOMENTS: Final = 24
"""at which the forecasts of a run are shown"""
_SUCCESS: Final = OUTCOMES.index("success")
Floats = NDArray[np.float64]


class Outlook(msgspec.Struct, frozen=True):
    """Of the end, in seconds since the run began, and of all that it will have cost."""

    at: float
    end: tuple[float, float, float]
    """P10, P50, P90"""
    cost: tuple[float, float, float]
    chance: float | None
    """to keep budget and deadline; None: there is neither"""


class _Slots(msgspec.Struct, frozen=True):
    """The slots of the machines of a moment."""

    machine: Ints
    """per slot, the place of its machine among those"""
    offer: Ints
    """per slot"""
    free: Ints
    """per slot, when it is up; the moment itself, mostly"""


class Outlooks:
    """The forecasts of one run."""

    def __init__(self, state: RunState, columns: AttemptColumns, machines: MachineLog) -> None:
        self._state, self._columns, self._log = state, columns, machines
        self._offer_of = np.array(machines.offer)
        self._runtime = np.array(state.log.runtime, dtype=np.int64)[1:]
        failed = [state.log.ended[failure.attempt] for failure in state.failed_tasks.values()]
        self._failed = np.sort(np.array(failed, dtype=np.int64))
        self._done = np.sort(columns.ended[columns.is_winner])

    def history(self, until: Time) -> list[Outlook]:
        """At moments that are spread evenly, as far as there was something to go by."""
        begin = max(self._state.begun, int(self._done[0]) if len(self._done) else 0)
        if until <= begin:
            return []
        moments = np.linspace(begin, until, MOMENTS + 1)[1:-1].astype(np.int64).tolist()
        found = (self.at(moment) for moment in moments)
        return [one for one in found if one is not None]

    def at(self, now: Time) -> Outlook | None:
        """None: too early to tell, or nothing left to do."""
        state, columns = self._state, self._columns
        done = int(np.searchsorted(self._done, now, side="right"))
        failed = int(np.searchsorted(self._failed, now, side="right"))
        left = state.total - done - failed - state.blocked - state.cancelled
        is_under_way = (columns.started <= now) & ((columns.ended > now) | columns.is_live)
        live = np.flatnonzero(is_under_way)
        slots = self._slots(now)
        if left <= 0 or not done or not len(slots.machine):
            return None
        known = self._known(now)
        running, ages = self._running(live, slots, now)
        waiting = max(0, left - len(np.unique(columns.task[live])))
        rng = np.random.default_rng(7)
        ends = self._play(slots, known, running, ages, waiting, now, rng)
        return self._judge(ends, slots, now, self._rounded(now) * left)

    # --- what was known --------------------------------------------------------------------------

    def _slots(self, now: Time) -> _Slots:
        log = self._log
        rented, gone, up = (np.array(one)[1:] for one in (log.rented, log.gone, log.up))
        there = np.flatnonzero((rented <= now) & ((gone == NEVER) | (gone > now)))
        offers = log.market.offers
        counts = np.array([offer.slots for offer in offers] or [1])[self._offer_of[there + 1]]
        boot = np.array([offer.boot for offer in offers] or [0])[self._offer_of[there + 1]]
        is_up = (up[there] != NEVER) & (up[there] <= now)
        free = np.where(is_up, now, np.maximum(now, rented[there] + boot))
        machine = np.repeat(there + 1, counts)
        return _Slots(machine, self._offer_of[machine], np.repeat(free, counts))

    def _known(self, now: Time) -> dict[int, tuple[Floats, float]]:
        """By offer: run times of successes, and time that went by for each of them without result:
        other attempts, and the boot of machines in the place of lost ones.

        An offer without any has those of all.
        """
        lost, boots = self._losses(now)
        columns = self._columns
        ended = (columns.ended <= now) & ~columns.is_live
        offer = self._offer_of[columns.machine]
        success = ended & (columns.outcome == _SUCCESS)
        found: dict[int, tuple[Floats, float]] = {}
        for place in (-1, *range(len(self._log.market.offers))):
            mine = np.ones_like(success) if place < 0 else offer == place
            times = np.maximum(self._runtime[success & mine][-MOST_KNOWN:], 1).astype(np.float64)
            useful = int(np.count_nonzero(mine & ended & columns.is_winner))
            others = mine & ended & ~columns.is_winner
            wasted = float((columns.ended - columns.started)[others].sum())
            wasted += float(boots[lost if place < 0 else lost & (self._offer_of == place)].sum())
            if len(times):
                found[place] = (times, wasted / max(1, useful))
        for place in range(len(self._log.market.offers)):
            found.setdefault(place, found[-1])
        return found

    def _losses(self, now: Time) -> tuple[NDArray[np.bool_], Ints]:
        """Machines that were lost by then, and how long each took to boot."""
        log = self._log
        causes, gone = np.array(log.cause, dtype=np.uint8), np.array(log.gone)
        lost = ((causes == 2) | (causes == 3)) & (gone <= now)
        up, rented = np.array(log.up), np.array(log.rented)
        return lost, np.where(up == NEVER, gone, up) - rented

    def _rounded(self, now: Time) -> float:
        """Billionths for each result that lost machines cost beyond their end."""
        log, total = self._log, 0
        for machine in np.flatnonzero(self._losses(now)[0]).tolist():
            offer, stay = log.offer_of(machine), log.gone[machine] - log.rented[machine]
            total += offer.price.nanos * (offer.paid_for(stay) - stay) // offer.billing
        return total / max(1, int(np.searchsorted(self._done, now, side="right")))

    def _running(self, live: Ints, slots: _Slots, now: Time) -> tuple[Ints, Floats]:
        """Slots that are taken, and the age of what runs there; one attempt of a task counts."""
        columns = self._columns
        first = {int(m): place for place, m in reversed(list(enumerate(slots.machine.tolist())))}
        taken, ages, used = [], [], dict[int, int]()
        for attempt in live.tolist():
            machine = int(columns.machine[attempt])
            if machine not in first:
                continue
            place = first[machine] + used.get(machine, 0)
            if place < len(slots.machine) and slots.machine[place] == machine:
                used[machine] = used.get(machine, 0) + 1
                taken.append(place)
                ages.append(float(now - columns.started[attempt]))
        return np.array(taken, dtype=np.int64), np.array(ages)

    # --- playing the rest ------------------------------------------------------------------------

    def _play(
        self,
        slots: _Slots,
        known: dict[int, tuple[Floats, float]],
        running: Ints,
        ages: Floats,
        waiting: int,
        now: Time,
        rng: np.random.Generator,
    ) -> Floats:
        """When each slot ends its last task, in each draw."""
        doubt = _doubt(*known[-1], rng)
        free = np.tile(slots.free.astype(np.float64), (DRAWS, 1))
        for place, age in zip(running.tolist(), ages.tolist(), strict=True):
            times = known[int(slots.offer[place])][0]
            longer = times[times > age]
            rest = (
                rng.choice(longer, DRAWS) - age
                if len(longer)
                else rng.exponential(0.5 * max(age, 1.0), DRAWS)
            )
            free[:, place] += rest * doubt
        used = np.zeros_like(free, dtype=bool)
        used[:, running] = True
        if waiting * len(slots.machine) * DRAWS <= MOST_STEPS * 10 and waiting <= 4_000:
            draws = np.arange(DRAWS)
            for _ in range(waiting):
                first = free.argmin(axis=1)
                took = np.empty(DRAWS)
                for offer in np.unique(slots.offer).tolist():
                    mine = slots.offer[first] == offer
                    times, wasted = known[offer]
                    took[mine] = rng.choice(times, int(mine.sum())) + wasted
                free[draws, first] += took * doubt
                used[draws, first] = True
        elif waiting:
            free = _flowed(slots, known, free, waiting, doubt, rng)
            used[:] = True
        return np.where(used, free, float(now))

    def _judge(self, ends: Floats, slots: _Slots, now: Time, rounded: float) -> Outlook:
        """Ends and costs: machines that are gone have theirs, the others stay for their tasks."""
        log = self._log
        last = ends.max(axis=1)
        machines, first = np.unique(slots.machine, return_index=True)
        stays = np.maximum.reduceat(ends, first, axis=1) if len(first) else ends
        cost = np.zeros(DRAWS)
        for place, machine in enumerate(machines.tolist()):
            offer = log.offer_of(machine)
            stay = np.maximum(stays[:, place], now) - log.rented[machine]
            units = np.ceil(np.maximum(np.maximum(stay, offer.minimum), 1) / offer.billing)
            cost += units * offer.price.nanos
        known = (cost + self._closed(now) + rounded) / NANOS
        goal = self._state.goal
        kept = np.ones(DRAWS, dtype=bool)
        if goal.total_budget is not None:
            kept &= known <= float(goal.total_budget) + 1e-12
        if goal.deadline is not None:
            kept &= last <= goal.deadline
        has_goal = goal.total_budget is not None or goal.deadline is not None
        return Outlook(
            at=now / SECOND,
            end=_quantiles(last / SECOND),
            cost=_quantiles(known),
            chance=float(kept.mean()) if has_goal and not self._log.market.is_free else None,
        )

    def _closed(self, now: Time) -> int:
        """Billionths that machines cost which were gone by then."""
        log, total = self._log, 0
        for machine in range(1, len(log) + 1):
            gone = log.gone[machine]
            if gone != NEVER and gone <= now and log.cause_of(machine) != "refused":
                total += log.offer_of(machine).charge(gone - log.rented[machine]).nanos
        return total


def _doubt(times: Floats, wasted: float, rng: np.random.Generator) -> Floats:
    """By which the mean may be wrong: as many results make it, so sure it is.

    What is wasted comes in pieces as long as a task, now and then.
    """
    count, mean = len(times), float(times.mean())
    if count < 2:
        return np.asarray(np.exp(rng.normal(0.0, 0.5, DRAWS)), dtype=np.float64)
    variance = float(times.var(ddof=1)) + wasted * mean
    error = np.sqrt(variance / count) / (mean + wasted)
    doubt = 1 + error * rng.standard_t(count - 1, DRAWS)
    return np.asarray(np.maximum(0.1, doubt), dtype=np.float64)


def _flowed(
    slots: _Slots,
    known: dict[int, tuple[Floats, float]],
    free: Floats,
    waiting: int,
    doubt: Floats,
    rng: np.random.Generator,
) -> Floats:
    """Very many tasks: all slots work until none waits, then each ends what it has begun."""
    means = np.array([known[int(one)][0].mean() + known[int(one)][1] for one in slots.offer])
    rate = (1 / means).sum() / doubt
    gone_by = (waiting + (free / means).sum(axis=1) / doubt) / rate  # sum of rate * (t - free)
    times = known[-1][0]
    length_biased = rng.choice(times, (DRAWS, min(len(slots.machine), 200)), p=times / times.sum())
    left = length_biased * rng.random(length_biased.shape) * doubt[:, None]
    ends: Floats = np.maximum(free, gone_by[:, None])
    ends[:, : left.shape[1]] += left
    return ends


def _quantiles(values: Floats) -> tuple[float, float, float]:
    low, middle, high = (round(float(np.quantile(values, part)), 6) for part in (0.1, 0.5, 0.9))
    return low, middle, high
