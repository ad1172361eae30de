"""The decision at the start of the tail: which strategy, from what this bag has shown so far.

The frontier is built from the statistics of the run itself (ExPERT, sections 4.1 and 4.3), for what
remains of a work, with the instances under way as old as they are. The choice and its reason become
an event; until then the work goes on without replicas. Each work has a tail of its own.

Where somebody has a preference, it is decided before the tail, and now and then again, how many
reliable machines work beside the unreliable ones; see `policies.pool_reserve`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec
import numpy as np

from bursar.beliefs.pool import PoolObserver
from bursar.engine.roles import Advisor
from bursar.model.errors import BursarError, one_line
from bursar.model.strategy import Strategy
from bursar.model.time import SECOND, Time
from bursar.plan.dominance import Point
from bursar.plan.pools.estimator import LEAST_RELIABILITY, Conditions, estimate
from bursar.plan.pools.frontier import knee_of, prefer
from bursar.plan.pools.prices import prices_of
from bursar.plan.pools.refine import search_strategies
from bursar.plan.pools.strategies import default_deadline
from bursar.policies.pool_machines import is_interim
from bursar.policies.pool_reserve import (
    ReserveQuestion,
    reserve_question,
    reserved,
    spent_by_pool,
)
from bursar.policies.pool_timeout import ENOUGH
from bursar.policies.provision.mixed import Mixed
from bursar.policies.two_pools import TwoPools
from bursar.state import events as ev
from bursar.state.view import View
from bursar.state.work_plans import FIRST_WORK

EFFORT: Final = 1_000
"""Tasks that are simulated for each strategy, in all repetitions together."""
FEWEST: Final = 20
MOST: Final = 100
"""Repetitions, at least and at most."""

CHANGES: Final = (ev.WorkArrived, ev.AttemptStarted, ev.AttemptEnded, ev.MachineDown)
"""What may bring a question up."""
THINKING: Final = 4
"""Part of the time so far after which a decision before the tail is thought over."""


class Situation(msgspec.Struct, frozen=True):
    """All that a decision depends on."""

    conditions: Conditions
    ratio: float
    """the most reliable machines for each unreliable one; 0: there are none"""
    budget: float | None
    """that is left, for each task"""
    deadline: float | None
    """seconds that are left"""
    currency: str
    elapsed: float = 0.0
    """seconds since the work arrived"""
    spent: float = 0.0
    """for it so far"""
    total: int = 0
    """tasks of the whole work"""

    def whole(self, point: Point) -> Point:
        """Makespan and cost of the whole work, if the rest of it takes and costs so much."""
        left = self.conditions.tasks
        return self.elapsed + point[0], (self.spent + point[1] * left) / max(self.total, left)

    @property
    def whole_budget(self) -> float | None:
        return None if self.budget is None else self.whole((0.0, self.budget))[1]

    @property
    def whole_deadline(self) -> float | None:
        return None if self.deadline is None else self.whole((self.deadline, 0.0))[0]


class Advice(msgspec.Struct, frozen=True):
    """The frontier, from the cheapest to the fastest, with what is expected of each strategy."""

    situation: Situation
    strategies: list[Strategy]
    points: list[Point]
    """seconds until the end, and cost for a task"""
    tried: int
    """strategies that were estimated"""


def situation_of(
    work: int, state: View, pools: TwoPools, observer: PoolObserver
) -> Situation | None:
    """What is known now of what remains of a work; None: too little to decide on.

    Works share the money: each task that remains has the same part of what is left, and what was
    spent so far was spent for all tasks alike.
    """
    remaining = pools.tails.left_of(work)
    if pools.results < ENOUGH or not remaining:
        return None
    now, market = state.now, state.market
    known = observer.characterise(now, pools.timeout, pools.unreliable)
    ages = _ages(work, remaining, state)
    cheap, dear, ratio, speedup = prices_of(market, pools.unreliable)
    left = state.ledger.left if state.goal.every is None else None
    _, arrived = state.work[work - 1]
    begin, total = state.work.arrived(work - 1), arrived.count
    own = None if arrived.deadline is None else begin + arrived.deadline
    ends = [end for end in (state.goal.deadline, own) if end is not None]
    return Situation(
        conditions=Conditions(
            tasks=len(ages),
            unreliable=max(len(ages), pools.unreliable),
            reliability=known.gamma.since(now).at_least(LEAST_RELIABILITY),
            turnarounds=known.turnarounds,
            reliable_time=known.reliable_time or max(1, round(known.mean / speedup)),
            unreliable_price=cheap,
            reliable_price=dear,
            is_real=True,
            losses=known.losses,
            ages=ages,
        ),
        ratio=ratio,
        budget=None if left is None else float(left) / (state.total - state.settled),
        deadline=max(0, min(ends) - now) / SECOND if ends else None,
        currency=market.currency,
        elapsed=(now - begin) / SECOND,
        spent=sum(spent_by_pool(state).values()) * total / state.total,
        total=total,
    )


def _ages(work: int, remaining: int, state: View) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Ages of the newest attempt of each task of a work that remains, the oldest first."""
    newest: dict[int, Time] = {}
    for attempt in state.attempts.values():
        if not state.winners[attempt.task] and state.work.place_of(attempt.task) == work - 1:
            newest[attempt.task] = max(newest.get(attempt.task, 0), attempt.started)
    waiting = remaining - len(newest)
    ages = [state.now - started for started in newest.values()] + [0] * waiting
    return np.array(sorted(ages, reverse=True), dtype=np.int64)


