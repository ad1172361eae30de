"""The rolling plan: which machines to keep, for how long, and which to rent, from now to the end.

Every machine has its own paid time. For a finishing time, a machine does as many tasks as fit
between its next free moment and its last paid unit, less what is lost where the two do not meet; it
costs its price for every further unit. The machines that do the tasks left for the least
money are found by taking units in the order of what they cost for a task. The earliest finishing
time whose least cost is within the money is the plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.model.time import Time

Floats = NDArray[np.float64]

GROWTH: Final = 1.25
"""By which a finishing time is put off while the money does not do."""
MOST_TRIED: Final = 60
BISECTIONS: Final = 6
MOST_MONEY: Final = 1e300
"""What costs more cannot be done at all, even where money is no matter."""
LOST_AT_END: Final = 0.5
"""What is lost of the last task of a slot, or of the last unit if that is shorter: a task is under
way when the unit ends, or the unit goes on when the task has ended."""


class RentableMachine(msgspec.Struct, frozen=True):
    """A machine that is there, or one that might be rented now."""

    price: int
    """of a unit, in billionths"""
    unit: Time
    pace: float
    """mean time between two tasks: the mean run time over the slots"""
    slots: int
    until: Time
    """paid until; for one that might be rented: now"""
    free: float
    """when its tasks under way have ended, or it has come up"""
    under_way: int = 0
    """tasks that will have been lost if it is not kept beyond `until`"""
    least_units: int = 1
    """units that must be paid if any are"""
    copies: int = 1
    """so many machines are alike"""


class RollingPlan(msgspec.Struct, frozen=True):
    """What to do from now on. `covers`: it does all tasks within the money."""

    end: float
    units: NDArray[np.int64]
    """further units for each of the machines, copies one by one"""
    cost: float
    """in billionths"""
    covers: bool


def plan_rest(
    machines: Sequence[RentableMachine], tasks: float, money: float, now: Time
) -> RollingPlan:
    """The earliest end for so many tasks that are not under way, and so many billionths."""
    table = _Table(machines, now)
    end = table.earliest(tasks)
    if end is None:
        return table.best_value(now, tasks, money)
    if table.is_beyond(tasks, money):
        return table.best_value(now, tasks, money)
    before = end
    for _ in range(MOST_TRIED):
        cost, units = table.payable(end, tasks, money)
        if cost <= min(money, MOST_MONEY):
            return _refined(table, tasks, money, before, RollingPlan(end, units, cost, True))
        before, end = end, now + (end - now) * GROWTH
    return table.best_value(now, tasks, money)


def plan_by(
    machines: Sequence[RentableMachine], tasks: float, end: float, money: float, now: Time
) -> RollingPlan | None:
    """The cheapest way to do so many tasks by then; None: there is none within the money."""
    if end <= now or not machines:
        return None
    cost, units = _Table(machines, now).least_cost(end, tasks)
    return RollingPlan(end, units, cost, True) if cost <= min(money, MOST_MONEY) else None


def plan_frugally(
    machines: Sequence[RentableMachine], tasks: float, money: float, now: Time
) -> RollingPlan:
    """The least cost for so many tasks, and the earliest end at that cost."""
    table = _Table(machines, now)
    best = table.best_value(now, tasks, money)
    end = table.earliest(tasks)
    if end is None:
        return best
    latest = table.latest(tasks)
    for _ in range(MOST_TRIED):
        cost, units = table.least_cost(end, tasks)
        if cost <= min(money, MOST_MONEY) and (not best.covers or cost < best.cost):
            best = RollingPlan(end, units, cost, True)
        if end > latest:
            break
        end = now + (end - now) * GROWTH
    return best


def _refined(
    table: _Table, tasks: float, money: float, too_early: float, plan: RollingPlan
) -> RollingPlan:
    """Halve the distance to the latest end that was too dear, a few times."""
    for _ in range(BISECTIONS):
        middle = (too_early + plan.end) / 2
        cost, units = table.payable(middle, tasks, money)
        if cost <= min(money, MOST_MONEY):
            plan = RollingPlan(middle, units, cost, True)
        else:
            too_early = middle
    return plan


class _Table:
    """The machines in columns."""

    def __init__(self, machines: Sequence[RentableMachine], now: Time) -> None:
        copies = [machine.copies for machine in machines]

        def column(name: str) -> Floats:
            values = [getattr(machine, name) for machine in machines]
            return np.repeat(np.array(values, dtype=np.float64), copies)

        self.now = now
        self.price, self.unit, self.pace = column("price"), column("unit"), column("pace")
        self.until, self.free = column("until"), column("free")
        self.under_way, self.least = column("under_way"), column("least_units")
        slots = column("slots")
        self.lost = LOST_AT_END * np.minimum(slots, self.unit / self.pace)

    def done_by(self, end: Floats) -> Floats:
        """Tasks begun from now on and ended by then."""
        done: Floats = np.maximum(0.0, (end - self.free) / self.pace - self.lost)
        return done

    def unkept(self, end: Floats) -> Floats:
        """Tasks done without any further unit; what is lost counts against them."""
        kept: Floats = self.done_by(np.minimum(end, self.until)) - self.under_way
        return kept

    def earliest(self, tasks: float) -> float | None:
        """The earliest end if money were no matter; None: never."""
        if not len(self.price):
            return None
        low, high = 0.0, float(np.max(self.free) - self.now + np.max(self.pace) * (tasks + 2))
        for _ in range(24):
            middle = (low + high) / 2
            stay = np.maximum(self.now + middle, self.free)
            if self.done_by(stay).sum() >= tasks:
                high = middle
            else:
                low = middle
        return self.now + high

    def latest(self, tasks: float) -> float:
        """When the slowest machine has done all; nothing costs less by ending later."""
        ready = np.maximum(self.free, self.until) + 2 * self.unit
        return float(np.max(ready)) + float(np.max(self.pace)) * (tasks + 2)

    def is_beyond(self, tasks: float, money: float) -> bool:
        """Whether the money is not enough, however late the end."""
        cost, _ = self.least_cost(self.latest(tasks), tasks)
        return cost > min(money, MOST_MONEY) + float(np.max(self.price))

    def payable(self, end: float, tasks: float, money: float) -> tuple[float, NDArray[np.int64]]:
        """Many machines now and few at the end where that can be paid, else what costs least.

        With luck the many do all, and none is kept to the end.
        """
        cost, units = self.least_cost(end, tasks, early=True)
        return (cost, units) if cost <= min(money, MOST_MONEY) else self.least_cost(end, tasks)

    def least_cost(
        self, end: float, tasks: float, *, early: bool = False
    ) -> tuple[float, NDArray[np.int64]]:
        """Units in the order of their value until the tasks are done; infinite: not by then.

        `early`: a machine's last unit comes after the others of all machines.
        """
        stay = np.maximum(end, self.free)
        bare = self.unkept(stay)
        need = tasks - float(bare.sum())
        units = np.zeros(len(self.price), dtype=np.int64)
        if need <= 0:
            return 0.0, units
        items = self._items(stay, bare, early=early)
        gains = items.gain.cumsum()
        if not len(gains) or gains[-1] < need:
            return np.inf, units
        cut = int(gains.searchsorted(need))
        np.add.at(units, items.machine[:cut], items.units[:cut])
        cost = float(items.cost[:cut].sum())
        rest = need - (float(gains[cut - 1]) if cut else 0.0)
        last, count = self._last(items, cut, rest, bare)
        units[items.machine[last]] += count
        return cost + float(self.price[items.machine[last]]) * count, units

    def _last(self, items: _Items, cut: int, rest: float, bare: Floats) -> tuple[int, int]:
        """The item that does the rest for the least money, and how many of its units."""
        machine, gain, units = items.machine[cut:], items.gain[cut:], items.units[cut:]
        wanted = rest + bare[machine]
        work = np.where(wanted > 0, (wanted + self.lost[machine]) * self.pace[machine], 0.0)
        end = self.free[machine] + work
        parts = np.ceil((end - self.until[machine]) / self.unit[machine] - 1e-9)
        count = np.minimum(units, np.maximum(self.least[machine], parts))
        possible = gain >= rest
        is_second = items.is_second[cut:]
        if is_second.any():
            count = np.where(is_second, units, count)
            bought = np.zeros(len(self.price), dtype=np.bool_)
            bought[items.machine[:cut]] = True
            possible &= bought[machine] | ~is_second
        if not possible.any():
            return cut, int(items.units[cut])
        cost = np.where(possible, self.price[machine] * count, np.inf)
        best = int(cost.argmin())
        return cut + best, int(count[best])

    def best_value(self, now: Time, tasks: float, money: float) -> RollingPlan:
        """As many tasks as the money buys where it cannot buy all, and as many sooner."""
        if not len(self.price):
            return RollingPlan(float(now), np.zeros(0, dtype=np.int64), 0.0, False)
        low, high = float(now), self.latest(tasks)
        done, best = self._bought(high, tasks, money)
        wanted = done - min(LOST_AT_END, float(self.lost.sum()))
        for _ in range(2 * BISECTIONS):
            middle = (low + high) / 2
            done, plan = self._bought(middle, tasks, money)
            if done >= wanted:
                best, high = plan, middle
            else:
                low = middle
        return best

    def _bought(self, end: float, tasks: float, money: float) -> tuple[float, RollingPlan]:
        """What the money does by then: items in the order of their value, and part of the next."""
        units = np.zeros(len(self.price), dtype=np.int64)
        stay = np.maximum(end, self.free)
        bare = self.unkept(stay)
        items = self._items(stay, bare)
        need = tasks - float(bare.sum())
        spent, gained = np.cumsum(items.cost), np.cumsum(items.gain)
        done = min(int(np.searchsorted(gained, need)) + 1, len(spent)) if need > 0 else 0
        cut = min(int(np.searchsorted(spent, money, side="right")), done)
        np.add.at(units, items.machine[:cut], items.units[:cut])
        cost = float(spent[cut - 1]) if cut else 0.0
        gain = float(gained[cut - 1]) if cut else 0.0
        for place in range(cut, done):
            machine, count = int(items.machine[place]), int(items.units[place])
            some = int(max(0.0, money - cost) // self.price[machine])
            if max(1, self.least[machine]) <= some:
                some = min(some, count)
                units[machine] += some
                cost += some * float(self.price[machine])
                gain += float(items.gain[place]) * some / count
                break
        return gain - need, RollingPlan(end, units, cost, False)

    def _items(self, stay: Floats, bare: Floats, *, early: bool = False) -> _Items:
        """What money can buy: whole units up to the end, and a last one that is used in part.

        The two are one where the last is the better value.
        """
        over = np.maximum(0.0, stay - self.until)
        wanted = over / self.unit
        whole = np.floor(wanted)
        all_units = np.maximum(self.least, np.ceil(wanted))
        whole_time = whole * self.unit
        paid = self.until + whole_time
        gain_all = np.maximum(0.0, self.done_by(stay) - bare)
        gain_whole = np.maximum(0.0, self.done_by(paid) - bare)
        gain_whole[(whole <= 0) | (self.free > paid)] = 0.0  # what is under way ends in the last
        gain_last = gain_all - gain_whole
        apart = (whole >= self.least) & (gain_whole > 0)
        if not early:
            apart &= gain_whole * (all_units - whole) >= gain_last * whole
        count = np.where(apart, whole, np.where(over > 0, all_units, 0.0))
        gain = np.where(apart, gain_whole, gain_all)
        partial = (over > whole_time) | (whole < self.least)
        second = (apart & partial & (gain_last > 0)).nonzero()[0]
        machine = np.arange(len(over))
        if len(second):
            machine = np.concatenate([machine, second])
            count = np.concatenate([count, (all_units - whole)[second]])
            gain = np.concatenate([gain, gain_last[second]])
        useful = ((gain > 1e-9) & (count > 0)).nonzero()[0]
        is_second = useful >= len(over)
        machine, count, gain = machine[useful], count[useful], gain[useful]
        cost = self.price[machine] * count
        value = cost / gain
        order = (
            np.lexsort((value, is_second))
            if early and len(second)
            else value.argsort(kind="stable")
        )
        return _Items(
            machine[order],
            count[order].astype(np.int64),
            gain[order],
            cost[order],
            is_second[order],
        )


class _Items(msgspec.Struct, frozen=True):
    """What can be bought, best value first."""

    machine: NDArray[np.int64]
    units: NDArray[np.int64]
    gain: Floats
    cost: Floats
    is_second: NDArray[np.bool_]
    """only together with the machine's first"""
