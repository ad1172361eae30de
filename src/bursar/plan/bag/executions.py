"""Bags on fleets by the hundred thousand: what the engine does, compiled.

For studies and Monte-Carlo work. The world is the simple one of the BaTS thesis (section 4.5.2):
attempts never fail, machines are never lost, one slot each, money is no limit. The fleet is rented
at the beginning as `fixed` does it, one machine of each offer in turn. With a strategy of
chapter 5, idle machines run replicas on time that is paid for.

What comes out is what the engine with `fixed`, a placer that follows the order, and the replicator
of the same name finds, task by task. Costs are the engine's, too, where billing units are
10 minutes or longer; with shorter ones a machine is charged until its last task ends, while the
engine may keep one that falls idle together with others until its next step.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.engine.guard import FAR_HORIZON, HORIZON
from bursar.kernels import bag, tail, tail_pick, tail_sample, tail_state
from bursar.kernels.bag import BagOnFleet
from bursar.kernels.compiling import compile_kept, let_kernels_call, stamp_of
from bursar.kernels.tail_sample import MILLION, lay_cells
from bursar.model.errors import InputError
from bursar.model.fleet import Fleet
from bursar.model.market import Offer
from bursar.model.money import ZERO, Money
from bursar.model.time import HOUR

Integers = NDArray[np.int64]

STRATEGIES: Final[Mapping[str, int]] = {
    "none": 0,
    "stochastic": tail_state.STOCHASTIC,
    "random": tail_state.RANDOM,
    "stochastic-random": tail_state.STOCHASTIC_RANDOM,
    "migrate": tail_state.MIGRATE,
    "perfect": tail_state.PERFECT,
}
"""Replicators by name."""

MODULES: Final = (bag, tail_sample, tail_state, tail_pick, tail)
"""All that is compiled, in the order in which one builds on another."""

ROOM: Final = 1 << 62


class Execution(msgspec.Struct, frozen=True):
    """One execution, task by task."""

    completions: Integers
    """by task, from 0"""
    makespan: int
    cost: Money


class Executions(msgspec.Struct, frozen=True):
    """Many executions of one bag."""

    makespans: Integers
    units: Integers
    """[execution, offer]: billing units entered"""
    offers: tuple[Offer, ...]

    def cost(self, execution: int) -> Money:
        return _cost(self.offers, self.units[execution])


class BagExecutor:
    """A bag whose run times are known on each offer, and a fleet for it."""

    def __init__(
        self,
        offers: Sequence[Offer],
        fleet: Fleet,
        runtimes: Mapping[str, Integers],
        slopes: Mapping[str, int] | None = None,
    ) -> None:
        """`slopes` is what replicators know of the offers, see `proportions`, the default."""
        self.offers = tuple(offer for offer in offers if fleet.get(offer.name))
        if not self.offers:
            raise InputError("a fleet without machines does no task; give it at least one")
        rows = [np.asarray(runtimes[offer.name], dtype=np.int64) for offer in self.offers]
        self.tasks = len(rows[0])
        known = slopes or proportions(self.offers)
        self._slopes = [known[offer.name] for offer in self.offers]
        self._machines = _in_turn(self.offers, fleet, self.tasks)
        self._check(rows)
        self._setup = self._build(np.ascontiguousarray(rows))

    def once(
        self, order: Sequence[int], replicator: str = "none", *, early: int = 0, draws: int = 0
    ) -> Execution:
        """Execute the tasks in this order. `draws` is where the random numbers begin."""
        completions = np.zeros(self.tasks, dtype=np.int64)
        units = np.zeros(len(self.offers), dtype=np.int64)
        ordered = np.asarray(order, dtype=np.int64)
        strategy = self._strategy(replicator)
        if strategy:
            makespan = compiled().tail_once(
                self._setup,
                ordered,
                strategy,
                self._early(replicator, early),
                np.uint64(draws),
                completions,
                units,
            )
        else:
            makespan = compiled().list_once(self._setup, ordered, completions, units)
        return Execution(completions, int(makespan), _cost(self.offers, units))

    def many(
        self,
        executions: int,
        replicator: str = "none",
        *,
        early: int = 0,
        seed: int = 0,
        threads: int = 1,
    ) -> Executions:
        """Execute the bag so many times, each in a random order of its own.

        The same seed gives the same executions, whatever the replicator and the threads.
        """
        makespans = np.empty(executions, dtype=np.int64)
        units = np.zeros((executions, len(self.offers)), dtype=np.int64)
        strategy, early = self._strategy(replicator), self._early(replicator, early)
        kernels, begin = compiled(), np.uint64(seed)

        def work(first: int, last: int) -> None:
            if strategy:
                kernels.tail_many(
                    self._setup, strategy, early, begin, first, last, makespans, units
                )
            else:
                kernels.list_many(self._setup, begin, first, last, makespans, units)

        share_out(work, executions, threads)
        return Executions(makespans, units, self.offers)

    def _strategy(self, replicator: str) -> int:
        if replicator not in STRATEGIES:
            raise InputError(f"no kernel for '{replicator}'; there are {', '.join(STRATEGIES)}")
        strategy = STRATEGIES[replicator]
        if strategy and any(offer.billing < FAR_HORIZON for offer in self.offers):
            raise InputError("with billing units below 10 minutes no paid time is left to replicas")
        return strategy

    def _early(self, replicator: str, early: int) -> int:
        return early if replicator == "migrate" else 0

    def _check(self, rows: Sequence[Integers]) -> None:
        if any(offer.slots != 1 for offer in self.offers):
            raise InputError("kernels know machines of one slot only")
        if any(len(row) != self.tasks or row.min() < 1 for row in rows):
            raise InputError("every task needs a run time of at least 1 us on every offer")
        latest = sum(int(row.max()) for row in rows) * self.tasks + sum(o.boot for o in self.offers)
        steepest = max(*self._slopes, MILLION)
        longest = max(int(row.max()) for row in rows)
        if (
            latest * 2 * len(self._machines) > ROOM
            or longest * steepest * steepest > ROOM * MILLION
        ):
            raise InputError("the run times are too long for 64-bit arithmetic")

    def _build(self, runtimes: Integers) -> BagOnFleet:
        machines = np.array(self._machines, dtype=np.int64)
        paces = [HOUR * MILLION // slope for slope in self._slopes]
        ranks = sorted(set(paces))
        pace = np.array([ranks.index(one) for one in paces], dtype=np.int64)
        unified = runtimes * np.array(self._slopes, dtype=np.int64)[:, np.newaxis] // MILLION
        origin, shift = lay_cells(unified)
        return BagOnFleet(
            runtimes=runtimes,
            offer=machines,
            boot=np.array([self.offers[number].boot for number in machines], dtype=np.int64),
            billing=np.array([offer.billing for offer in self.offers], dtype=np.int64),
            least=np.array([offer.paid_for(0) for offer in self.offers], dtype=np.int64),
            paid=np.array([offer.paid_for(HORIZON) for offer in self.offers], dtype=np.int64),
            slope=np.array(self._slopes, dtype=np.int64),
            inverse=MILLION / np.array(self._slopes, dtype=np.float64),
            unified=unified,
            origin=origin,
            shift=shift,
            swiftest=np.argsort(pace[machines], kind="stable").astype(np.int64),
            pace=pace,
        )


def proportions(offers: Sequence[Offer]) -> dict[str, int]:
    """Slopes in millionths by the speeds of the offers, relative to the first."""
    return {offer.name: round(MILLION * offer.speed / offers[0].speed) for offer in offers}


def _in_turn(offers: Sequence[Offer], fleet: Fleet, tasks: int) -> list[int]:
    """The offers' indices in the order of renting: one of each in turn, no more than tasks."""
    rented: list[int] = []
    for turn in range(max(fleet.get(offer.name, 0) for offer in offers)):
        rented += [n for n, offer in enumerate(offers) if turn < fleet.get(offer.name, 0)]
    return rented[:tasks]


