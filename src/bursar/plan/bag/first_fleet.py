"""Machines to try at the beginning where nobody knows how fast offers are.

The first plan has the offers that seem to do work for least. Others may do it for less, and nobody
will know unless some task has run there. So one machine of each such offer is rented at once, as
long as that may lose little: a machine that does one task in each slot and leaves has cost more
than its work is worth by its boot, by the time for which its slots wait for the longest of their
tasks, by what its work costs more, and by the rest of its last unit.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from bursar.beliefs.bag_times import BagTimes
from bursar.plan.bag.live_fleet import MachineGroups, Residuals, WorkLeft

Floats = NDArray[np.float64]

RISKED: Final = 0.04
"""Part of the money that all machines on trial may lose ..."""
RISKED_BY_ONE: Final = 0.02
"""... and each of them."""
PERHAPS: Final = 1.4
"""An offer may prove the cheapest if its work seems to cost at most so many times the least."""


def with_trials(fleet: Floats, groups: MachineGroups, left: WorkLeft, times: BagTimes) -> Floats:
    """A first fleet with one machine of each offer that may prove better, if it may lose little."""
    lost = lost_on_trial(groups, times)
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


def lost_on_trial(groups: MachineGroups, times: BagTimes) -> Floats:
    """What a new machine costs beyond the worth of its work if it leaves as soon as it may."""
    longest, _ = Residuals(times).longest(groups.slots, whole=True)
    stay = np.maximum(groups.begin + longest / groups.speed, groups.paid)
    units = np.ceil(stay / groups.unit - 1e-6)
    rate = groups.slots * groups.speed
    wait = groups.slots * (longest - times.mean)
    work = np.maximum(0.0, rate * (units * groups.unit - groups.begin) - wait)
    least = float(np.min(groups.price / groups.unit / rate))
    lost: Floats = np.maximum(0.0, units * groups.price - least * work)
    return lost
