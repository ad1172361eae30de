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
from bursar.report.page.machine_log import CAUSES, NEVER, MachineLog
from bursar.report.page.series import AttemptColumns, Ints
from bursar.state.attempts import OUTCOMES
from bursar.state.state import RunState

DRAWS: Final = 200
MOST_KNOWN: Final = 2_000
"""the latest results that a forecast is made of"""
MOST_PLAYED: Final = 300
"""tasks that are played one by one; beyond, what waits flows over the slots"""
MOMENTS: Final = 24
"""at which the forecasts of a run are shown; half as many for thousands of attempts"""
_SUCCESS: Final = OUTCOMES.index("success")
Floats = NDArray[np.float64]


class RestForecast(msgspec.Struct, frozen=True):
    """The end, in seconds since the run began, and all that it will have cost."""

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


class _Known:
    """Run times of an offer, with the chance of each, and time wasted for each result.

    Attempts that still run count, too: those that end first are the short ones (the product-limit
    estimate, Kaplan and Meier 1958).
    """

    def __init__(self, times: Floats, ages: Floats, wasted: float, useful: int, bad: int) -> None:
        self.times, self.count = np.sort(times), len(times)
        self.wasted = wasted / max(1, useful)
        """for each result"""
        self.piece = wasted / max(1, bad)
        """for each attempt without one"""
        self.bad = bad / max(1, bad + useful)
        """the chance of such an attempt"""
        older = len(ages) - np.searchsorted(np.sort(ages), self.times, side="left")
        at_risk = np.arange(len(times), 0, -1) + older
        surviving = np.cumprod(1 - 1 / at_risk)
        self.ends = 1 - surviving
        self.ends[-1] = 1.0
        """the chance that a task takes no longer than this one"""
        chances = np.diff(self.ends, prepend=0.0)
        self.mean = float(self.times @ chances)
        self.variance = float(np.square(self.times - self.mean) @ chances)

    def draw(self, uniform: Floats) -> Floats:
        """Run times, of numbers between 0 and 1."""
        return self.times[np.minimum(np.searchsorted(self.ends, uniform), self.count - 1)]

    def left(self, ages: Floats, rng: np.random.Generator) -> Floats:
        """What is left of attempts of these ages, by draw: as those that took longer had left.

        One that has run for longer than any before runs on for half as long again, on average.
        """
        first = np.searchsorted(self.times, ages, side="right")
        before = np.concatenate(([0.0], self.ends))[first]
        uniform = before + rng.random((DRAWS, len(ages))) * (1 - before)
        unknown = rng.exponential(0.5, (DRAWS, len(ages))) * np.maximum(ages, 1.0)
        longer = np.maximum(self.draw(uniform) - ages, 1.0)
        left = np.where(first < self.count, longer, unknown)
        again = rng.random(left.shape) < self.bad
        return left + np.where(again, self.whole(left.shape, rng), 0.0)

    def whole(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        """What tasks take to their result, attempts without one included."""
        tries = rng.geometric(1 - self.bad, shape) - 1 if self.bad < 1 else np.zeros(shape)
        return self.draw(rng.random(shape)) + tries * self.piece

    def doubt(self, rng: np.random.Generator) -> Floats:
        """By which the mean may be wrong: as many results make it, so sure it is.

        What is wasted comes in pieces as long as a task, now and then.
        """
        if self.count < 2:
            return np.asarray(np.exp(rng.normal(0.0, 0.5, DRAWS)), dtype=np.float64)
        variance = self.variance + self.wasted * self.mean
        error = np.sqrt(variance / self.count) / (self.mean + self.wasted)
        doubt = 1 + error * rng.standard_t(self.count - 1, DRAWS)
        return np.asarray(np.maximum(0.1, doubt), dtype=np.float64)


class Outlooks:
    """The forecasts of one run."""

    def __init__(self, state: RunState, columns: AttemptColumns, machines: MachineLog) -> None:
        self._state, self._columns, self._log = state, columns, machines
        self._offer_of = np.array(machines.offer)
        self._runtime = np.array(state.log.runtime, dtype=np.int64)[1:]
        failed = [state.log.ended[failure.attempt] for failure in state.failed_tasks.values()]
        self._failed = np.sort(np.array(failed, dtype=np.int64))
        self._done = np.sort(columns.ended[columns.is_winner])

    def history(self, until: Time) -> list[RestForecast]:
        """At moments that are spread evenly, as far as there was something to go by."""
        begin = max(self._state.begun, int(self._done[0]) if len(self._done) else 0)
        if until <= begin:
            return []
        many = len(self._columns.task) > MOST_KNOWN
        moments = (
            np.linspace(begin, until, (MOMENTS // 2 if many else MOMENTS) + 1)[1:-1]
            .astype(np.int64)
            .tolist()
        )
        found = (self.at(moment) for moment in moments)
        return [one for one in found if one is not None]

    def at(self, now: Time) -> RestForecast | None:
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
        known = self._known(now, live)
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

    def _known(self, now: Time, live: Ints) -> dict[int, _Known]:
        """By offer: run times of successes, and time that went by for each of them without result:
        other attempts, and the boot of machines in the place of lost ones.

        An offer without any has those of all.
        """
        lost, boots = self._losses(now)
        columns = self._columns
        ended = (columns.ended <= now) & ~columns.is_live
        offer = self._offer_of[columns.machine]
        success = ended & (columns.outcome == _SUCCESS)
        found: dict[int, _Known] = {}
        ages = (now - columns.started[live]).astype(np.float64)
        for place in (-1, *range(len(self._log.market.offers))):
            mine = np.ones_like(success) if place < 0 else offer == place
            times = np.maximum(self._runtime[success & mine][-MOST_KNOWN:], 1).astype(np.float64)
            useful = int(np.count_nonzero(mine & ended & columns.is_winner))
            others = mine & ended & ~columns.is_winner
            wasted = float((columns.ended - columns.started)[others].sum())
            wasted += float(boots[lost if place < 0 else lost & (self._offer_of == place)].sum())
            if len(times):
                young = ages if place < 0 else ages[offer[live] == place]
                bad = int(np.count_nonzero(others))
                found[place] = _Known(times, young, wasted, useful, bad)
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
        known: dict[int, _Known],
        running: Ints,
        ages: Floats,
        waiting: int,
        now: Time,
        rng: np.random.Generator,
    ) -> Floats:
        """When each slot ends its last task, in each draw."""
        doubt = known[-1].doubt(rng)
        free = np.tile(slots.free.astype(np.float64), (DRAWS, 1))
        for offer in np.unique(slots.offer[running]).tolist():
            mine = slots.offer[running] == offer
            rest = known[offer].left(ages[mine], rng)
            free[:, running[mine]] += rest * doubt[:, None]
        used = np.zeros_like(free, dtype=bool)
        used[:, running] = True
        if waiting <= MOST_PLAYED:
            draws = np.arange(DRAWS)
            for _ in range(waiting):
                first = free.argmin(axis=1)
                took = np.empty(DRAWS)
                for offer in np.unique(slots.offer).tolist():
                    mine = slots.offer[first] == offer
                    took[mine] = known[offer].whole((int(mine.sum()),), rng)
                free[draws, first] += took * doubt
                used[draws, first] = True
        elif waiting:
            free = _flowed(slots, known, free, waiting, doubt, rng)
            used[:] = True
        return np.where(used, free, float(now))

    def _judge(self, ends: Floats, slots: _Slots, now: Time, rounded: float) -> RestForecast:
        """Ends and costs: machines that are gone have theirs, the others stay for their tasks."""
        log = self._log
        last = ends.max(axis=1)
        machines, first = np.unique(slots.machine, return_index=True)
        stays = np.maximum.reduceat(ends, first, axis=1) if len(first) else ends
        cost = np.zeros(DRAWS)
        rented, offers = np.array(log.rented)[machines], self._offer_of[machines]
        for place in np.unique(offers).tolist():
            offer, mine = log.market.offers[place], offers == place
            stay = np.maximum(stays[:, mine], now) - rented[mine]
            units = np.ceil(np.maximum(stay, max(offer.minimum, 1)) / offer.billing)
            cost += units.sum(axis=1) * offer.price.nanos
        known = (cost + self._closed(now) + rounded) / NANOS
        goal = self._state.goal
        kept = np.ones(DRAWS, dtype=bool)
        if goal.total_budget is not None:
            kept &= known <= float(goal.total_budget) + 1e-12
        if goal.deadline is not None:
            kept &= last <= goal.deadline
        has_goal = goal.total_budget is not None or goal.deadline is not None
        return RestForecast(
            at=now / SECOND,
            end=_quantiles(last / SECOND),
            cost=_quantiles(known),
            chance=float(kept.mean()) if has_goal and not self._log.market.is_free else None,
        )

    def _closed(self, now: Time) -> float:
        """Billionths that machines cost which were gone by then; estimates are no ledger."""
        log = self._log
        gone, rented = np.array(log.gone), np.array(log.rented)
        refused = np.array(log.cause, dtype=np.uint8) == CAUSES.index("refused")
        is_gone = (gone != NEVER) & (gone <= now) & ~refused
        is_gone[0] = False
        total = 0.0
        for place, offer in enumerate(log.market.offers):
            stay = (gone - rented)[is_gone & (self._offer_of == place)]
            units = -(-np.maximum(stay, max(offer.minimum, 1)) // offer.billing)
            total += float(units.sum()) * offer.price.nanos
        return total


def _flowed(
    slots: _Slots,
    known: dict[int, _Known],
    free: Floats,
    waiting: int,
    doubt: Floats,
    rng: np.random.Generator,
) -> Floats:
    """Very many tasks: all slots work until none waits, then each ends what it has begun."""
    means = np.array([known[offer].mean + known[offer].wasted for offer in slots.offer.tolist()])
    rate = (1 / means).sum() / doubt
    gone_by = (waiting + (free / means).sum(axis=1) / doubt) / rate  # sum of rate * (t - free)
    times = known[-1].times
    longer = np.cumsum(times * np.diff(known[-1].ends, prepend=0.0))  # a slot is met in a long one
    uniform = rng.random((DRAWS, min(len(slots.machine), 200)))
    met = times[np.minimum(np.searchsorted(longer / longer[-1], uniform), len(times) - 1)]
    again = rng.random(met.shape) < known[-1].bad
    left = met * rng.random(met.shape) + np.where(again, known[-1].whole(met.shape, rng), 0.0)
    left *= doubt[:, None]
    ends: Floats = np.maximum(free, gone_by[:, None])
    ends[:, : left.shape[1]] += left
    return ends


def _quantiles(values: Floats) -> tuple[float, float, float]:
    low, middle, high = (round(float(np.quantile(values, part)), 6) for part in (0.1, 0.5, 0.9))
    return low, middle, high
