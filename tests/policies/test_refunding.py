"""Idle machines that give money back are found without a look at all that are idle."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import MINUTE, SECOND
from bursar.policies.reconcile import Refunding
from bursar.testing import Scene

OFFERS = (
    Offer("long", Money.parse("0.10"), 10 * MINUTE, slots=2),
    Offer("fine", Money.parse("0.01"), 10 * SECOND),
)


@given(st.randoms(use_true_random=False))
def test_they_are_those_of_a_look_at_everything(rng):
    scene, refunding = Scene(*OFFERS, tasks=90), Refunding()
    for _ in range(40):
        state, what = scene.state, rng.random()
        scene.pass_time(rng.randrange(MINUTE))
        for number in [n for n, one in state.machines.items() if one.until <= scene.at]:
            scene.down(number, "expired")
        if what < 0.3 or not state.machines:
            scene.machine(rng.choice(("long", "fine")), stay=10 * MINUTE)
        elif what < 0.5 and state.idle:
            scene.start(rng.choice(list(state.ready)), rng.choice(list(state.idle)))
        elif what < 0.7 and state.attempts:
            scene.end(rng.choice(list(state.attempts)))
        elif what < 0.9:
            scene.extend(rng.choice(list(state.machines)), 10 * MINUTE)
        if rng.random() < 0.7:
            wanted = {n for n in state.idle if state.machines[n].refunds(scene.at)}
            assert refunding.look(state, scene.at) == wanted
