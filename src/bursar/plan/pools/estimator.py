"""What a strategy for two pools takes and costs, by Monte-Carlo (ExPERT, section 4.4).

An instance on the unreliable pool returns a result with a probability that may change over time,
after a turnaround time drawn from those of earlier successes. As published, nothing tells that it
will not, before its deadline; results are paid for by charging periods, all that was sent and
succeeds, needed or not; failed instances cost nothing (section 2.1). In real life, machines are
paid for as long as they work, whatever becomes of it, rivals of a result are called back, and a
loss may be known at once. The estimates of all strategies are made with the same random numbers, so
that their differences are clearer than the figures themselves.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.beliefs.reliability import Reliability
from bursar.kernels import bag as bag_kernel
from bursar.kernels import two_pools as two_pools_kernel
from bursar.kernels import two_pools_state
from bursar.kernels.compiling import compile_kept, let_kernels_call, stamp_of
from bursar.kernels.two_pools import ENDLESS
from bursar.kernels.two_pools_state import FOUND, RULES, PoolModel
from bursar.model.errors import InputError
from bursar.model.money import Money
from bursar.model.strategy import Strategy
from bursar.model.time import LONGEST, SECOND, Time
from bursar.plan.bag.executions import ROOM, share_out
from bursar.plan.pools.strategies import default_deadline

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

LEAST_RELIABILITY: Final = 0.01
"""Below this a pool is of no use, and simulating it takes very long."""
HALF: Final = 0.5
"""The share of a charging period that is lost with each machine, on average."""
MOST_INSTANCES: Final = 100
"""Most instances of one task that run at once."""
NOTHING: Final[Integers] = np.empty(0, dtype=np.int64)
UNLUCKY: Final = 100
"""A bag may take so many times the instances that are expected of it, before times overflow."""


class Price(msgspec.Struct, frozen=True):
    """What a result costs on a machine of a pool, for each charging period that it entered."""

    amount: Money
    period: Time = SECOND


class Conditions(msgspec.Struct, frozen=True):
    """A bag, and the two pools that it may run on."""

    tasks: int
    unreliable: int
    """machines of the unreliable pool"""
    reliability: float | Reliability
    """the probability that an instance sent there returns a result; perhaps by when it is sent"""
    turnarounds: Integers
    """of successes there, ascending: a sample of F_s"""
    reliable_time: Time
    """what a task takes on a reliable machine"""
    unreliable_price: Price
    reliable_price: Price
    is_real: bool = False
    """time on machines is paid for, and rivals of a result are called back; else as published"""
    losses: Integers = NOTHING
    """how long after it was sent an instance was known to be lost, ascending; none: never before
    its deadline"""
    ages: Integers = NOTHING
    """the estimate begins with the tail: of each task, how long its instance is under way"""
    has_own_times: bool = False
    """a task that is long is long again when it is sent again, to whichever pool; else, as
    published, each instance has another turnaround time"""
    life: Time = 0
    """of machines of the unreliable pool, on average, where tasks have times of their own: the
    longer a task, the more often it is lost; 0: the reliability and the losses tell"""
    replacing: Time = 0
    """from the end of such a life to the next one"""
    tail_tasks: int | None = None
    """the tail begins when no more tasks remain; None: when there are fewer than machines of the
    unreliable pool"""

    def __post_init__(self) -> None:
        if self.tasks < 1 or self.unreliable < 1:
            raise InputError("an estimate needs at least 1 task and 1 unreliable machine")
        for value in self.gamma.values, (self.gamma.after,):
            for chance in value:
                if not LEAST_RELIABILITY <= chance <= 1:
                    raise InputError(f"a reliability of {chance:g}; use {LEAST_RELIABILITY:g} to 1")
        if len(self.ages) not in (0, self.tasks) or len(self.ages) > self.unreliable:
            raise InputError("in the tail each task has one instance under way")
        if self.tail_tasks is not None and not 1 <= self.tail_tasks < self.unreliable:
            raise InputError("a tail has at least 1 task, and fewer than unreliable machines")
        if self.has_own_times and len(self.ages):
            raise InputError("what is under way has no times of its own")
        if len(self.turnarounds) == 0:
            raise InputError("no turnaround time of a success is known; at least 1 is needed")
        if self.turnarounds[0] < 1 or np.any(np.diff(self.turnarounds) < 0):
            raise InputError("turnaround times must be ascending, each at least 1 us")
        if not 1 <= self.reliable_time <= LONGEST or self.turnarounds[-1] > LONGEST:
            raise InputError("a task must take between 1 us and 100 years")
        for price in (self.unreliable_price, self.reliable_price):
            if price.period < 1 or price.amount.nanos < 0:
                raise InputError("a price must not be negative, and its period at least 1 us")

    @property
    def gamma(self) -> Reliability:
        known = self.reliability
        return known if isinstance(known, Reliability) else Reliability((), (), known)

    @property
    def mean(self) -> Time:
        """The mean turnaround time of successes: T_ur of the paper."""
        return max(1, round(float(np.mean(self.turnarounds))))


class Estimates(msgspec.Struct, frozen=True):
    """[strategy, repetition] each; the cost is in the currency, for one task."""

    makespans: Integers
    tails: Integers
    """the makespan from the moment at which the tail begins"""
    unreliable_periods: Floats
    """paid for; fractions of a period where time is what is paid for"""
    reliable_periods: Floats
    costs: Floats
    reliable_used: Integers
    """the most reliable machines that worked at once"""
    reliable_queue: Integers
    """the most tasks that waited for a reliable machine"""

    def quantiles(self, index: int, share: float) -> tuple[float, float, float]:
        """Quantiles for a strategy: makespan and tail in seconds, and cost of a task."""
        times = [np.quantile(of[index], share) / SECOND for of in (self.makespans, self.tails)]
        return float(times[0]), float(times[1]), float(np.quantile(self.costs[index], share))

    def means(self) -> list[tuple[float, float]]:
        """By strategy: the mean makespan in seconds, and the mean cost for a task."""
        spans = self.makespans.mean(axis=1) / SECOND
        return [(float(s), float(c)) for s, c in zip(spans, self.costs.mean(axis=1), strict=True)]


def estimate(
    conditions: Conditions,
    strategies: Sequence[Strategy],
    repetitions: int = 10,
    *,
    seed: int = 0,
    threads: int = 2,
) -> Estimates:
    """Simulate each strategy so many times; the same seed, the same estimates."""
    if repetitions < 1 or not strategies:
        raise InputError("an estimate needs at least 1 repetition and 1 strategy")
    table = np.array([_row(conditions, strategy) for strategy in strategies], dtype=np.int64)
    world = _world(conditions)
    found = np.zeros((len(strategies), repetitions, FOUND), dtype=np.int64)
    kernel, begin, room = compiled(), np.uint64(seed), _room(conditions, table, strategies)

    def work(first: int, last: int) -> None:
        kernel(world, table, begin, first, last, room, found)

    share_out(work, repetitions, threads)
    makespans, tails, unreliable, reliable, used, queue = np.moveaxis(found, 2, 0)
    cheap, dear = conditions.unreliable_price, conditions.reliable_price
    machines = np.full_like(used, conditions.unreliable)
    unreliable_periods = _periods(conditions, cheap, unreliable, machines)
    reliable_periods = _periods(conditions, dear, reliable, used)
    costs = unreliable_periods * float(cheap.amount) + reliable_periods * float(dear.amount)
    return Estimates(
        makespans=makespans,
        tails=tails,
        unreliable_periods=unreliable_periods,
        reliable_periods=reliable_periods,
        costs=costs / conditions.tasks,
        reliable_used=used,
        reliable_queue=queue,
    )


def _periods(conditions: Conditions, price: Price, paid: Integers, machines: Integers) -> Floats:
    """Charging periods of a pool; a machine may leave within one that is paid to its end."""
    periods = paid.astype(np.float64)
    if conditions.is_real:
        periods /= price.period
        periods += np.minimum(machines, conditions.tasks) * HALF
    return periods


def _room(conditions: Conditions, table: Integers, strategies: Sequence[Strategy]) -> int:
    """The most instances that have not ended, those that were called back among them."""
    reliable = int(table[:, two_pools_state.RELIABLE].max())
    each = max(
        one.deadline // max(1, one.timeout) + 2 if one.copies is None else one.copies + 2
        for one in strategies
    )
    return conditions.unreliable + reliable + conditions.tasks * min(each, MOST_INSTANCES)


def _world(conditions: Conditions) -> PoolModel:
    unreliable, reliable = conditions.unreliable_price, conditions.reliable_price
    figures = [
        conditions.tasks,
        conditions.unreliable,
        default_deadline(conditions.mean),
        conditions.reliable_time,
        unreliable.period,
        reliable.period,
        unreliable.amount.nanos,
        reliable.amount.nanos,
        int(conditions.is_real),
        int(conditions.has_own_times),
        conditions.life,
        conditions.replacing,
        conditions.mean,
        conditions.unreliable - 1 if conditions.tail_tasks is None else conditions.tail_tasks,
    ]
    _check_room(conditions)
    gamma = conditions.gamma
    return PoolModel(
        turnarounds=np.ascontiguousarray(conditions.turnarounds, dtype=np.int64),
        boundaries=np.array(gamma.boundaries, dtype=np.int64),
        reliability=np.array((*gamma.values, gamma.after), dtype=np.float64),
        losses=np.ascontiguousarray(conditions.losses, dtype=np.int64),
        ages=np.ascontiguousarray(conditions.ages, dtype=np.int64),
        figures=np.array(figures, dtype=np.int64),
    )


def _check_room(conditions: Conditions) -> None:
    """Times and amounts must fit in 64 bits."""
    worst = min((*conditions.gamma.values, conditions.gamma.after))
    each = (conditions.tasks // conditions.unreliable + 1) / worst
    longest = default_deadline(conditions.mean) * round(UNLUCKY * each)
    if max(longest, conditions.reliable_time * conditions.tasks) > ROOM:
        raise InputError("the bag takes too long for 64-bit arithmetic; give it more machines")
    unreliable, reliable = conditions.unreliable_price, conditions.reliable_price
    dearest = max(
        -(-conditions.reliable_time // reliable.period) * reliable.amount.nanos,
        -(-int(conditions.turnarounds[-1]) // unreliable.period) * unreliable.amount.nanos,
    )
    if dearest * conditions.tasks > ROOM:
        raise InputError("the prices are too high for 64-bit arithmetic; use a larger unit")


def _row(conditions: Conditions, strategy: Strategy) -> list[int]:
    """The strategy as the kernel has it."""
    reliable = strategy.reliable_machines(conditions.unreliable)
    if strategy.copies is None and conditions.turnarounds[0] >= strategy.deadline:
        raise InputError("no success was ever as quick as the deadline: the bag would never end")
    if strategy.copies is None and strategy.timeout == 0:
        raise InputError("a strategy without an end of copies needs a timeout above 0")
    row = [0] * RULES
    row[two_pools_state.COPIES] = ENDLESS if strategy.copies is None else strategy.copies
    row[two_pools_state.TIMEOUT] = strategy.timeout
    row[two_pools_state.DEADLINE] = strategy.deadline
    row[two_pools_state.RELIABLE] = reliable
    row[two_pools_state.KIND] = int(strategy.kind)
    if strategy.budget is not None:
        row[two_pools_state.BUDGET] = strategy.budget.nanos
    return row


@cache
def compiled() -> Callable[..., Any]:
    """The kernel; the first call imports numba and, once on a computer, compiles."""
    let_kernels_call(
        bag_kernel.splitmix,
        bag_kernel.stream,
        *two_pools_state.ALLOCATING,
        *two_pools_state.TOOLS,
        *two_pools_kernel.PARTS,
    )
    stamp = stamp_of(map(inspect.getsource, (bag_kernel, two_pools_state, two_pools_kernel)))
    return compile_kept(two_pools_kernel.estimate_many, stamp)
