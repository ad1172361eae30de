"""Machines, slots and attempts by offer are those that there are, whatever happens."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bursar.model.market import Offer
from bursar.model.money import ZERO
from bursar.state import recent
from bursar.state.fleet_counts import FleetCounts, OfferCounts
from bursar.testing import Scene

OFFERS = (Offer("one", ZERO), Offer("two", ZERO, slots=2))


def counted(state, name):
    """By looking at all of them."""
    machines = [one for one in state.machines.values() if one.offer.name == name]
    attempts = [one for one in state.attempts.values() if one.machine.offer.name == name]
    staying = [one for one in machines if not one.leaving]
    return OfferCounts(
        booting=sum(one.up is None for one in staying),
        idle=sum(one.up is not None and not one.attempts for one in staying),
        busy=sum(one.up is not None and len(one.attempts) > 0 for one in staying),
        leaving=len(machines) - len(staying),
        free=sum(one.offer.slots - len(one.attempts) for one in staying),
        running=sum(not one.machine.leaving for one in attempts),
        attempts=len(attempts),
        wanted=sum(not one.cancelling for one in attempts),
    )


@given(st.randoms(use_true_random=False), st.sampled_from((0, 3, 20_000)))
def test_counts_are_those_of_a_look_at_everything(rng, kept):
    before, recent.KEPT = recent.KEPT, kept
    try:
        scene, counts = Scene(*OFFERS, tasks=60), FleetCounts()
        for _ in range(40):
            happen(scene, rng)
            if rng.random() < 0.5:
                counts.look(scene.state)
                for offer in OFFERS:
                    assert counts.of(offer.name) == counted(scene.state, offer.name)
    finally:
        recent.KEPT = before


def happen(scene, rng):
    state, what = scene.state, rng.random()
    staying = [one.id for one in state.machines.values() if not one.leaving]
    attempts = [one.id for one in state.attempts.values() if not one.cancelling]
    if what < 0.2:
        scene.rent(rng.choice(("one", "two")))
    elif what < 0.3 and staying:
        number = rng.choice(staying)
        if state.machines[number].up is None:
            scene.up(number)
    elif what < 0.6 and state.idle and state.ready:
        scene.start(rng.choice(list(state.ready)), rng.choice(list(state.idle)))
    elif what < 0.7 and attempts:
        scene.cancel(rng.choice(attempts))
    elif what < 0.8 and state.attempts:
        scene.end(rng.choice(list(state.attempts)), "cancelled")
    elif what < 0.9 and staying:
        scene.release(rng.choice(staying))
    elif state.machines:
        scene.down(rng.choice(list(state.machines)), "lost")
