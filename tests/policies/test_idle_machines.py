"""The machines with a free slot, the oldest first."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bursar.model.market import Offer
from bursar.model.money import ZERO
from bursar.policies.idle_machines import IdleMachines
from bursar.testing import Scene

OFFERS = (Offer("one", ZERO), Offer("two", ZERO, slots=2))
NAMES = ("one", "two")


class Watched(Scene):
    def __init__(self, tasks=0):
        self.idle = IdleMachines()
        super().__init__(*OFFERS, tasks=tasks)

    def tell(self, event):
        super().tell(event)
        self.idle.look(self.state)

    def oldest(self, *offers):
        found = self.idle.oldest(offers, self.state)
        return None if found is None else found.id


def test_the_oldest_comes_first_and_again_when_it_has_a_free_slot():
    scene = Watched(tasks=2)
    assert scene.oldest("one") is None
    first, second = scene.machine("one"), scene.machine("one")
    assert scene.oldest("one", "two") == first
    attempt = scene.start(1, first)
    assert scene.oldest("one") == second
    scene.end(attempt)
    assert scene.oldest("one") == first


def test_one_that_leaves_is_idle_no_more():
    scene = Watched()
    first, second = scene.machine("two"), scene.machine("two")
    scene.release(first)
    assert scene.oldest("two") == second
    scene.down(second, "lost")
    assert scene.oldest("two") is None


def test_slots_that_are_free_are_counted_as_far_as_need_be():
    scene = Watched(tasks=1)
    scene.machine("two")
    scene.start(1, scene.machine("two"))
    assert scene.idle.have(3, "two", scene.state)
    assert not scene.idle.have(4, "two", scene.state)
    assert scene.idle.have(0, "one", scene.state)


@given(st.randoms(use_true_random=False))
def test_it_knows_the_idle_machines_whatever_happens(rng):
    scene = Watched(tasks=100)
    for _ in range(40):
        state = scene.state
        happening = rng.random()
        if happening < 0.3:
            scene.machine(rng.choice(NAMES))
        elif happening < 0.6 and state.idle:
            scene.start(rng.choice(list(state.ready)), rng.choice(list(state.idle)))
        elif happening < 0.9 and state.attempts:
            scene.end(rng.choice(list(state.attempts)), rng.choice(("success", "cancelled")))
        elif state.machines:
            scene.down(rng.choice(list(state.machines)), "lost")
        idle = [number for number in state.idle if state.machines[number].offer.name == "two"]
        assert scene.oldest("two") == min(idle, default=None)
        assert scene.oldest(*NAMES) == min(state.idle, default=None)
