"""`at-risk`: replicas of what may be lost with its machine."""

from __future__ import annotations

from random import Random

from bursar.beliefs.unified import UnifiedRuntimes
from bursar.model.market import Offer, Place
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE
from bursar.policies.provision.fixed import Fixed
from bursar.policies.replicate.at_risk import AtRisk
from bursar.testing import Scene

SLOW = Offer("slow", Money.parse(1), HOUR, speed=1.0)
FAST = Offer("fast", Money.parse(4), HOUR, speed=3.0)


class Stays(Fixed):
    """Machines and the minutes until which they stay."""

    def __init__(self, **minutes):
        super().__init__({})
        self.minutes = minutes

    def stays_until(self, machine):
        return self.minutes[f"m{machine.id}"] * MINUTE


def replicas(scene, known=True, **stays):
    runtimes = UnifiedRuntimes({"slow": 1_000_000, "fast": 3_000_000})
    for minutes in (18, 20, 22) if known else ():
        runtimes.learn("slow", minutes * MINUTE)
    scene.state.runtimes = runtimes
    wishes = AtRisk(Stays(**stays)).replicate(scene.state, scene.at, Random(0))
    return [(wish.task, wish.machine) for wish in wishes]


def one_task_on(offer):
    """A task that has just begun on machine 1; machines 2 and 3 are idle."""
    scene = Scene(SLOW, FAST, tasks=1)
    scene.start(1, scene.machine(offer))
    scene.machine("slow")
    scene.machine("slow")
    return scene


def test_a_task_whose_machine_leaves_too_soon_runs_again_where_it_can_end():
    assert replicas(one_task_on("fast"), m1=8, m2=30, m3=30) == [(1, 2)]


def test_the_machine_that_stays_longest_gets_it():
    assert replicas(one_task_on("fast"), m1=8, m2=25, m3=30) == [(1, 3)]


def test_a_machine_on_which_it_could_not_end_either_does_not():
    assert replicas(one_task_on("fast"), m1=8, m2=15, m3=19) == []


def test_a_task_whose_machine_stays_long_enough_needs_no_insurance():
    assert replicas(one_task_on("fast"), m1=12, m2=60, m3=60) == []


def test_a_task_at_risk_gets_one_replica():
    scene = one_task_on("fast")
    scene.start(1, 2)
    assert replicas(scene, m1=8, m2=40, m3=40) == []


def test_where_nothing_is_known_nothing_is_replicated():
    assert replicas(one_task_on("fast"), known=False, m1=1, m2=60, m3=60) == []


def test_a_task_that_a_faster_machine_would_end_sooner_is_replicated_as_ever():
    scene = Scene(SLOW, FAST, tasks=1)
    scene.start(1, scene.machine("slow"))
    fast = scene.machine("fast")
    assert replicas(scene, m1=60, m2=60) == [(1, fast)]


def test_of_unreliable_machines_one_of_another_zone_comes_first():
    def spot(zone):
        place = Place(instance_type="slow", zone=zone)
        return Offer(zone, Money.parse(1), HOUR, pool="unreliable", place=place)

    scene = Scene(spot("fast"), spot("slow"), tasks=1)
    scene.start(1, scene.machine("fast"))
    for name in ("fast", "slow"):
        scene.machine(name)
    assert replicas(scene, m1=8, m2=90, m3=60) == [(1, 3)]