def _cost(offers: Sequence[Offer], units: Integers) -> Money:
    return sum((o.price * int(n) for o, n in zip(offers, units, strict=True)), start=ZERO)


def share_out(work: Callable[[int, int], None], executions: int, threads: int) -> None:
    """Let threads do equal parts, this one the first; the kernels hold no lock."""
    if threads <= 1 or executions < 2 * threads:
        work(0, executions)
        return
    from concurrent.futures import ThreadPoolExecutor

    cuts = [executions * part // threads for part in range(threads + 1)]
    with ThreadPoolExecutor(threads - 1) as pool:
        others = pool.map(work, cuts[1:-1], cuts[2:])
        work(0, cuts[1])
        list(others)  # what one of them raised is raised here


# --- compiling -----------------------------------------------------------------------------------


class BagKernels(msgspec.Struct, frozen=True):
    list_once: Callable[..., int]
    list_many: Callable[..., None]
    tail_once: Callable[..., int]
    tail_many: Callable[..., None]


@cache
def compiled() -> BagKernels:
    """The kernels; the first call imports numba and, once on a computer, compiles."""
    for module in MODULES:
        let_kernels_call(*module.ALLOCATING)
        let_kernels_call(*module.PARTS, inline=True)
    stamp = stamp_of(map(inspect.getsource, MODULES))
    return BagKernels(
        list_once=compile_kept(bag.list_once, stamp),
        list_many=compile_kept(bag.list_many, stamp),
        tail_once=compile_kept(tail.tail_once, stamp),
        tail_many=compile_kept(tail.tail_many, stamp),
    )
