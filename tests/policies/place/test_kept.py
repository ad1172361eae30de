"""`kept` finds free slots without looking at machines that leave, and finds all of the others."""

from __future__ import annotations

from random import Random
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import FOREVER, HOUR, MINUTE
from bursar.policies.place import kept
from bursar.policies.place.kept import KeptPlacer
from bursar.policies.provision.fixed import Fixed
from bursar.testing import Scene

OFFERS = (
    Offer("slow", Money.parse(1), HOUR, slots=2),
    Offer("fast", Money.parse(4), HOUR, speed=3.0),
)


class Drops(Fixed):
    """Each plan drops other machines."""

    def __init__(self):
        super().__init__({})
        self.made = 0

    @property
    def plans(self):
        return self.made

    def stays_until(self, machine):
        return 0 if (machine.id + self.made) % 3 == 0 else FOREVER


def slots_by_plain_means(view, provisioner, now):
    """Every free slot, after a look at all idle machines."""
    stay = [one for one in map(view.machines.get, view.idle) if provisioner.stays_until(one) > now]
    stay.sort(key=lambda machine: 1 / machine.offer.speed)
    return [one.id for one in stay for _ in range(one.offer.slots - len(one.attempts))]


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000), few=st.sampled_from((0, 3)))
def test_the_slots_are_those_that_a_look_at_all_machines_finds(seed, few):
    with patch.object(kept, "FEW", few):
        compare_ways(seed)


def compare_ways(seed):
    rng, provisioner = Random(seed), Drops()
    placer = KeptPlacer(provisioner)
    scene = Scene(*OFFERS, tasks=40)
    for _ in range(60):
        scene.pass_time(rng.randrange(0, MINUTE))
        attempts, what = list(scene.state.attempts), rng.random()
        if what < 0.3 or not scene.state.machines:
            scene.machine(rng.choice(("slow", "fast")), stay=2 * HOUR)
        elif what < 0.6 and attempts:
            scene.end(rng.choice(attempts), rng.choice(("success", "failed")))
        elif what < 0.7:
            provisioner.made += 1
        slots = slots_by_plain_means(scene.state, provisioner, scene.at)
        starts = list(placer.place(scene.state, scene.at, rng))
        assert [start.machine for start in starts] == slots[: len(scene.state.ready)]
        for start in starts:
            if rng.random() < 0.7:  # the others are refused
                scene.start(start.task, start.machine)


def test_a_machine_that_leaves_is_not_looked_at_again_before_another_plan(monkeypatch):
    monkeypatch.setattr(kept, "FEW", 0)
    provisioner, asked = Drops(), []
    stays_until = provisioner.stays_until
    provisioner.stays_until = lambda machine: asked.append(machine.id) or stays_until(machine)
    scene = Scene(*OFFERS, tasks=40)
    placer = KeptPlacer(provisioner)
    dropped = [scene.machine("fast", stay=HOUR) for _ in range(9)][2::3]
    for start in placer.place(scene.state, scene.at, Random(0)):
        scene.start(start.task, start.machine)
    assert set(dropped) == set(scene.state.idle)
    asked.clear()
    scene.end(next(iter(scene.state.attempts)), "success")
    assert len(list(placer.place(scene.state, scene.at, Random(0)))) == 1
    assert len(asked) == 1
    provisioner.made += 1
    assert len(list(placer.place(scene.state, scene.at, Random(0)))) == 1 + len(dropped)
