"""What fleets take for a bag and what they cost: many fleets, with the same luck for all.

Each draw is a distribution of run times that the sample leaves possible (`beliefs.posterior`) and
an execution of the bag with it (`kernels.fleets`). The time and the cost of a fleet are lists of
equally likely outcomes, draw by draw comparable with those of every other fleet.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cache
from math import ceil
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.beliefs.offer_scales import possible_of_one_bag
from bursar.beliefs.posterior import (
    PossibleRuntimes,
    possible_of_known,
    possible_runtimes,
)
from bursar.kernels import fleets
from bursar.kernels.compiling import compile_kept, let_kernels_call, stamp_of
from bursar.kernels.fleets import (
    FIRST_TAIL,
    MOST_MODELLED_SLOTS,
    TAIL_RATIO,
    TAILS,
    FleetBag,
)
from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import Time

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

DRAWS: Final = 256
"""Executions by which plans are judged that are shown."""
MOST_RUNTIMES: Final = 1_500_000
"""Run times drawn in all, of all offers and draws."""
FEWEST_RUNTIMES: Final = 521
"""of each offer in each draw"""
ROOMY: Final = 2.3
"""Run times for a task, so that no slot meets one that another had (`kernels.fleets`)."""


class SampledBag(msgspec.Struct, frozen=True):
    """A bag of so many tasks, and the run times seen on each of the offers."""

    offers: tuple[Offer, ...]
    samples: tuple[Integers, ...]
    tasks: int
    paired: bool = True
    """the samples are of the same tasks in the same order"""
    known_from: float | None = None
    """the samples are quantiles of run times that are known, from so many tasks: none will take
    much longer than they do; None: they are all that was seen, and what they missed is drawn"""


class Outcomes(msgspec.Struct, frozen=True):
    """What befell one fleet, draw by draw."""

    offers: tuple[Offer, ...]
    makespans: Integers
    units: Integers
    """[draw, offer]: billing units that its machines are charged for"""
    cautions: tuple[str, ...] = ()

    def makespan(self, confidence: float = 0.5) -> Time:
        """The time that is not exceeded with this confidence."""
        return int(np.sort(self.makespans)[_rank(confidence, len(self.makespans))])

    def cost(self, confidence: float = 0.5) -> Money:
        """The cost that is not exceeded with this confidence; exact."""
        costs = self.units @ np.array([float(offer.price.nanos) for offer in self.offers])
        draw = int(np.argsort(costs, kind="stable")[_rank(confidence, len(costs))])
        units = zip(self.offers, self.units[draw], strict=True)
        return Money(sum(offer.price.nanos * int(count) for offer, count in units))


class FleetJudge:
    """Executes fleets of a bag; `counts[fleet, offer]` are machines."""

    def __init__(
        self, sampled: SampledBag, *, seed: int = 0, draws: int = DRAWS, scouting: bool = False
    ) -> None:
        """`scouting`: without what only the executions of very large fleets need."""
        self.sampled, self.draws = sampled, draws
        self.price = np.array([o.price.nanos for o in sampled.offers], dtype=np.float64)
        self.bag = _lay(sampled, np.random.default_rng(seed), draws, scouting=scouting)

    def execute(self, counts: Integers, draws: int | None = None) -> tuple[Integers, Integers]:
        """Makespans `[fleet, draw]` and billing units `[fleet, draw, offer]`."""
        last = min(draws or self.draws, self.draws)
        counts = np.ascontiguousarray(counts, dtype=np.int64)
        makespans = np.zeros((len(counts), last), dtype=np.int64)
        units = np.zeros((len(counts), last, len(self.sampled.offers)), dtype=np.int64)
        if len(counts):
            slots = np.minimum(counts * self.bag.slots, _most_slots(self.bag.slots)).sum(axis=1)
            compiled_fleets().execute(self.bag, counts, 0, last, int(slots.max()), makespans, units)
        return makespans, units

    def bounds(self, counts: Integers, confidence: float, draws: int | None = None) -> Floats:
        """`[fleet, (time, cost)]` not exceeded with this confidence; cost in billionths."""
        makespans, units = self.execute(counts, draws)
        rank = _rank(confidence, makespans.shape[1])
        return np.stack(
            [
                np.partition(makespans, rank, axis=1)[:, rank].astype(np.float64),
                np.partition(units @ self.price, rank, axis=1)[:, rank],
            ],
            axis=1,
        )

    def outcomes(self, counts: Integers) -> list[Outcomes]:
        makespans, units = self.execute(counts)
        return [
            Outcomes(self.sampled.offers, times, charged)
            for times, charged in zip(makespans, units, strict=True)
        ]


def _rank(confidence: float, count: int) -> int:
    return max(0, ceil(confidence * count) - 1)


def _most_slots(slots: Integers) -> Integers:
    """How many slots of each offer are looked at one by one."""
    most: Integers = np.maximum(1, MOST_MODELLED_SLOTS // slots) * slots
    return most


def _lay(sampled: SampledBag, rng: np.random.Generator, draws: int, *, scouting: bool) -> FleetBag:
    """Draw what the executions have in common."""
    offers, tasks = sampled.offers, sampled.tasks
    possible = _possible(sampled, draws, rng)
    most = MOST_RUNTIMES // (draws * len(offers))
    size = _prime_from(max(FEWEST_RUNTIMES, min(round(ROOMY * tasks), most)))
    mean = np.array([one.mean() for one in possible])
    variance = np.array([one.variance() for one in possible])
    luck = rng.standard_normal(draws)
    runtimes = np.empty((len(offers), draws, size), dtype=np.int64)
    begin = int(rng.integers(1 << 62))
    ranks = None
    for number, one in enumerate(possible):
        if ranks is None or not sampled.paired:  # the same tasks on every offer, if the samples are
            chance = np.random.default_rng([begin, number]).random((draws, size))
            ranks = one.ranks(chance)
        drawn = one.of_ranks(ranks)
        if ROOMY * tasks > size + 1:
            # So many tasks that their mean is nearly certain: fewer must not vary more.
            wanted = mean[number] + luck * np.sqrt(variance[number] / tasks)
            drawn *= (np.maximum(wanted, mean[number] / 2) / drawn.mean(axis=1))[:, None]
            np.maximum(np.rint(drawn, out=drawn), 1.0, out=drawn)
        runtimes[number] = drawn
    residuals = np.empty((len(offers), draws, _residual_slots(offers)), dtype=np.int64)
    compiled_fleets().fill_residuals(runtimes, rng.random(residuals.shape[1:]), residuals)
    return FleetBag(
        tasks=tasks,
        runtimes=runtimes,
        mean=mean,
        variance=variance,
        residuals=residuals,
        tails=_tails(sampled, [] if scouting else possible, rng.random(draws)),
        luck=luck,
        sums=rng.standard_normal(residuals.shape[1:]),
        boot=np.array([offer.boot for offer in offers], dtype=np.int64),
        slots=np.array([offer.slots for offer in offers], dtype=np.int64),
        billing=np.array([offer.billing for offer in offers], dtype=np.int64),
        least=np.array([offer.paid_for(0) for offer in offers], dtype=np.int64),
    )


def _possible(sampled: SampledBag, draws: int, rng: np.random.Generator) -> list[PossibleRuntimes]:
    if sampled.known_from is not None:
        return possible_of_known(sampled.samples, sampled.known_from, draws, rng)
    if sampled.paired:
        return possible_runtimes(sampled.samples, draws, rng)
    speeds = [offer.speed for offer in sampled.offers]
    prices = [one.price.nanos / one.billing / one.slots for one in sampled.offers]
    return possible_of_one_bag(sampled.samples, speeds, draws, rng, prices)


def _residual_slots(offers: Sequence[Offer]) -> int:
    return max(max(MOST_MODELLED_SLOTS, offer.slots) for offer in offers)


def _tails(sampled: SampledBag, possible: Sequence[PossibleRuntimes], chance: Floats) -> Floats:
    """The longest that is left of the tasks on many slots, where there can be so many."""
    tails = np.zeros((len(sampled.offers), len(chance), TAILS))
    counts = [FIRST_TAIL * TAIL_RATIO**level for level in range(TAILS)]
    for number, (one, offer) in enumerate(zip(possible, sampled.offers, strict=False)):
        most = sampled.tasks if offer.limit is None else offer.limit * offer.slots
        if min(most, sampled.tasks) > MOST_MODELLED_SLOTS:
            tails[number] = one.longest_residuals(chance, counts)
    return tails


def _prime_from(size: int) -> int:
    """The first prime from here on: a way through a table of this size meets all its places."""
    while any(size % part == 0 for part in range(2, int(size**0.5) + 1)):
        size += 1
    return size


# --- compiling -----------------------------------------------------------------------------------


class FleetKernels(msgspec.Struct, frozen=True):
    execute: Callable[..., None]
    fill_residuals: Callable[..., None]


@cache
def compiled_fleets() -> FleetKernels:
    """The kernels; the first call imports numba and, once on a computer, compiles."""
    let_kernels_call(*fleets.ALLOCATING)
    let_kernels_call(*fleets.PARTS, inline=True)
    stamp = stamp_of([inspect.getsource(fleets)])
    return FleetKernels(
        execute=compile_kept(fleets.execute_fleets, stamp),
        fill_residuals=compile_kept(fleets.fill_residuals, stamp),
    )
