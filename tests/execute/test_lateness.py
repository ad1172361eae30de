"""A loop that was late is given more time."""

from __future__ import annotations

import time

import pytest
from tests.engine.stage import Fates, Stage

from bursar.execute.lateness import HALF_LIFE, MOST, Lateness
from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import MINUTE, SECOND
from bursar.rent.emulated import LEAD
from bursar.state import events as ev


def test_twice_the_worst_that_was_seen_is_expected():
    lateness = Lateness()
    assert lateness.expected() == 0
    for late in (1000, 3000, 2000):
        lateness.learn(late, 0)
    assert lateness.expected() == 6000


def test_what_was_seen_fades_as_the_loop_is_seen_to_be_less_late():
    lateness = Lateness()
    lateness.learn(SECOND, 0)
    lateness.learn(SECOND // 10, HALF_LIFE)
    assert lateness.expected() == SECOND
    lateness.learn(SECOND // 2, 2 * HALF_LIFE)
    assert lateness.expected() == SECOND
    for step in range(1, 1001):
        lateness.learn(0, (2 + step) * HALF_LIFE)
    assert lateness.expected() == 0


def test_a_loop_that_is_seldom_seen_is_expected_to_be_as_late_as_it_was():
    lateness = Lateness()
    for look in range(3):
        lateness.learn(SECOND, look * 10 * HALF_LIFE)
        assert lateness.expected() == 2 * SECOND


def test_a_night_asleep_is_no_lateness():
    lateness = Lateness()
    lateness.learn(600 * MINUTE, 0)
    assert lateness.expected() == MOST


def test_a_real_world_learns_how_late_its_engine_is(lab):
    run = lab([("true",)])
    (offer,) = run.state.market.offers
    run.world.wait(run.world.now() + 1000)
    assert run.world.lead(offer) < LEAD + SECOND // 4
    time.sleep(0.4)  # a decision that took long, or a journal on a slow disk
    run.world.wait(run.world.now() + 1000)
    assert run.world.lead(offer) > LEAD + 3 * SECOND // 4


@pytest.mark.parametrize("late", [SECOND // 10, SECOND, 3 * SECOND])
def test_a_loop_that_is_always_late_extends_its_leases_in_time(late):
    """It may lose what it has before it knows; then no lease runs out while nobody looks."""
    offer = Offer("fine", Money.parse("0.01"), SECOND, limit=1)
    lateness = Lateness()
    stage = Stage(
        offer,
        tasks=20,
        budget="20",
        fates=Fates(),
        lead=lambda offer: LEAD + lateness.expected(),
    )
    wait = stage.world.wait

    def wait_late(until):
        happened = wait(until)
        if happened or until is None:
            return happened
        lateness.learn(late, stage.world.now())
        return wait(until + late)

    stage.world.wait = wait_late
    assert stage.run().status == "done"
    lost = [down for down in stage.events(ev.MachineDown) if down.cause == "expired"]
    assert len(lost) <= 1
    assert stage.state.ledger.committed <= Money.parse("20")
