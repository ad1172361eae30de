"""Planning anew in a run: the fleet for the rest of a bag, from the machines that are there.

Half of the groups of machines are there and at work, the others might be rented. Processor time.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from benchmarks.measure import Goal, Line, Result, best_of
from bursar.beliefs.bag_times import BagTimes
from bursar.plan.bag.live_fleet import MachineGroups, WorkLeft
from bursar.plan.bag.live_plan import plan_live

SIZES = {
    "5 offers, 20 machines": (5, 4, 5_000, 2.0),
    "50 offers, 1,000 machines": (50, 20, 100_000, 40.0),
}
"""Offers, machines of each that are there, tasks, and the milliseconds that it may take."""
MEAN, BOOT = 120.0, 60.0
PRICE = 13_889.0
"""Billionths for a slot and a second: 0.05 an hour."""


def measure(rounds: int) -> Result:
    turns = {name: _timed(*size[:3]) for name, size in SIZES.items()}
    best = {name: 1000 * taken for name, taken in best_of(turns, rounds).items()}
    lines = [Line("planning anew", taken, "ms", name) for name, taken in best.items()]
    goals = [Goal(name, taken, "<=", SIZES[name][3], "ms") for name, taken in best.items()]
    return Result("Planning anew in a run", lines, goals)


def make_groups(offers: int, there: int) -> MachineGroups:
    rng = np.random.default_rng(offers)
    slots = np.tile(rng.choice([2.0, 4.0, 8.0, 16.0, 32.0], offers), 2)
    price = slots * PRICE * np.tile(rng.uniform(0.8, 1.2, offers), 2)
    is_new = np.arange(2 * offers) >= offers
    one = np.ones(2 * offers)
    return MachineGroups(
        offer=np.arange(2 * offers) % offers,
        is_new=is_new,
        room=np.where(is_new, 100.0, there),
        slots=slots,
        speed=one,
        begin=np.where(is_new, BOOT, 0.0),
        price=price,
        unit=one,
        paid=np.where(is_new, 60.0, 1.0),
        held=np.where(is_new, 0.0, MEAN / 2),
        running=np.where(is_new, 0.0, slots * MEAN / 2),
    )


def _timed(offers: int, there: int, tasks: int) -> Callable[[], float]:
    groups = make_groups(offers, there)
    here = np.where(groups.is_new, 0.0, groups.room)
    left = WorkLeft(
        ready=tasks,
        running=float(groups.running @ here),
        attempts=int(groups.slots @ here),
        money=1.3 * tasks * MEAN * PRICE * 0.8,
        deadline=np.inf,
        elapsed=600.0,
        spent=1e9,
    )
    times = BagTimes.lognormal(MEAN, 0.03, 0.4, 500)

    def run() -> float:
        began = time.process_time()
        plan_live(groups, left, times, np.zeros(len(groups)))
        return time.process_time() - began

    return run
