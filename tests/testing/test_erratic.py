from __future__ import annotations

from random import Random

from bursar.model.market import Offer
from bursar.model.money import ZERO
from bursar.model.time import HOUR, MINUTE
from bursar.simulate.faults import ModelledBehaviour, given
from bursar.state import events as ev
from bursar.testing import ErraticWorld, Scene


def sleepy(seed, jumpiness=1.0, stay=HOUR):
    """A machine rented, and a task of two minutes started, in a world that falls asleep."""
    scene = Scene(Offer("free", ZERO), tasks=1)
    behaviour = ModelledBehaviour(given([2 * MINUTE]))
    world = ErraticWorld(scene.state, behaviour, Random(seed), jumpiness=jumpiness, lead=0)
    machine = scene.rent(stay=stay)
    scene.up(machine)
    scene.start(1, machine)
    world.perform([e for e in scene.events if isinstance(e, ev.Decision)])
    return scene, world


def test_without_jumps_it_is_the_simulated_world():
    _, world = sleepy(1, jumpiness=0.0)
    assert [event.at for event in world.wait(HOUR)] == [0]
    assert [event.at for event in world.wait(HOUR)] == [2 * MINUTE]


def test_what_happened_while_it_slept_is_noticed_when_it_wakes():
    late = 0
    for seed in range(50):
        _, world = sleepy(seed)
        for event in world.wait(None):
            assert event.at == world.now()
            late += isinstance(event, ev.AttemptEnded) and event.at > 2 * MINUTE
    assert late > 10


def test_a_machine_has_ended_with_its_lease_and_nothing_ran_on_it_after():
    expired = 0
    for seed in range(100):
        scene, world = sleepy(seed, stay=MINUTE)
        while scene.state.machines:
            happened = world.wait(None)
            for event in filter(scene.state.expects, happened):
                scene.tell(event)
                if isinstance(event, ev.MachineDown):
                    assert event.ended == MINUTE
                    expired += event.at > MINUTE
        assert scene.state.done == 0, "the task takes longer than the lease"
    assert expired > 30
