"""A workflow packed onto rented machines, executed many times over: what it takes and costs.

A plan gives each task an offer, and each offer the most machines at once. These are executions of
such plans as the engine makes them with the provisioner `prob` and the placer `assigned`, with
machines that are reliable and money that suffices.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from bursar.engine.guard import HORIZON
from bursar.kernels import packing as packing_kernel
from bursar.kernels import packing_state
from bursar.kernels.compiling import compile_kept, let_kernels_call, stamp_of
from bursar.kernels.packing_state import Site
from bursar.model.dag import Dag
from bursar.model.errors import InputError
from bursar.model.market import Offer
from bursar.model.money import LARGEST, Money, format_money
from bursar.model.release import is_long
from bursar.model.time import LONGEST, Time
from bursar.plan.bag.executions import ROOM, share_out
from bursar.plan.workflow.schedule import microseconds

Integers = NDArray[np.int64]

WORD: Final = 64
GROUP: Final = 64 * WORD


def whole_runtimes(seconds: ArrayLike) -> Integers:
    """In microseconds, as executions take them: at least one."""
    return np.maximum(microseconds(np.asarray(seconds, dtype=np.float64)), 1)


class PackedRuns(msgspec.Struct, frozen=True):
    """What executions took; [sample] or [sample, offer] each."""

    makespans: Integers
    """to the end of the last task"""
    units: Integers
    """billing units that machines of the offer entered"""
    rented: Integers
    """machines of the offer, over the whole execution"""
    peaks: Integers
    """machines of the offer, the most at once"""
    prices: tuple[Money, ...]
    """[offer]: for a billing unit"""

    @property
    def costs(self) -> Integers:
        """[sample]: in billionths of the currency."""
        nanos = [price.nanos for price in self.prices]
        dearest = sum(
            int(most) * price for most, price in zip(self.units.max(axis=0), nanos, strict=True)
        )
        if dearest > LARGEST:
            amount = format_money(Money(dearest), None)
            raise InputError(f"an execution may cost {amount}; check the prices")
        costs: Integers = self.units @ np.array(nanos, dtype=np.int64)
        return costs

    def cost(self, sample: int) -> Money:
        return Money(int(self.costs[sample]))


class PackedTrace(msgspec.Struct, frozen=True):
    """One execution; [task] each."""

    begins: Integers
    ends: Integers
    machines: Integers
    """numbered from 0 among those of its offer, in the order in which they are rented"""
    makespan: Time


class Packing:
    """A workflow and the offers that it may run on.

    `places[task]` is its place in the order in which tasks that are ready together begin: see
    `bursar.plan.workflow.urgency`.
    """

    def __init__(self, dag: Dag, places: ArrayLike, offers: Sequence[Offer]) -> None:
        self.dag, self.offers = dag, tuple(offers)
        self.places: Integers = np.ascontiguousarray(places, dtype=np.int64)
        if len(dag) == 0 or not self.offers:
            raise InputError("a workflow needs at least 1 task and 1 offer")
        if not np.array_equal(np.sort(self.places), np.arange(len(dag))):
            raise InputError(f"{len(dag)} tasks need a place each, from 0 on")
        self._terms = _lay_terms(self.offers)
        self._needs: Integers = np.diff(dag.parents.starts)
        self._by_place = np.argsort(self.places)
        self._children_start: Integers = dag.children.starts
        self._children: Integers = dag.children.items.astype(np.int64)

    def run(
        self, assigned: ArrayLike, fleet: ArrayLike, runtimes: ArrayLike, *, threads: int = 1
    ) -> PackedRuns:
        """Task by task on offer `assigned[task]`, with at most `fleet[offer]` machines at once.

        `runtimes[sample, task]` are those on that offer, in whole microseconds, at least one.
        """
        site, times = self._site(assigned, fleet), self._times(runtimes)
        makespans, found, _ = self._execute(site, times, threads=threads)
        return PackedRuns(
            makespans=makespans,
            units=found[:, :, packing_state.UNITS],
            rented=found[:, :, packing_state.COUNT],
            peaks=found[:, :, packing_state.PEAK],
            prices=tuple(offer.price for offer in self.offers),
        )

    def trace(self, assigned: ArrayLike, fleet: ArrayLike, runtimes: ArrayLike) -> PackedTrace:
        """One execution, with `runtimes[task]`, task by task."""
        site, times = self._site(assigned, fleet), self._times(np.atleast_2d(runtimes))
        (makespan,), _, (tasks,) = self._execute(site, times[:1], traced=1)
        begins = tasks[:, packing_state.BEGIN]
        first = site.terms[site.plan[:, packing_state.OFFER], packing_state.FIRST]
        machines = tasks[:, packing_state.MACHINE] - first
        return PackedTrace(begins, begins + times[0], machines, int(makespan))

    def _execute(
        self, site: Site, times: Integers, *, traced: int = 0, threads: int = 1
    ) -> tuple[Integers, Integers, Integers]:
        """Makespans, what is known of the offers, and of the tasks in so many samples."""
        kernel, samples = compiled(), len(times)
        makespans = np.empty(samples, dtype=np.int64)
        offers = np.empty((samples, len(self.offers), packing_state.OF_OFFER), dtype=np.int64)
        tasks = np.empty((traced, len(self.dag), packing_state.OF_TASK), dtype=np.int64)

        def work(first: int, last: int) -> None:
            kernel(site, times, first, last, makespans, offers, tasks)

        share_out(work, samples, threads)
        return makespans, offers, tasks

    def _times(self, runtimes: ArrayLike) -> Integers:
        times = np.ascontiguousarray(runtimes, dtype=np.int64)
        if times.ndim != 2 or len(times) == 0 or times.shape[1] != len(self.dag):
            raise InputError(f"every sample needs {len(self.dag)} run times, one for each task")
        if times.min() < 1:
            raise InputError("every task needs a run time of at least 1 us")
        longest = max(offer.boot + offer.minimum + offer.billing for offer in self.offers)
        if len(self.dag) * (int(times.max()) + longest) > ROOM:
            raise InputError(
                "the workflow takes too long for 64-bit arithmetic; use shorter run times"
            )
        return times

    def _site(self, assigned: ArrayLike, fleet: ArrayLike) -> Site:
        chosen = np.ascontiguousarray(assigned, dtype=np.int64)
        if chosen.shape != (len(self.dag),):
            raise InputError(f"{chosen.size} offers for {len(self.dag)} tasks; give one for each")
        if not (chosen.min() >= 0 and chosen.max() < len(self.offers)):
            raise InputError(f"an offer that is not known; use 0 to {len(self.offers) - 1}")
        counts = np.bincount(chosen, minlength=len(self.offers))
        first = np.cumsum(counts) - counts
        tasks = self._by_place[np.argsort(chosen[self._by_place], kind="stable")]
        plan = np.empty((len(self.dag), packing_state.PLAN), dtype=np.int64)
        plan[:, packing_state.NEEDS] = self._needs
        plan[:, packing_state.OFFER] = chosen
        plan[tasks, packing_state.PLACE] = np.arange(len(tasks)) - first[chosen[tasks]]
        terms = self._terms.copy()
        terms[:, packing_state.FIRST] = first
        terms[:, packing_state.CAP] = self._caps(fleet, counts)
        words = np.cumsum(-(-counts // WORD))
        groups = words[-1] + np.cumsum(-(-counts // GROUP))
        terms[:, packing_state.WORDS] = words - (-(-counts // WORD))
        terms[:, packing_state.GROUPS] = groups - (-(-counts // GROUP))
        terms[:, packing_state.LAST_GROUP] = groups
        return Site(self._children_start, self._children, plan, tasks, terms)

    def _caps(self, fleet: ArrayLike, counts: Integers) -> Integers:
        """[offer]: the most machines at once; at least one where tasks are meant for it."""
        allowed = np.asarray(fleet, dtype=np.int64)
        if allowed.shape != (len(self.offers),) or allowed.min() < 0:
            raise InputError("a fleet needs a number of machines, 0 or more, for each offer")
        limits = [LONGEST if offer.limit is None else offer.limit for offer in self.offers]
        caps: Integers = np.minimum(allowed, limits)
        for offer, cap, count in zip(self.offers, caps, counts, strict=True):
            if count and not cap:
                raise InputError(
                    f"{count} tasks are meant for {offer.name}, of which the fleet has no machine;"
                    " allow at least 1"
                )
        return caps


def _lay_terms(offers: Sequence[Offer]) -> Integers:
    """[offer, column], as far as they are the same for all plans."""
    terms = np.zeros((len(offers), packing_state.TERMS), dtype=np.int64)
    for row, offer in zip(terms, offers, strict=True):
        row[packing_state.SLOTS] = offer.slots
        row[packing_state.BOOT] = offer.boot
        row[packing_state.BILLING] = offer.billing
        row[packing_state.MINIMUM] = offer.minimum
        row[packing_state.LEASE] = offer.paid_for(HORIZON) if is_long(offer) else 0
    return terms


@cache
def compiled() -> Callable[..., None]:
    """The kernel; the first call imports numba and, once on a computer, compiles."""
    let_kernels_call(packing_state.make_execution)
    let_kernels_call(*packing_state.PARTS, *packing_kernel.PARTS, inline=True)
    stamp = stamp_of(map(inspect.getsource, (packing_state, packing_kernel)))
    return compile_kept(packing_kernel.run_many, stamp)
