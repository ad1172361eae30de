"""Plans for a bag on unreliable machines, with reliable ones for its tail (ExPERT, section 4).

The strategies come from the frontier of the whole bag, estimated with what is most likely. Their
bounds also hold what is not known: each outcome is an execution with another reliability and with
other run times that could have given what was seen (`beliefs.posterior`). There a long task is long
again when it is sent again, and where machines are lost, long tasks are lost more often.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Final, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.beliefs.cautions import sample_cautions
from bursar.beliefs.posterior import possible_runtimes
from bursar.beliefs.prediction import Prediction
from bursar.beliefs.reliability import History, InstanceEnd
from bursar.model.errors import InputError
from bursar.model.market import Market, Offer
from bursar.model.money import ZERO, Money
from bursar.model.strategy import Strategy
from bursar.model.time import Time
from bursar.plan.bag.candidate import Candidate, Samples, reliable_offers
from bursar.plan.bag.choices import Choice, most_profitable
from bursar.plan.dominance import Point
from bursar.plan.pools.estimator import (
    LEAST_RELIABILITY,
    NOTHING,
    Conditions,
    Estimates,
    Price,
    estimate,
)
from bursar.plan.pools.frontier import knee_of
from bursar.plan.pools.prices import prices_of
from bursar.plan.pools.refine import search_strategies
from bursar.plan.pools.split import by_price, unreliable_offers
from bursar.plan.pools.strategies import default_deadline

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

WORLDS: Final = 48
"""Reliabilities and run times that are possible."""
EXECUTIONS: Final = 8
"""In each of these worlds."""
ROW: Final = 1_000
"""Turnaround times that stand for a distribution of them."""
WORK: Final = 2_000_000
"""Tasks that are simulated in all executions together, about."""
FEW_EXECUTIONS: Final = 2
"""In each world, however large the bag is."""
ROUNDS: Final = 3
STEADY: Final = 1_000
"""Tasks for each slot, or in all if that is more, after which things go on as before: what a larger
bag takes until its tail is in proportion."""
SEARCHED_SLOTS: Final = 300
"""A larger pool is searched for strategies on this scale."""
MOST_STRETCH: Final = 5
"""No turnaround time is taken for longer than so many times the longest seen."""
EFFORT: Final = 1_000
"""Tasks of the tail that the search simulates for each strategy, in all repetitions together."""
MOST: Final = 100
"""Repetitions of the search."""
MOST_MACHINES: Final = 10_000
"""Most machines of the unreliable pool, if neither the market nor the bag has fewer."""
MODELLED: Final = 50
"""Machines whose charges stand for those of all."""
GOLDEN: Final = 0.6180339887498949
"""Its multiples are evenly spread between whole numbers, however many there are."""
MOST_RATE: Final = 5.0
"""Lives in which the longest task is done: more of them, and it would hardly ever return."""
HALVINGS: Final = 40
"""Halvings of the range in which a life is searched."""
NEVER: Final[Point] = (inf, inf)
"""The point of strategies that are not considered."""
TIMED: Final = Price(ZERO, 1)
"""What is counted is time; what it costs depends on how it is spread over machines."""


class PoolKnowledge(msgspec.Struct, frozen=True):
    """What is known of the unreliable pool before the rest of the bag is begun."""

    turnarounds: Integers
    """of results"""
    results: int = 0
    lost: int = 0
    """attempts with and without a result"""
    losses: Integers = NOTHING
    """how long after its sending an attempt was known to be lost"""
    reliability: float | None = None
    """the share of attempts that return a result, as given; None: by what came back"""

    @classmethod
    def learned(
        cls,
        history: History,
        turnarounds: Integers | None = None,
        reliability: float | None = None,
    ) -> Self:
        """What an earlier run, or the sample, tells; what is given stands for what it tells.

        What was still under way, or called back, tells nothing.
        """
        is_lost = history.fates == InstanceEnd.LOST
        times = history.turnarounds() if turnarounds is None else turnarounds
        return cls(
            turnarounds=times,
            results=int((history.fates == InstanceEnd.RESULT).sum()),
            lost=int(is_lost.sum()),
            losses=np.sort(np.maximum(1, history.ended[is_lost] - history.sent[is_lost])),
            reliability=reliability,
        )

    def __post_init__(self) -> None:
        share = self.reliability
        if share is not None and not LEAST_RELIABILITY <= share <= 1:
            raise InputError(f"a reliability of {share:g}; use {LEAST_RELIABILITY:g} to 1")

    @property
    def likely_reliability(self) -> float:
        """What was given, or the mean of Jeffreys' posterior."""
        if self.reliability is not None:
            return self.reliability
        return max(LEAST_RELIABILITY, (self.results + 0.5) / (self.results + self.lost + 1))

    def possible_reliabilities(self, rng: np.random.Generator) -> Floats:
        if self.reliability is not None:
            return np.full(WORLDS, self.reliability)
        drawn = rng.beta(self.results + 0.5, self.lost + 0.5, WORLDS)
        return np.maximum(drawn, LEAST_RELIABILITY)