def advise(situation: Situation, seed: int = 0) -> Advice:
    """The frontier of the strategies for what remains."""
    conditions = situation.conditions
    repetitions = min(MOST, max(FEWEST, EFFORT // conditions.tasks))

    def points_of(strategies: Sequence[Strategy]) -> list[Point]:
        return estimate(conditions, strategies, repetitions, seed=seed).means()

    found = search_strategies(
        conditions.mean,
        situation.ratio,
        conditions.unreliable,
        points_of,
        quickest=int(conditions.turnarounds[0]),
    )
    front = found.frontier
    return Advice(
        situation=situation,
        strategies=[found.strategies[index] for index in front],
        points=[found.points[index] for index in front],
        tried=len(found.strategies),
    )


def choose(advice: Advice, preference: str | None) -> tuple[int, str]:
    """The place on the frontier that is preferred, and why; a preference is about the whole run."""
    points, situation = advice.points, advice.situation
    best = prefer(
        [situation.whole(point) for point in points],
        preference,
        budget=situation.whole_budget,
        deadline=situation.whole_deadline,
    )
    limits = [
        name
        for name, limit in (("budget", situation.budget), ("deadline", situation.deadline))
        if limit is not None
    ]
    if best is not None:
        kept = f" within the {' and the '.join(limits)}" if limits else ""
        named = preference or {(): "the knee", ("deadline",): "cheapest"}.get(
            tuple(limits), "fastest"
        )
        return best, f"{named}{kept}"
    if situation.budget is not None:
        return (
            0,
            f"no strategy is expected to stay within the {' and the '.join(limits)}: the cheapest",
        )
    return len(points) - 1, "no strategy is expected to meet the deadline: the fastest"


class TailQuestion(msgspec.Struct, frozen=True):
    """Which strategy is best for what remains?"""

    situation: Situation
    requested: Strategy | None
    """asked for, but it is not known how long its instances are waited for"""
    work: int = FIRST_WORK
    """whose strategy it will be"""


class TailAdvisor(Advisor):
    """Watches a run of `mixed`, and asks once for each work when its tail begins.

    Before that, where there is a preference, it asks how many reliable machines work beside the
    others, and again after each quarter of the time so far.
    """

    def __init__(
        self,
        provisioner: Mixed,
        prefer: str | None = None,
        ask: Callable[[Advice], int | None] | None = None,
        seed: int = 0,
    ) -> None:
        self._provisioner = provisioner
        self._preference = prefer
        self._ask = ask
        """lets somebody choose a place on the frontier; nothing else here is not pure"""
        self._seed = seed
        self._observer = PoolObserver()
        self._decided: set[int] = set()
        """works whose strategy for the tail was asked for"""
        self._first_open = 0
        """before this place every work is decided or done"""
        self._has_changed = False
        """something happened since it was last looked at"""
        self._thinks_again: Time = 0

    def saw(self, event: ev.AnyEvent, state: View) -> None:
        self._observer.saw(event, state)
        if isinstance(event, ev.RunResumed):
            self._decided, self._first_open = set(), 0
        elif isinstance(event, ev.StrategyChosen):
            if is_interim(event.strategy):
                self._decided.discard(event.work)
                self._first_open = min(self._first_open, event.work - 1)
            else:
                self._decided.add(event.work)
                self._has_changed = True  # another work may wait for its own
        elif isinstance(event, CHANGES):
            self._has_changed = True

    def saw_before(self, view: View) -> None:
        self._observer.saw_before(view)
        self._has_changed = True
        for work in range(1, len(view.work) + 1):
            strategy = view.strategy_of(work)
            if strategy is not None and not is_interim(strategy):
                self._decided.add(work)

    def question(self, view: View, now: Time) -> TailQuestion | ReserveQuestion | None:
        if not self._has_changed:
            return None
        self._has_changed = False
        pools = self._provisioner.pools
        before: int | None = None
        """the first work whose tail has not begun"""
        for work in self._undecided(view):
            if not pools.begins_tail(work, view):
                before = before or work
                continue
            situation = situation_of(work, view, pools, self._observer)
            if situation is not None:
                self._decided.add(work)
                self._has_changed = True  # the tail of another work may begin now, too
                strategy = pools.strategies.of_work(work)
                return TailQuestion(situation, None if is_interim(strategy) else strategy, work)
        return None if before is None else self._reserve_question(before, view, now)

    def _undecided(self, view: View) -> Iterator[int]:
        """The works that go on, and that nobody was asked for."""
        while self._first_open < len(view.work) and not self._is_open(self._first_open + 1, view):
            self._first_open += 1
        for work in range(self._first_open + 1, len(view.work) + 1):
            if self._is_open(work, view):
                yield work

    def _is_open(self, work: int, view: View) -> bool:
        strategy = self._provisioner.pools.strategies.of_work(work)
        is_known = strategy is not None and strategy.is_timed and not is_interim(strategy)
        return view.work.left(work - 1) > 0 and work not in self._decided and not is_known

    def _reserve_question(self, work: int, view: View, now: Time) -> ReserveQuestion | None:
        provisioner, preference = self._provisioner, self._preference
        if preference is None or provisioner.is_faithful or now < self._thinks_again:
            return None
        question = reserve_question(work, preference, view, provisioner.pools, self._observer)
        if question is not None:
            self._thinks_again = now + now // THINKING
        return question

    def answer(self, question: TailQuestion | ReserveQuestion) -> ev.StrategyChosen | None:
        if isinstance(question, ReserveQuestion):
            return reserved(question)
        situation = question.situation
        try:
            strategy, why, point = self._chosen(question)
        except BursarError as error:
            longest = default_deadline(situation.conditions.mean)
            copies = 0 if situation.ratio else None
            strategy = Strategy(copies, longest, longest, situation.ratio)
            why, point = f"no frontier could be made ({one_line(str(error))})", (0.0, 0.0)
        makespan, cost = round(point[0] * SECOND), point[1] * situation.conditions.tasks
        return ev.StrategyChosen(0, strategy, why, makespan, cost, question.work)

    def _chosen(self, question: TailQuestion) -> tuple[Strategy, str, Point]:
        conditions = question.situation.conditions
        if question.requested is not None:
            asked = question.requested.timed(default_deadline(conditions.mean))
            return asked, "requested", estimate(conditions, [asked], MOST).means()[0]
        advice = advise(question.situation, self._seed)
        place, why = None if self._ask is None else self._ask(advice), "chosen by hand"
        if place is None:
            place, why = choose(advice, self._preference)
        why = f"{why}, of {advice.tried:,} strategies"
        return advice.strategies[place], why, advice.points[place]


def knee_place(advice: Advice) -> int:
    """What is recommended to somebody who is asked."""
    return knee_of(advice.points)
