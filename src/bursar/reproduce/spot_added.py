"""`spot-added`: goals with and without a spot offer in the market.

A spot offer is a chance, never a duty: with it in the market, a budget or a deadline that held
without it holds at least as often, and at no more cost. Markets, bags, goals and what becomes of
spot machines are drawn from the case's name, so that nobody picked them by hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from math import ceil, exp, log
from multiprocessing import get_context
from random import Random
from statistics import fmean, median
from typing import Final

import msgspec

from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.text import counted
from bursar.model.time import HOUR, MINUTE, SECOND, Time
from bursar.model.work import Bag
from bursar.report.summary import Summary
from bursar.reproduce.regret_cases import BILLINGS, HOURS, SECONDS, UNIT
from bursar.reproduce.result import Reproduction, Row, between, checked, shown_only
from bursar.runs.faults import Faults
from bursar.runs.request import Request
from bursar.runs.study import Subject, study
from bursar.simulate.faults import ModelledBehaviour, Runtimes, given
from bursar.simulate.spot_trace import SpotTrace, TracedMachines
from bursar.simulate.unreliable import MortalMachines, exponential
from bursar.simulate.world import Behaviour

AT_ONCE: Final = 2
MARKETS: Final = 20
RUNS: Final = 10
COSTS_MORE: Final = 1.02
"""a cost that is not just another order of the same tasks"""
BUDGET, DEADLINE, BOTH = "budget", "deadline", "budget and deadline"
GOALS: Final = (BUDGET, DEADLINE, BOTH)
LASTING, SHORT, SCARCE, NEVER = "lasting", "short-lived", "scarce", "never there"
FATES: Final = (LASTING, SHORT, SCARCE, NEVER)
"""What becomes of spot machines."""
ASSUMED: Final = (
    f"{MARKETS} markets, {len(GOALS)} goals each, {RUNS} executions each with and without the spot"
    " offer; all of it is drawn from its name, and nothing is known of run times before",
    "a spot offer is one of the others for 25 to 90 % of its price; its machines last, or live for"
    " about one to ten tasks, or are there at times, or never",
    "a budget is 1.25 to 2.5 times the work's cost where it is cheapest without spot machines; a"
    " deadline is 1.5 to 5 times what all machines but those need",
)


class SpotFate(Faults, frozen=True):
    """What becomes of machines of the pool that may vanish; all others last."""

    kind: str = LASTING
    life: Time = HOUR

    def behaviour(self, market: Market, runtimes: Runtimes, seed: int) -> Behaviour:
        behaviour: Behaviour = ModelledBehaviour(runtimes, seed=seed)
        spot = [offer for offer in market.offers if offer.pool == "unreliable"]
        if self.kind in (SCARCE, NEVER):
            rng = Random(f"{seed}/scarce")
            most = max((offer.limit or 1 for offer in spot), default=1)
            there = [0] if self.kind == NEVER else [rng.randint(0, most) for _ in range(500)]
            traces = (SpotTrace(max(self.life, MINUTE), tuple(there)),)
            behaviour = TracedMachines(behaviour, {offer.name: traces for offer in spot})
        if self.kind == SHORT:
            lives = {offer.name: exponential(self.life) for offer in spot}
            behaviour = MortalMachines(behaviour, lives, seed=seed)
        return behaviour


class SpotCase(msgspec.Struct, frozen=True):
    """A market without and with a spot offer, a bag, and goals."""

    name: str
    billing: str
    market: Market
    spot: Offer
    fate: SpotFate
    tasks: int
    mean: Time
    deviation: float
    """of run times, by their mean"""
    budget: Money
    deadline: Time

    def goal(self, kind: str) -> Goal:
        return Goal(
            budget=None if kind == DEADLINE else self.budget,
            deadline=None if kind == BUDGET else self.deadline,
        )

    def subject(self, kind: str, *, with_spot: bool) -> Subject:
        offers = (*self.market.offers, self.spot) if with_spot else self.market.offers
        market = msgspec.structs.replace(self.market, offers=offers)
        request = Request(market=market, goal=self.goal(kind), bag=Bag(count=self.tasks))
        return Subject(request, lambda seed: given(self.runtimes(seed)))

    def runtimes(self, seed: int) -> list[Time]:
        """Of each task on a machine of speed 1; lognormal."""
        rng, sigma = Random(f"{self.name}/{seed}"), log(1 + self.deviation**2) ** 0.5
        return [
            max(SECOND // 10, round(self.mean * rng.lognormvariate(-(sigma**2) / 2, sigma)))
            for _ in range(self.tasks)
        ]


class SpotOutcome(msgspec.Struct, frozen=True):
    """A case with one of its goals; each pair is without and with the spot offer."""

    case: str
    fate: str
    billing: str
    goal: str
    runs: int
    held: tuple[int, int]
    """executions that finish within the goal"""
    cost: tuple[float, float] | None
    """on average, of the executions that finish either way; None: there are none"""
    time: tuple[float, float]
    """of all executions, on average"""


# --- the cases -----------------------------------------------------------------------------------


def case_of(name: str, number: int) -> SpotCase:
    rng = Random(f"spot added/{name} {number}")
    billing = BILLINGS[number % len(BILLINGS)]
    tasks = round(_between(rng, 40, 400))
    mean = round(_between(rng, 60, 600) * SECOND)
    offers = tuple(_offer(rng, billing, place) for place in range(rng.randint(1, 4)))
    market = Market("USD", "undated", offers)
    twin = rng.choice(offers)
    spot = msgspec.structs.replace(
        twin,
        name="spot",
        price=Money.parse(f"{float(twin.price) * rng.uniform(0.25, 0.9):.9f}"),
        limit=rng.randint(2, 30),
        pool="unreliable",
    )
    kind = FATES[number // len(BILLINGS) % len(FATES)] if number < 16 else rng.choice(FATES)
    life = round(mean * _between(rng, 1, 10))
    fate = SpotFate(0.0, 1.0, None, 0, (), kind=kind, life=life)
    rate = min(float(o.price) / (o.billing * o.slots * o.speed) for o in offers)
    slots = sum((o.limit or 1) * o.slots * o.speed for o in offers)
    most = max(offer.boot for offer in offers)
    needs = most + mean * (2 + ceil(tasks / slots))
    return SpotCase(
        name=f"{name} {number}",
        billing=billing,
        market=market,
        spot=spot,
        fate=fate,
        tasks=tasks,
        mean=mean,
        deviation=rng.uniform(0.1, 0.7),
        budget=max(
            Money.parse(f"{rng.uniform(1.25, 2.5) * rate * mean * tasks:.6f}"),
            market.cheapest_entry * 2,
        ),
        deadline=round(rng.uniform(1.5, 5) * needs),
    )


def _offer(rng: Random, billing: str, place: int) -> Offer:
    unit = UNIT[billing]
    slots = 2 ** rng.randint(0, 2 if billing == HOURS else 4)
    speed = round(rng.uniform(0.7, 1.6), 2)
    hourly = 0.045 * slots * speed ** rng.uniform(0.6, 1.2) * _between(rng, 0.85, 1.3)
    return Offer(
        name=f"{'abcd'[place]}{slots}",
        price=Money.parse(f"{hourly * unit / HOUR:.9f}"),
        billing=unit,
        minimum=MINUTE if billing == SECONDS else 0,
        limit=rng.randint(3, 20),
        boot=rng.choice((0, 30, 60, 120)) * SECOND,
        slots=slots,
        speed=speed,
    )


def _between(rng: Random, low: float, high: float) -> float:
    """As likely to be in one octave as in another."""
    return exp(rng.uniform(log(low), log(high)))


# --- the runs ------------------------------------------------------------------------------------


def outcome(case: SpotCase, kind: str, runs: int) -> SpotOutcome:
    before, after = (
        study(case.subject(kind, with_spot=with_spot), case.fate, range(runs)).runs
        for with_spot in (False, True)
    )
    pairs = zip(before, after, strict=True)
    both = [
        (float(one.money.committed), float(other.money.committed))
        for one, other in pairs
        if one.status == other.status == "done"
    ]
    cost = None if not both else (fmean(one for one, _ in both), fmean(one for _, one in both))
    return SpotOutcome(
        case=case.name,
        fate=case.fate.kind,
        billing=case.billing,
        goal=kind,
        runs=runs,
        held=(_held(before), _held(after)),
        cost=cost,
        time=(fmean(one.makespan_s for one in before), fmean(one.makespan_s for one in after)),
    )


def _held(runs: Sequence[Summary]) -> int:
    return sum(one.status == "done" for one in runs)


def outcomes_of(case: SpotCase) -> list[SpotOutcome]:
    return [outcome(case, kind, RUNS) for kind in GOALS]


# --- the table -----------------------------------------------------------------------------------


def reproduce(name: str, count: int = MARKETS) -> Reproduction:
    every = [case_of("market", number) for number in range(count)]
    with ProcessPoolExecutor(AT_ONCE, mp_context=get_context("spawn")) as pool:
        found = [one for some in pool.map(outcomes_of, every) for one in some]
    return Reproduction(
        name=name,
        title="Goals with and without a spot offer in the market",
        source="a demand of our own; no figure of a paper",
        rows=tuple(row for kind in GOALS for row in rows_of(kind, found)),
        assumed=ASSUMED,
    )


def rows_of(kind: str, every: Sequence[SpotOutcome]) -> Iterator[Row]:
    """Of one kind of goal."""
    some = [one for one in every if one.goal == kind]
    before, after = (sum(one.held[place] for one in some) for place in (0, 1))
    runs = sum(one.runs for one in some)
    yield checked(
        f"{kind}: held with the spot offer",
        after,
        between(before, runs, "at least as often as without it"),
        note=f"without it {before}, of {counted(runs, 'execution')}",
        why="what is lost with a spot machine is paid twice, and the budget was just enough",
    )
    fewer = [one for one in some if one.held[1] < one.held[0]]
    yield checked(
        f"{kind}: markets where it holds less often",
        len(fewer),
        between(0, 0, "a spot offer never makes a goal fail"),
        note="; ".join(f"{one.case}: {one.held[1]} for {one.held[0]}" for one in fewer),
        why="what is lost with a spot machine is paid twice, and the budget was just enough",
    )
    costs = {one.case: one.cost[1] / one.cost[0] for one in some if one.cost is not None}
    yield checked(
        f"{kind}: cost, mean over markets",
        round(fmean(costs.values()), 3),
        between(0.0, 1.0, "at no more cost"),
        note=f"by that without the spot offer; median {median(costs.values()):.2f}",
        why="money that is within the budget buys time, which see; and the first machines that are"
        " lost are paid in vain",
    )
    worst = max(costs, key=lambda case: costs[case])
    more = sum(ratio > COSTS_MORE for ratio in costs.values())
    note = f"{worst}; costs more than {COSTS_MORE - 1:.0%} more in {counted(more, 'market')}"
    yield shown_only(f"{kind}: cost, worst market", None, round(costs[worst], 3), note)
    times = median(one.time[1] / one.time[0] for one in some)
    yield shown_only(f"{kind}: time, median market", None, round(times, 3))
