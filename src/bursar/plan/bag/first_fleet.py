"""Machines to try where nobody knows how fast offers are.

The first plan has the offers that seem to do work for least. Others may do it for less, and nobody
will know unless some task has run there. So one machine of each such offer is rented at once, as
long as that may lose little: a machine that does one task in each slot and leaves has cost more
than its work is worth by its boot, by the time for which its slots wait for the longest of their
tasks, by what its work costs more, and by the rest of its last unit.

Later it is known what the money is worth. While an offer's speed is in doubt, a fleet with many of
its machines seems a risk to all of the rest; but one machine tells, and may lose no more than that.
So an offer that nobody has tried gets one as soon as the fleet that is there would do with the
money that is left after such a loss.
"""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.beliefs.bag_times import BagTimes
from bursar.plan.bag.live_fleet import LiveFleetJudge, MachineGroups, Residuals, WorkLeft
from bursar.plan.bag.live_plan import PAYABLE

Floats = NDArray[np.float64]

RISKED: Final = 0.04
"""Part of the money that all machines on trial may lose ..."""
RISKED_BY_ONE: Final = 0.02
"""... and each of them."""
PERHAPS: Final = 1.4
"""An offer may prove the cheapest if its work seems to cost at most so many times the least."""
SOONER: Final = 0.98
"""A machine on trial is to make a run shorter by so much."""
LEAST_SPEED: Final = 0.3
"""No offer is thought slower than so much of what is likely."""


def with_trials(fleet: Floats, groups: MachineGroups, left: WorkLeft, times: BagTimes) -> Floats:
    """A first fleet with one machine of each offer that may prove better, if it may lose little."""
    lost = lost_on_trial(groups, times, groups.speed)
    price = groups.price / groups.unit / (groups.slots * groups.speed)
    found = fleet.copy()
    money = RISKED * left.money
    for place in np.argsort(lost, kind="stable").tolist():
        is_new = fleet[place] == 0 and price[place] <= PERHAPS * price.min()
        is_little = lost[place] <= min(money, RISKED_BY_ONE * left.money)
        if is_new and is_little and found @ groups.slots + groups.slots[place] <= left.tasks:
            found[place] = 1.0
            money -= lost[place]
    return found


def with_late_trial(
    groups: MachineGroups,
    left: WorkLeft,
    times: BagTimes,
    speed_doubt: Floats,
    untried: NDArray[np.bool_],
) -> Floats | None:
    """The fleet that is there with one machine of an untried offer; None: none is worth it.

    The one that may lose least, of those that would end the run sooner at the speed that is
    likely; its speed may prove as much lower as it is in doubt.
    """
    here = np.where(groups.is_new, 0.0, groups.room)
    slow = groups.speed * np.maximum(LEAST_SPEED, 1 - speed_doubt)
    lost = lost_on_trial(groups, times, slow)
    price = groups.price / groups.unit / (groups.slots * groups.speed)
    least = float(np.min(price * (1 + speed_doubt)))
    fits = groups.slots <= left.ready
    maybe = groups.is_new & untried & fits & (groups.room >= 1) & (price <= PERHAPS * least)
    none = np.zeros(len(groups))
    for place in np.argsort(lost, kind="stable").tolist():
        if not maybe[place]:
            continue
        rest = msgspec.structs.replace(left, money=left.money - float(lost[place]))
        if rest.money <= 0:
            return None
        tried = here.copy()
        tried[place] += 1
        judge = LiveFleetJudge(groups, rest, times, none)
        found = judge.judge(np.stack([here, tried]))
        sooner = left.elapsed + found.middle[1] < SOONER * (left.elapsed + found.middle[0])
        if found.log_chance[0] >= PAYABLE and sooner:
            return tried
    return None


def lost_on_trial(groups: MachineGroups, times: BagTimes, speed: Floats) -> Floats:
    """What a new machine of this speed costs beyond its work's worth if it leaves when it may."""
    longest, _ = Residuals(times).longest(groups.slots, whole=True)
    stay = np.maximum(groups.begin + longest / speed, groups.paid)
    units = np.ceil(stay / groups.unit - 1e-6)
    rate = groups.slots * speed
    wait = groups.slots * (longest - times.mean)
    work = np.maximum(0.0, rate * (units * groups.unit - groups.begin) - wait)
    least = float(np.min(groups.price / groups.unit / (groups.slots * groups.speed)))
    lost: Floats = np.maximum(0.0, units * groups.price - least * work)
    return lost