class Stage(msgspec.Struct, frozen=True):
    """A bag, the machines that it may have, and what is known of them."""

    tasks: int
    known: PoolKnowledge
    unreliable: tuple[Offer, ...]
    """with a limit each, no more together than the bag has use for"""
    reliable: Offer | None
    """where the tail ends; None: nowhere"""
    runtimes: Integers
    """there"""
    prices: tuple[Price, Price]
    """of a slot in both pools"""
    ratio: float
    """the most reliable slots for each unreliable one"""

    @property
    def slots(self) -> int:
        return sum((offer.limit or 0) * offer.slots for offer in self.unreliable)

    @property
    def steady(self) -> int:
        """Tasks that are simulated."""
        return min(self.tasks, max(STEADY, ROUNDS * self.slots))

    @property
    def boot(self) -> Time:
        return max(offer.boot for offer in self.unreliable)

    def fleet(self, strategy: Strategy) -> dict[str, int]:
        """All unreliable machines, and as many reliable ones as the strategy may use at once."""
        machines = {offer.name: offer.limit or 0 for offer in self.unreliable}
        if self.reliable is not None:
            slots = strategy.reliable_machines(self.slots)
            machines[self.reliable.name] = -(-slots // self.reliable.slots)
        return machines


class PossiblePool(msgspec.Struct, frozen=True):
    """One of the ways in which things can be, given what was seen."""

    reliability: float
    turnarounds: Integers
    losses: Integers
    reliable_time: Time
    life: Time = 0
    """of an unreliable machine, on average; 0: losses are not reported"""

    def occupation(self, boot: Time) -> float:
        """For how long a result occupies an unreliable slot before the tail, with what is lost."""
        longest = default_deadline(max(1, round(float(np.mean(self.turnarounds)))))
        in_time = self.turnarounds[self.turnarounds < longest]
        results = self.reliability * len(in_time) / len(self.turnarounds)
        known = np.minimum(self.losses + boot, longest)
        lost = float(known.mean()) if len(known) else float(longest)
        late = self.reliability - results
        total = results * float(in_time.mean()) + late * longest + (1 - self.reliability) * lost
        return total / results


def mixed_candidates(
    market: Market,
    samples: Samples,
    known: PoolKnowledge,
    tasks: int,
    *,
    between: int = 0,
    seed: int = 0,
) -> list[Candidate]:
    """Plans with the market's unreliable offers, from the cheapest to the fastest.

    Of the frontier of strategies these are its ends, its knee, and `between` more between the ends.
    """
    stage = _set_stage(market, samples, known, tasks)
    rng = np.random.default_rng(seed)
    worlds = _possible_worlds(stage, rng)
    named = _named_strategies(stage, between, seed)
    predictions = _predict(stage, worlds, list(named.values()), rng)
    return [
        _candidate(stage, name, strategy, prediction)
        for (name, strategy), prediction in zip(named.items(), predictions, strict=True)
    ]


def known_unreliable(market: Market, samples: Samples, tasks: int) -> list[Offer]:
    """Unreliable offers of which run times are known, with a limit each.

    The cheapest come first, and together they have no more machines than the bag has use for.
    """
    offers, slots = [], 0
    for offer in by_price(unreliable_offers(market)):
        wanted = -(-(min(tasks, MOST_MACHINES) - slots) // offer.slots)
        count = wanted if offer.limit is None else min(wanted, offer.limit)
        if count > 0 and len(samples.get(offer.name, ())):
            offers.append(msgspec.structs.replace(offer, limit=count))
            slots += count * offer.slots
    return offers


def pooled_runtimes(offers: Sequence[Offer], samples: Samples) -> Integers:
    """Run times on these offers, of the same tasks in the same order, as one sample of the pool.

    Each task is taken from one offer, an offer as often as it gives a result.
    """
    rates = [(one.limit or 1) * one.slots / float(np.mean(samples[one.name])) for one in offers]
    places = np.arange(len(samples[offers[0].name])) * GOLDEN % 1.0
    chosen = np.searchsorted(np.cumsum(rates) / sum(rates), places, side="right")
    return np.choose(chosen, [samples[one.name] for one in offers])


def _set_stage(market: Market, samples: Samples, known: PoolKnowledge, tasks: int) -> Stage:
    unreliable = known_unreliable(market, samples, tasks)
    slots = sum((offer.limit or 0) * offer.slots for offer in unreliable)
    sure = reliable_offers(market)
    means = {o.name: round(float(np.mean(samples[o.name]))) for o in sure if o.name in samples}
    reliable = most_profitable(sure, means) if means else None
    offers = (*unreliable, *([] if reliable is None else [reliable]))
    cheap, dear, ratio, _ = prices_of(Market(market.currency, market.date, offers), slots)
    return Stage(
        tasks=tasks,
        known=known,
        unreliable=tuple(unreliable),
        reliable=reliable,
        runtimes=known.turnarounds if reliable is None else samples[reliable.name],
        prices=(cheap, dear),
        ratio=ratio,
    )


# --- which strategies ----------------------------------------------------------------------------


def _named_strategies(stage: Stage, between: int, seed: int) -> dict[str, Strategy]:
    """Strategies of the frontier, each once, from the cheapest to the fastest.

    No instance is given up before the longest result that was seen could have come, if a default
    deadline allows for that. The estimator would let another attempt be quicker, but a task that is
    long will be long again.
    """
    known = stage.known
    times = np.sort(known.turnarounds)
    likely = PossiblePool(
        reliability=known.likely_reliability,
        turnarounds=times,
        losses=np.sort(known.losses),
        reliable_time=max(1, round(float(np.mean(stage.runtimes)))),
    )
    slots = min(stage.slots, SEARCHED_SLOTS)
    tasks = min(-(-stage.tasks * slots // stage.slots), max(STEADY, ROUNDS * slots))
    conditions = _conditions(stage, likely, stage.prices, tasks, slots)
    repetitions = min(MOST, EFFORT // slots)

    longest = min(int(times[-1]), default_deadline(conditions.mean) - 1)

    def points_of(strategies: Sequence[Strategy]) -> list[Point]:
        patient = [one for one in strategies if one.deadline > longest]
        means = estimate(conditions, patient, repetitions, seed=seed).means() if patient else []
        known_points = dict(zip(patient, means, strict=True))
        return [known_points.get(one, NEVER) for one in strategies]

    found = search_strategies(
        conditions.mean,
        stage.ratio,
        slots,
        points_of,
        quickest=longest,
    )
    front = found.frontier
    last = len(front) - 1
    places = {"mixed-cheapest": 0, "mixed-fastest": last}
    places["mixed-knee"] = knee_of([found.points[index] for index in front])
    for step in range(1, between + 1):
        share = step / (between + 1)
        places[f"mixed-{share:.0%}"] = round(last * share)
    named: dict[Strategy, str] = {}
    for name, place in sorted(places.items(), key=lambda one: one[1]):
        named.setdefault(_within(found.strategies[front[place]], stage.ratio), name)
    return {name: strategy for strategy, name in named.items()}


def _within(strategy: Strategy, ratio: float) -> Strategy:
    """On the scale of the search a single reliable machine may stand for more than there are."""
    return msgspec.structs.replace(strategy, ratio=min(strategy.ratio, ratio))


def _conditions(
    stage: Stage,
    world: PossiblePool,
    prices: tuple[Price, Price],
    tasks: int,
    slots: int,
    *,
    has_own_times: bool = False,
) -> Conditions:
    boot = 0 if stage.reliable is None else stage.reliable.boot
    return Conditions(
        tasks=tasks,
        unreliable=slots,
        reliability=world.reliability,
        turnarounds=world.turnarounds,
        reliable_time=world.reliable_time + boot,
        unreliable_price=prices[0],
        reliable_price=prices[1],
        is_real=True,
        losses=world.losses + stage.boot,
        has_own_times=has_own_times,
        life=world.life,
        replacing=stage.boot,
    )


# --- what is to be expected of them --------------------------------------------------------------


def _possible_worlds(stage: Stage, rng: np.random.Generator) -> list[PossiblePool]:
    known = stage.known
    lost = len(known.losses)
    [unreliable] = possible_runtimes([known.turnarounds], WORLDS, rng)
    [reliable] = possible_runtimes([stage.runtimes], WORLDS, rng)
    rows = np.sort(unreliable.draw(rng, slice(0, WORLDS), ROW), axis=1).astype(np.int64)
    rows = np.minimum(rows, MOST_STRETCH * known.turnarounds.max())
    rows[:, 0] = np.minimum(rows[:, 0], known.turnarounds.min())
    times = np.maximum(1.0, np.rint(reliable.mean())).astype(np.int64)
    return [
        PossiblePool(
            reliability=float(chance),
            turnarounds=rows[number],
            losses=np.sort(known.losses[rng.integers(0, max(1, lost), lost)]),
            reliable_time=int(times[number]),
            life=mean_life(rows[number], float(chance)) if lost else 0,
        )
        for number, chance in enumerate(known.possible_reliabilities(rng))
    ]


def mean_life(times: Integers, reliability: float) -> Time:
    """The mean life of machines that die by chance, of which this share of attempts is lost.

    Each task is sent until it returns: of a time x that takes exp(x / life) attempts on average.
    """
    scaled = times / times.max()
    low, high = 0.0, MOST_RATE
    for _ in range(HALVINGS):
        rate = (low + high) / 2
        low, high = (low, rate) if np.exp(rate * scaled).mean() > 1 / reliability else (rate, high)
    return max(1, round(float(times.max()) / high))


def _predict(
    stage: Stage,
    worlds: Sequence[PossiblePool],
    strategies: Sequence[Strategy],
    rng: np.random.Generator,
) -> list[Prediction]:
    """Outcomes of each strategy."""
    makespans, costs = [], []
    executions = WORK // (WORLDS * stage.steady)
    executions = min(EXECUTIONS, max(FEW_EXECUTIONS, executions))
    for number, world in enumerate(worlds):
        conditions = _conditions(
            stage, world, (TIMED, TIMED), stage.steady, stage.slots, has_own_times=True
        )
        found = estimate(conditions, strategies, executions, seed=number)
        rest = (stage.tasks - stage.steady) * world.occupation(stage.boot)
        makespans.append(found.makespans + stage.boot + round(rest / stage.slots))
        costs.append(_costs(stage, world, found, rest, rng))
    cautions = tuple(sample_cautions(stage.unreliable[0].name, stage.known.turnarounds))
    return [
        Prediction(tuple(map(int, spans)), tuple(map(int, amounts)), cautions)
        for spans, amounts in zip(
            np.concatenate(makespans, axis=1), np.concatenate(costs, axis=1), strict=True
        )
    ]


def _costs(
    stage: Stage, world: PossiblePool, found: Estimates, rest: float, rng: np.random.Generator
) -> Floats:
    """In billionths. Each machine that is lost is replaced, and paid for to the end of a period."""
    cheap, dear = stage.prices
    machines = min(stage.tasks, stage.slots)
    is_lost = len(world.losses) > 0
    lost = stage.tasks * (1 / world.reliability - 1) if is_lost else 0.0
    busy = found.unreliable_periods + rest
    # All strategies have the same luck, so that they differ by what they are.
    rentals = machines + rng.poisson(lost, busy.shape[-1:]).astype(np.float64) + 0 * busy
    minimum = max(offer.minimum for offer in stage.unreliable)
    spread = np.inf if is_lost else 2 * float(np.mean(world.turnarounds))
    costs = _charges(cheap, busy, rentals, stage.boot, minimum, spread, rng)
    if stage.reliable is not None:
        used = found.reliable_used.astype(np.float64)
        costs += _charges(
            dear, found.reliable_periods, used, 0, stage.reliable.minimum, np.inf, rng
        )
    return costs


def _charges(
    price: Price,
    busy: Floats,
    rentals: Floats,
    boot: Time,
    minimum: Time,
    spread: float,
    rng: np.random.Generator,
) -> Floats:
    """What so many rentals cost that are busy for so long together, some longer than others."""
    stay = busy / np.maximum(rentals, 1)
    shape = (busy.shape[-1], min(MODELLED, int(np.max(rentals, initial=1))))
    if spread == np.inf:
        stays = stay[..., None] * rng.standard_exponential(shape)
    else:
        chance = rng.random(shape) - 0.5
        stays = stay[..., None] + chance * np.minimum(2 * stay, spread)[..., None]
    periods = np.ceil(np.maximum(stays + boot, max(minimum, 1)) / price.period).mean(axis=-1)
    charges: Floats = np.rint(periods * rentals) * price.amount.nanos
    return charges


def _candidate(stage: Stage, name: str, strategy: Strategy, prediction: Prediction) -> Candidate:
    cost = Money(round(float(np.mean(prediction.costs))))
    choice = Choice(
        name=name,
        budget=cost,
        fleet=stage.fleet(strategy),
        units={},
        makespan=round(float(np.mean(prediction.makespans))),
        cost=cost,
        cushion=ZERO,
        risk=0,
    )
    return Candidate(choice, prediction, strategy)
