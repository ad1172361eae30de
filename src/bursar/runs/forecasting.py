"""When a run will end and what it will cost: many simulations of what is left, by its own policy.

A policy is pure, so the one that drives the run can be asked what it would do: a copy of the state
goes on in a simulated world, with the machines, leases and attempts of this moment. So a forecast
has in it what is paid already, minimum charges and rounding, what the policy will still rent and
release, replicas, and budget and deadline as the guard keeps them. What nobody knows differs from
one simulation to the next: run times (`beliefs.rest_times`), which attempts fail, which machines
are lost, as often as they were in this run so far.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.beliefs.past import PastAttempts, column, past_attempts
from bursar.beliefs.rest_times import PossibleCurves, PossibleWork
from bursar.beliefs.samples import SampleLog
from bursar.beliefs.work_curve import shifted
from bursar.engine.learners import Learners
from bursar.model.market import Pool
from bursar.model.money import Money
from bursar.model.time import SECOND, Time
from bursar.model.work import Work
from bursar.policies.provision.frontier import PLENTY, TOLD
from bursar.policies.provision.frontier_state import BagBelief
from bursar.runs.policy import policy_of, takes_sample
from bursar.simulate.rest import EndlessError, simulate_rest
from bursar.state.attempts import OUTCOMES
from bursar.state.checkpoint import from_bytes, to_bytes
from bursar.state.events import ForecastMade, Outcome
from bursar.state.read_only import view_of
from bursar.state.state import RunState
from bursar.state.view import Attempt, Machine

Floats = NDArray[np.float64]

DRAWS: Final = 32
AT_ONCE: Final = 256
"""tasks whose work is drawn at once"""
SILENT: Final = 1.5
"""an attempt that takes so many times as long as any before is taken for one that never ends"""
UNSEEN: Final = 0.5
"""losses and failures that are imagined beside those that were seen, so that a rate is as often
higher as lower than what is drawn (Jeffreys, Proceedings of the Royal Society A 186, 1946)"""
_SUCCESS, _FAILED, _TIMEOUT = (OUTCOMES.index(one) for one in ("success", "failed", "timeout"))
_CUT_OFF: Final = [OUTCOMES.index(one) for one in ("cancelled", "lost", "released")]


class _Seen:
    """What a run has shown so far, and what is believed of it."""

    def __init__(self, state: RunState, now: Time) -> None:
        assert state.created is not None  # noqa: S101
        view, options = view_of(state), state.created.made_with
        self.state, self.now = state, now
        self.boots = {offer.name: view.boot_time(offer, now) for offer in state.market.offers}
        self.booting = {
            one.id: now - one.rented + view.boot_left(one, now)
            for one in state.machines.values()
            if one.up is None
        }
        """machines that boot, and what they take in all, as far as that is known"""
        self.belief = BagBelief(options.runtime, options.deviation, options.history)
        self.belief.saw_before(view)
        begun = [
            one
            for one in state.attempts.values()
            if not one.cancelling and one.id in one.machine.attempts
        ]
        past = past_attempts(view)
        self._silent(past, begun)
        first = {one.task: one for one in reversed(begun) if one.id not in self._old}
        ages: dict[str, list[float]] = {offer.name: [] for offer in state.market.offers}
        for one in first.values():
            ages[one.machine.offer.name].append(max(0, now - one.started) / SECOND)
        self.ages = {name: np.array(some) for name, some in ages.items()}
        self.belief.learn(view, self.ages)
        speeds = self.belief.speeds
        ended = sum(shifted(one.bins, speeds[name]) for name, one in self.belief.seen.items())
        self.least = self._least_work(past, begun)
        running = np.fromiter(self.least.values(), np.float64, len(self.least))
        self.curves = PossibleCurves(np.asarray(ended), running)
        self._machines()

    def _silent(self, past: PastAttempts, begun: list[Attempt]) -> None:
        """Attempts that fail, and those that fall silent on unreliable machines."""
        is_good = past.outcomes == _SUCCESS
        bad = past.among((past.outcomes == _FAILED) | (past.outcomes == _TIMEOUT))
        self.failed, self.failing = len(bad.attempts), np.maximum(bad.runtimes, 1)
        longest = int(past.runtimes[is_good].max(initial=0)) * SILENT
        unsure = np.array([offer.pool != "reliable" for offer in self.state.market.offers])
        is_unsure = unsure[past.offers]
        self._old = {
            one.id
            for one in begun
            if one.machine.offer.pool != "reliable" and self.now - one.started > longest
        }
        self._given_up = is_unsure & ~is_good & (past.ended - past.started > longest)
        self.silent = len(self._old) + int(np.count_nonzero(self._given_up))
        self.heard = int(np.count_nonzero(is_unsure & is_good))

    def _least_work(self, past: PastAttempts, begun: list[Attempt]) -> dict[int, float]:
        """By task without a result, the work that it has at least: more than any attempt has done.

        The long ones are those that are under way when a machine is lost or released, and those
        that get a replica: their next attempt is no more likely to be short.
        """
        was_cut = np.isin(past.outcomes, _CUT_OFF) & ~self._given_up
        cut = past.among(was_cut & (column(self.state.winners)[past.tasks] == 0))
        speeds = np.array([self.belief.speeds[one.name] for one in self.state.market.offers])
        done = np.maximum(cut.ended - cut.started, 0) / SECOND * speeds[cut.offers]
        found = dict[int, float]()
        for task, work in zip(cut.tasks.tolist(), done.tolist(), strict=True):
            found[task] = max(work, found.get(task, 0.0))
        for one in begun:
            if one.id not in self._old:
                found[one.task] = max(self.done_of(one), found.get(one.task, 0.0))
        return found

    def _machines(self) -> None:
        """By pool: how long machines were there together, and how many of them were lost."""
        self.stayed: dict[Pool, float] = {"reliable": 0.0, "unreliable": 0.0}
        self.lost: dict[Pool, int] = {"reliable": 0, "unreliable": 0}
        for charge in self.state.ledger.charges():
            end = min(charge.end, self.now)
            self.stayed[charge.offer.pool] += max(0, end - charge.begin) / SECOND
            self.lost[charge.offer.pool] += charge.was_lost

    def done_of(self, attempt: Attempt) -> float:
        """The work of an attempt so far."""
        speed = self.belief.speeds[attempt.machine.offer.name]
        return max(0, self.now - attempt.started) / SECOND * speed


class _Drawn:
    """One way in which things may go on: a behaviour for `simulate_rest`."""

    def __init__(self, seen: _Seen, rng: np.random.Generator) -> None:
        self._seen, self._rng = seen, rng
        belief = seen.belief
        self._times = PossibleWork(seen.curves.draw(rng), rng)
        self._speeds = {
            name: speed * float(np.exp(rng.normal(0.0, belief.doubts[name])))
            for name, speed in belief.speeds.items()
        }
        self._fresh = np.empty(0)
        """work of tasks that were not begun, drawn many at once"""
        self._work: dict[int, float] = {}
        """by task, once it was drawn"""
        self._failing = 0.0
        if seen.failed:
            self._failing = float(rng.beta(seen.failed + UNSEEN, belief.count + UNSEEN))
        self._silent = float(rng.beta(seen.silent, seen.heard + 1)) if seen.silent else 0.0
        self._losses: dict[Pool, float] = {}
        """by pool, how many are lost in a second"""
        for pool, lost in seen.lost.items():
            if (lost or pool == "unreliable") and seen.stayed[pool]:
                self._losses[pool] = float(rng.gamma(lost + UNSEEN)) / seen.stayed[pool]

    def attempt(
        self, task: int, attempt: int, machine: Machine, now: Time
    ) -> tuple[Time | None, Outcome]:
        if machine.offer.pool == "unreliable" and self._rng.random() < self._silent:
            return None, "lost"
        if self._rng.random() < self._failing:
            return int(self._rng.choice(self._seen.failing)), "failed"
        return self._takes(self._work_of(task), machine), "success"

    def ends_in(self, attempt: Attempt, now: Time) -> tuple[Time | None, Outcome]:
        done, task = self._seen.done_of(attempt), attempt.task
        if attempt.machine.offer.pool == "unreliable" and self._silent:
            alive = self._times.alive(done)
            silent = self._silent / (self._silent + (1 - self._silent) * alive)
            if self._rng.random() < silent:
                return None, "lost"
        outcome: Outcome = "failed" if self._rng.random() < self._failing else "success"
        return self._takes(self._work_of(task, done) - done, attempt.machine), outcome

    def _takes(self, work: float, machine: Machine) -> Time:
        return max(1, round(work / self._speeds[machine.offer.name] * SECOND))

    def _work_of(self, task: int, done: float = 0.0) -> float:
        """The same for all attempts of a task, and more than any of them has done."""
        work = self._work.get(task, 0.0)
        if work > done:
            return work
        least = max(done, self._seen.least.get(task, 0.0))
        work = float(self._times.draw(np.array([least]), self._rng)[0]) if least else self._next()
        self._work[task] = work
        return work

    def _next(self) -> float:
        if not len(self._fresh):
            self._fresh = self._times.draw(np.zeros(AT_ONCE), self._rng)
        work, self._fresh = float(self._fresh[-1]), self._fresh[:-1]
        return work

    def boot(self, machine: Machine) -> Time | None:
        return self._seen.booting.get(machine.id, self._seen.boots[machine.offer.name])

    def life(self, machine: Machine) -> Time | None:
        rate = self._losses.get(machine.offer.pool)
        return None if rate is None else 1 + round(self._rng.exponential(1 / rate) * SECOND)

    def lives_on(self, machine: Machine, now: Time) -> Time | None:
        return self.life(machine)

    def notice(self, machine: Machine) -> Time:
        return 0


def may_forecast(state: RunState) -> bool:
    """A service has no end, a sample ends when it has enough, and few results tell little.

    Those that end first are the short ones: a third of what began must have ended.
    """
    is_open = state.arrivals_open and len(state.work) != 1
    is_over = state.ended is not None or state.stopping is not None
    if state.settled == state.total or is_open or is_over or takes_sample(state):
        return False
    return state.done >= min(PLENTY, TOLD * (state.done + len(state.live_of))) and state.done > 0


def forecast(
    state: RunState, now: Time, recall: Callable[[int], Work], seed: int = 0, draws: int = DRAWS
) -> ForecastMade | None:
    """None: too early to tell, or nothing left to do. `recall` finds a work by its event."""
    if not may_forecast(state):
        return None
    now = max(now, state.now)
    seen, known = _Seen(state, now), dict[int, Work]()

    def recalled(event: int) -> Work:
        if event not in known:
            known[event] = recall(event)
        return known[event]

    data = to_bytes(state)
    found = [_play(data, recalled, seen, f"{seed}/{draw}") for draw in range(draws)]
    ends, costs, kept = (np.array(one, dtype=np.float64) for one in zip(*found, strict=True))
    has_goal = state.goal.deadline is not None or state.goal.total_budget is not None
    low, middle, high = _quantiles(ends)
    least, usual, most = map(Money, _quantiles(costs))
    return ForecastMade(
        now,
        (low, middle, high),
        (least, usual, most),
        _chance(kept) if has_goal and not state.market.is_free else None,
        draws,
    )


def _play(
    data: bytes, recall: Callable[[int], Work], seen: _Seen, seed: str
) -> tuple[Time, int, bool]:
    """The end, the cost in billionths, and whether everything got done."""
    state, rng = from_bytes(data, recall), Random(seed)
    state.arrivals_open = False
    policy = policy_of(state, SampleLog())
    policy = msgspec.structs.replace(policy, advisors=())  # they would think for too long
    Learners(policy).saw_before(state)
    drawn = _Drawn(seen, np.random.default_rng(rng.getrandbits(64)))
    try:
        ended = simulate_rest(state, policy, drawn, seen.now, rng)
    except EndlessError:
        return state.now, state.ledger.committed.nanos, False
    is_done = ended.status in ("done", "failed")
    return state.last_settled, state.ledger.committed.nanos, is_done


def _chance(kept: Floats) -> float:
    """That another way to go on keeps the goal, too, by the rule of succession.

    A few simulations that all keep it, or none, are not a certainty: runs of which all 16 did kept
    it in 93 of 100 cases.
    """
    return round((float(kept.sum()) + 1) / (len(kept) + 2), 4)


def _quantiles(values: Floats) -> tuple[int, int, int]:
    """So that another value is between the first and the last in eight cases of ten."""
    found = np.quantile(values, [0.1, 0.5, 0.9], method="weibull")
    low, middle, high = (round(float(one)) for one in found)
    return low, middle, high
