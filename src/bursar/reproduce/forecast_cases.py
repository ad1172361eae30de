"""Runs that `forecasts` looks at: bags with goals that are neither safe nor hopeless."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from math import exp, log
from random import Random
from statistics import median
from typing import Final, Literal

import msgspec

from bursar.model.goal import Goal, Limits
from bursar.model.market import Market, Offer
from bursar.model.money import NANOS, Money
from bursar.model.time import HOUR, MINUTE, SECOND, Time
from bursar.model.work import Bag
from bursar.runs.faults import Faults
from bursar.runs.request import Request
from bursar.runs.study import Subject, by_engine
from bursar.simulate.faults import drawn
from bursar.state import events as ev
from bursar.state.state import RunState

PLENTY: Final = Money.parse("100000")
REFERENCES: Final = 3
"""runs without a limit, by which a goal is chosen"""
LEAST, MOST = 0.92, 1.15
"""a goal is what such runs took, times a number between these"""


class ForecastKind(msgspec.Struct, frozen=True):
    """What runs of a kind have in common; the rest is drawn."""

    market: Market
    limited: Literal["budget", "deadline", "both"]
    tasks: tuple[int, int]
    mean: Time
    """of run times at speed 1, which are log-normal ..."""
    spread: float
    """... with this deviation of their logarithm"""
    fleet: Mapping[str, int]
    """of the runs by which a goal is chosen"""
    faults: Faults = Faults()
    adapts: bool = False
    """the policy that bursar chooses rents and releases; otherwise the fleet stays as it is"""


def _market(*offers: Offer) -> Market:
    return Market("USD", "undated", offers)


def _by_second(name: str, hourly: str, slots: int, limit: int, **more: object) -> Offer:
    price = Money(round(Money.parse(hourly).nanos / 3600))
    return msgspec.structs.replace(
        Offer(name, price, SECOND, MINUTE, limit, 45 * SECOND, slots), **more
    )


HOURLY: Final = _market(Offer("hourly", Money.parse("0.10"), HOUR, limit=10, boot=90 * SECOND))
MINUTES: Final = _market(
    Offer("slow", Money.parse("0.01"), 5 * MINUTE, limit=10, boot=30 * SECOND),
    Offer("fast", Money.parse("0.025"), 5 * MINUTE, limit=10, boot=30 * SECOND, speed=2.0),
)
CLOUD: Final = _market(
    _by_second("two", "0.096", 2, 8), _by_second("four", "0.192", 4, 4),
    _by_second("eight", "0.384", 8, 2),
)  # fmt: skip
SPOT: Final = _market(
    _by_second("steady", "0.096", 2, 6), _by_second("spot", "0.032", 2, 6, pool="unreliable")
)
KINDS: Final[Mapping[str, ForecastKind]] = {
    "by the hour, a fleet that stays, deadline": ForecastKind(
        HOURLY, "deadline", (80, 200), 12 * MINUTE, 0.5, {"hourly": 8}
    ),
    "by the hour, a fleet that stays, budget": ForecastKind(
        HOURLY, "budget", (80, 200), 12 * MINUTE, 0.5, {"hourly": 6}
    ),
    "heavy tail, deadline": ForecastKind(
        MINUTES, "deadline", (80, 200), 4 * MINUTE, 1.2, {"slow": 6}
    ),
    "failing tasks, both": ForecastKind(
        MINUTES, "both", (80, 200), 4 * MINUTE, 0.4, {"slow": 6}, Faults(failing=0.1)
    ),
    "machines that are lost, both": ForecastKind(
        MINUTES, "both", (80, 200), 6 * MINUTE, 0.4, {"slow": 6}, Faults(mean_life=40 * MINUTE)
    ),
    "by the second, a fleet that adapts, budget": ForecastKind(
        CLOUD, "budget", (100, 250), 5 * MINUTE, 0.6, {"two": 4}, adapts=True
    ),
    "by the second, a fleet that adapts, deadline": ForecastKind(
        CLOUD, "deadline", (100, 250), 5 * MINUTE, 0.6, {"two": 8, "four": 2}, adapts=True
    ),
    "spot machines, both": ForecastKind(
        SPOT, "both", (100, 250), 5 * MINUTE, 0.5, {"spot": 6}, Faults(mean_life=30 * MINUTE)
    ),
}


class _Kept:
    """The events of a simulated run."""

    def __init__(self) -> None:
        self.events: list[ev.AnyEvent] = []

    def append(self, event: ev.AnyEvent) -> None:
        self.events.append(event)

    def commit(self, *, safely: bool) -> None:
        pass


class ForecastCase:
    """One run, drawn from its name."""

    def __init__(self, name: str, number: int, seed: str = "") -> None:
        self.name, self.kind = name, KINDS[name]
        rng = Random(f"forecasts of runs/{seed}/{name}/{number}")
        self._seed = rng.getrandbits(40)
        self._tasks = rng.randint(*self.kind.tasks)
        self._factors = [exp(rng.uniform(log(LEAST), log(MOST))) for _ in range(2)]
        wide = self._subject(Goal(PLENTY), stays=True)
        references = [self._reference(wide, number) for number in range(REFERENCES)]
        ends, costs = zip(*references, strict=True)
        self.goal = self._goal(median(ends), median(costs))

    @cached_property
    def typical(self) -> Time:
        """How long another run with the same goal takes."""
        limited = self._subject(self.goal, stays=False)
        return round(self._reference(limited, REFERENCES)[0])

    def _reference(self, subject: Subject, number: int) -> tuple[float, float]:
        found = by_engine(subject, self.kind.faults, self._seed + 1 + number)
        return found.makespan_s * SECOND, float(found.money.committed)

    def _goal(self, end: float, cost: float) -> Goal:
        of_end, of_cost = self._factors
        budget = Money(round(cost * of_cost * NANOS))
        deadline = round(end * of_end)
        if self.kind.limited == "budget":
            return Goal(budget)
        return Goal(PLENTY if self.kind.limited == "deadline" else budget, deadline)

    def _subject(self, goal: Goal, *, stays: bool) -> Subject:
        kind = self.kind
        adapts = kind.adapts and not stays
        request = Request(
            market=kind.market,
            goal=goal,
            limits=Limits(3),
            fleet=None if adapts else dict(kind.fleet),
            bag=Bag(count=self._tasks),
        )
        middle = log(kind.mean) - kind.spread**2 / 2

        def draw(rng: Random) -> Time:
            return max(1, round(rng.lognormvariate(middle, kind.spread)))

        return Subject(request, lambda seed: drawn(draw, seed))

    def events(self) -> list[ev.AnyEvent]:
        """What its journal would have."""
        subject, kept = self._subject(self.goal, stays=False), _Kept()
        by_engine(subject, self.kind.faults, self._seed, kept)
        created = kept.events[0]
        assert isinstance(created, ev.RunCreated)  # noqa: S101
        request = subject.request
        known = msgspec.structs.replace(
            created, policies=dict(request.all_policies()), options=request.options()
        )
        return [known, *kept.events[1:]]


def states_at(events: list[ev.AnyEvent], moments: list[Time]) -> Iterator[tuple[Time, RunState]]:
    """The state at each of these moments, ascending; it is the same object, which goes on."""
    state, left = RunState(), iter(events)
    event = next(left, None)
    for moment in moments:
        while event is not None and event.at <= moment:
            state.apply(event)
            event = next(left, None)
        yield moment, state
