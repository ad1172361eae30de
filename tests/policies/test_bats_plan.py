"""The placer that follows the rolling plan of `bats`."""

from __future__ import annotations

from random import Random

from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE
from bursar.policies.place.fitting import FittingPlacer
from bursar.policies.provision.fixed import Fixed
from bursar.state.run_times import UNKNOWN, RunTimes
from bursar.testing import Scene

SLOW = Offer("slow", Money.parse(1), HOUR)
FAST = Offer("fast", Money.parse(4), HOUR, speed=4.0)


class Known(RunTimes):
    """Mean run times of 20 and 5 minutes."""

    def expected(self, offer, elapsed=0, task=0):
        return max(elapsed, (20 if offer == "slow" else 5) * MINUTE)


def placed(runtimes, tasks):
    """Where tasks go with one slow and one fast machine, both idle until they are paid for."""
    scene = Scene(SLOW, FAST, tasks=tasks, budget="9")
    machines = {scene.up(scene.rent(name)): name for name in ("slow", "fast")}
    scene.state.runtimes = runtimes
    starts = FittingPlacer(Fixed({})).place(scene.state, scene.at, Random(0))
    return sorted(machines[start.machine] for start in starts)


def test_the_last_tasks_wait_for_the_fast_machine():
    assert placed(Known(), tasks=3) == ["fast"]
    assert placed(Known(), tasks=4) == ["fast"]


def test_many_tasks_go_everywhere():
    assert placed(Known(), tasks=5) == ["fast", "slow"]
    assert placed(Known(), tasks=50) == ["fast", "slow"]


def test_where_nothing_is_known_every_machine_gets_a_task():
    assert placed(UNKNOWN, tasks=2) == ["fast", "slow"]
