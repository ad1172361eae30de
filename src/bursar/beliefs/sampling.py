"""How many tasks to time before planning, and where: the sampling phases of BaTS.

Two phases are published. The implicit one (the BaTS paper, section 2.1; thesis, section 2.2.1)
times a whole sample on every offer, in the course of the run. The decoupled one (thesis, sections
3.1.3 and 3.2.2) times a few tasks on every offer, which gives the lines between offers, and the
rest of one sample wherever a machine is free.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, inf
from random import Random
from statistics import NormalDist
from typing import Final, Literal

import msgspec

from bursar.model.errors import InputError
from bursar.model.market import Market, Offer
from bursar.model.time import Time

REPLICATED: Final = 7
"""Tasks timed on every offer for the regression (thesis, section 3.1.3)."""
REPLACEMENT_SHARE: Final = 0.05
"""A sample up to this share of the bag may be taken for one with replacement (section 2.2.1)."""
INITIAL_SHARE: Final = 10
"""The implicit phase starts with at most one machine of an offer for so many tasks (2.2.4)."""

Design = Literal["implicit", "decoupled"]


def sample_size(bag: int, confidence: float = 0.95, error: float = 0.25) -> int:
    """How many tasks to time for a bag (equation 2.1): never more than it has.

    The defaults are those of the evaluation (section 2.3.1): 30 tasks for a bag of 1,000, and 31
    for those of chapter 6, with 5,000 and 9,000 tasks; 31 is the most for any bag.
    """
    if bag < 1:
        raise InputError(f"a bag of {bag} tasks has no sample; it needs at least one")
    if not (0 < confidence < 1 and 0 < error < 1):
        raise InputError(
            f"confidence {confidence} and error {error} must be between 0 and 1, as 0.95 and 0.25"
        )
    square = NormalDist().inv_cdf((1 + confidence) / 2) ** 2
    return min(bag, ceil(bag * square / (square + 2 * (bag - 1) * error**2)))


def size_caution(bag: int, size: int) -> str | None:
    """A sentence for people about a bag that is small for its sample; None if it is not."""
    if size >= bag:
        return f"The bag has {bag} tasks, all of which the sample takes: nothing is left to plan."
    if size > REPLACEMENT_SHARE * bag:
        return (
            f"The sample takes {size} of {bag} tasks ({size / bag:.0%}): for a bag this small,"
            " sampling is a large part of the work."
        )
    return None


class SamplePlan(msgspec.Struct, frozen=True):
    """What is to be timed before a plan can be made."""

    design: Design
    size: int
    """implicit: tasks to time on each offer; decoupled: different tasks to time in all"""
    replicated: tuple[int, ...]
    """decoupled: the tasks to time on every offer; none of them twice"""
    machines: Mapping[str, int]
    """of each offer, to begin with"""
    caution: str | None = None


def implicit_plan(
    bag: int, market: Market, confidence: float = 0.95, error: float = 0.25
) -> SamplePlan:
    """A sample on each offer, with a machine for each of its tasks but at most a tenth of the bag.

    Bags so small that this is no machine at all get one of each offer; the paper leaves them out.
    """
    size = sample_size(bag, confidence, error)
    wanted = max(1, min(bag // INITIAL_SHARE, size))
    usable = _usable(market)
    share = max(1, min(size, bag // len(usable)))
    machines = {offer.name: _capped(wanted, offer) for offer in usable}
    return SamplePlan("implicit", share, (), machines, size_caution(bag, share * len(usable)))


def decoupled_plan(
    tasks: Sequence[int],
    market: Market,
    rng: Random,
    machines: int = 1,
    confidence: float = 0.95,
    error: float = 0.25,
) -> SamplePlan:
    """Seven tasks on every offer, and in all as many different ones as the sample needs.

    The thesis starts 1, 4 or 7 machines of each offer (section 3.2.2).
    """
    bag = len(tasks)
    size = sample_size(bag, confidence, error)
    usable = _usable(market)
    replicated = rng.sample(range(bag), min(REPLICATED, size)) if len(usable) > 1 else []
    return SamplePlan(
        "decoupled",
        size,
        tuple(tasks[index] for index in replicated),
        {offer.name: _capped(machines, offer) for offer in usable},
        size_caution(bag, size),
    )


def _usable(market: Market) -> list[Offer]:
    usable = [offer for offer in market.offers if offer.limit != 0]
    if not usable:
        raise InputError("every offer has a limit of 0 machines; raise one to sample tasks")
    return usable


def _capped(count: int, offer: Offer) -> int:
    return count if offer.limit is None else min(count, offer.limit)


class Replicate(msgspec.Struct, frozen=True):
    """Start this task of the replicated set on the machine that asks."""

    task: int


class AnyTask(msgspec.Struct, frozen=True):
    """Start any task that is ready and not replicated on the machine that asks."""


class Nothing(msgspec.Struct, frozen=True):
    """The sample needs nothing more from this offer; paid time may go into any task."""


Next = Replicate | AnyTask | Nothing


class Sampling:
    """How far a sample plan has come. Tell it what started and ended; ask what is next.

    Failed attempts do not count: their task is wanted again. Each call takes constant time, but
    for `next_for`, which looks through the replicated tasks.
    """

    def __init__(self, plan: SamplePlan) -> None:
        self.plan = plan
        self.runtimes: dict[str, dict[int, Time]] = {name: {} for name in plan.machines}
        """by offer and task, what was timed"""
        self._live: dict[str, set[int]] = {name: set() for name in plan.machines}
        self._replicated = frozenset(plan.replicated)
        self._others: set[int] = set()
        """tasks timed, of those not replicated"""
        self._others_live = 0

    # --- what happened ---------------------------------------------------------------------------

    def started(self, task: int, offer: str) -> None:
        self._live[offer].add(task)
        self._others_live += task not in self._replicated

    def ended(self, task: int, offer: str, runtime: Time | None) -> None:
        """An attempt ended: with its run time, or without a result."""
        if task in self._live[offer]:
            self._live[offer].discard(task)
            self._others_live -= task not in self._replicated
        if runtime is not None:
            self.runtimes[offer].setdefault(task, runtime)
            if task not in self._replicated:
                self._others.add(task)

    def give_up(self, task: int) -> None:
        """A replicated task fails for good: the regression does without it."""
        self._replicated -= {task}

    # --- what is missing -------------------------------------------------------------------------

    @property
    def is_replicated(self) -> bool:
        """Whether every replicated task was timed on every offer."""
        return all(self._replicated <= times.keys() for times in self.runtimes.values())

    @property
    def is_complete(self) -> bool:
        """Whether a plan can be made."""
        if self.plan.design == "implicit":
            return all(len(times) >= self.plan.size for times in self.runtimes.values())
        return self.is_replicated and self._missing <= 0

    @property
    def _missing(self) -> int:
        """Different tasks still to be timed, beside the replicated ones."""
        return self.plan.size - len(self._replicated) - len(self._others)

    def next_for(self, offer: str) -> Next:
        """What a machine of this offer that asks for work should do for the sample (figure 3.2)."""
        timed, live = self.runtimes[offer], self._live[offer]
        for task in self.plan.replicated:
            if task in self._replicated and task not in timed and task not in live:
                return Replicate(task)
        if self.plan.design == "implicit":
            return AnyTask() if len(timed) + len(live) < self.plan.size else Nothing()
        return AnyTask() if self._missing > self._others_live else Nothing()

    def machines_wanted(self, profitable: str | None = None) -> dict[str, int]:
        """How many machines of each offer the sample can use from now on.

        Once every replicated task is timed, one machine of the most profitable offer times what is
        missing (section 3.2.2); machines that are there may work on to the end of their paid time.
        """
        if self.is_complete:
            return dict.fromkeys(self.plan.machines, 0)
        if self.plan.design == "implicit":
            return {
                name: 0 if len(self.runtimes[name]) >= self.plan.size else count
                for name, count in self.plan.machines.items()
            }
        if self.plan.replicated and self.is_replicated and profitable is not None:
            return {name: int(name == profitable) for name in self.plan.machines}
        return dict(self.plan.machines)

    def pairs(self, base: str, offer: str) -> list[tuple[Time, Time]]:
        """Run times of tasks that were timed on both offers: the points of their regression."""
        there = self.runtimes[offer]
        return [(time, there[task]) for task, time in self.runtimes[base].items() if task in there]


def profitability(means: Mapping[str, Time], market: Market) -> dict[str, float]:
    """How much faster than the cheapest offer, for how much more money (section 2.3.3).

    Billing units and slots may differ: prices are compared per time, run times per slot.
    """
    price = {o.name: _price_of_task(o, means[o.name]) for o in _known(means, market)}
    cheapest = min(_known(means, market), key=lambda offer: offer.price.nanos / offer.billing)
    return {name: price[cheapest.name] / each if each else inf for name, each in price.items()}


def most_profitable(means: Mapping[str, Time], market: Market) -> str:
    """The offer whose money buys most tasks; of equal ones the first in the market."""
    return min(_known(means, market), key=lambda o: _price_of_task(o, means[o.name])).name


def _known(means: Mapping[str, Time], market: Market) -> list[Offer]:
    known = [offer for offer in market.offers if offer.name in means and offer.limit != 0]
    if not known:
        raise InputError("no offer has a known run time; sample at least one task")
    return known


def _price_of_task(offer: Offer, mean: Time) -> float:
    return offer.price.nanos / offer.billing * mean / offer.slots
