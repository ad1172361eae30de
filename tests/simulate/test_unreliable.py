from __future__ import annotations

from random import Random

import pytest

from bursar.engine.roles import Policy
from bursar.model.goal import Goal, Limits
from bursar.model.market import Market, Offer, Place
from bursar.model.money import ZERO, Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import Bag
from bursar.policies.place.random import RandomPlacer
from bursar.policies.provision.fixed import Fixed
from bursar.policies.replicate.none import NoReplicas
from bursar.simulate.faults import ModelledBehaviour, given
from bursar.simulate.run import simulate
from bursar.simulate.unreliable import (
    LostTogether,
    MortalMachines,
    UnreliablePool,
    exponential,
)
from bursar.state.view import Machine
from bursar.testing import Auditor

SURE = Machine(1, Offer("sure", ZERO), 0, HOUR)
SPOT = Machine(2, Offer("spot", ZERO, pool="unreliable"), 0, HOUR)
CALM = ModelledBehaviour(given([MINUTE]))


def one_of(durations):
    return lambda rng: rng.choice(durations)


def ends(pool, machine=SPOT, now=0, count=2000):
    return [pool.attempt(1, number, machine, now) for number in range(1, count + 1)]


def test_a_share_of_attempts_returns_and_the_rest_is_never_heard_of():
    found = ends(UnreliablePool(CALM, reliability=0.8, seed=1))
    assert set(found) == {(MINUTE, "success"), (None, "lost")}
    assert found.count((MINUTE, "success")) == pytest.approx(1600, abs=80)


def test_attempts_on_reliable_offers_always_return():
    assert set(ends(UnreliablePool(CALM, reliability=0.0), SURE)) == {(MINUTE, "success")}


def test_reliability_depends_on_when_an_attempt_is_started():
    pool = UnreliablePool(CALM, reliability=lambda now: 1.0 if now < HOUR else 0.25, seed=1)
    before, after = ends(pool, now=HOUR - 1), ends(pool, now=HOUR)
    assert before.count((None, "lost")) == 0
    assert after.count((None, "lost")) == pytest.approx(1500, abs=80)


def test_turnaround_times_are_drawn_from_those_of_successes():
    pool = UnreliablePool(CALM, turnaround=one_of([SECOND, 5 * SECOND, 5 * SECOND]), seed=2)
    times = [runtime for runtime, _ in ends(pool)]
    assert set(times) == {SECOND, 5 * SECOND}
    assert times.count(SECOND) == pytest.approx(667, abs=80)
    assert pool.attempt(1, 1, SURE, 0) == (MINUTE, "success")


def test_the_fate_of_an_attempt_does_not_depend_on_the_order_of_calls():
    def fates(order, seed=3):
        draw = one_of(range(1, 1000))
        pool = UnreliablePool(CALM, reliability=0.5, turnaround=draw, seed=seed)
        return {number: pool.attempt(1, number, SPOT, 0) for number in order}

    assert fates(range(50)) == fates(reversed(range(50)))
    assert fates(range(50)) != fates(range(50), seed=4)


def test_a_slow_host_is_as_slow_for_every_attempt():
    pool = UnreliablePool(CALM, slowness=lambda rng: rng.choice([1.0, 3.0]), seed=5)
    hosts = [Machine(number, SPOT.offer, 0, HOUR) for number in range(40)]
    times = [{runtime for runtime, _ in ends(pool, host, count=5)} for host in hosts]
    assert all(len(one) == 1 for one in times)
    assert set.union(*times) == {MINUTE, 3 * MINUTE}
    assert set(ends(pool, SURE)) == {(MINUTE, "success")}


def test_machines_live_as_is_drawn_for_their_offer():
    lives = {"spot": exponential(HOUR)}
    pool = MortalMachines(CALM, lives, notice=2 * MINUTE, seed=6)
    drawn = [pool.life(Machine(number, SPOT.offer, 0, HOUR)) for number in range(2000)]
    assert sum(drawn) / len(drawn) == pytest.approx(HOUR, rel=0.1)
    assert pool.life(SPOT) == pool.life(SPOT)
    assert pool.notice(SPOT) == 2 * MINUTE
    assert pool.life(SURE) is None
    assert pool.notice(SURE) == 0


def test_no_life_is_shorter_than_a_moment():
    assert MortalMachines(CALM, {"spot": lambda rng: -5}).life(SPOT) == 1


@pytest.mark.parametrize("notice", [0, 2 * MINUTE])
def test_a_run_on_silent_and_mortal_machines_is_done_within_its_budget(notice):
    spot = Offer("spot", Money.parse("0.01"), MINUTE, limit=6, pool="unreliable")
    sure = Offer("sure", Money.parse("0.05"), MINUTE, limit=1)
    runtimes = [Random(number).randint(MINUTE, 9 * MINUTE) for number in range(60)]
    pool = UnreliablePool(ModelledBehaviour(given(runtimes)), reliability=0.8, seed=7)
    behaviour = MortalMachines(pool, {"spot": exponential(HOUR)}, notice=notice, seed=7)
    policy = Policy(Fixed({"spot": 6, "sure": 1}), RandomPlacer(), NoReplicas())
    auditor = Auditor()
    state = simulate(
        Market("USD", "undated", (spot, sure)),
        Goal(Money.parse("40")),
        Bag(60),
        policy,
        behaviour,
        limits=Limits(retries=20, timeout=20 * MINUTE),
        observers=[auditor],
    )
    told = {type(event).__name__ for event in auditor.events}
    assert state.ended.status == "done"
    assert state.done == 60
    assert state.ledger.committed <= Money.parse("40")
    assert ("LossAnnounced" in told) == bool(notice)


def test_machines_of_one_type_in_one_zone_are_lost_together():
    def machine(number, rented, zone, pool="unreliable"):
        place = Place(instance_type="c5", zone=zone)
        return Machine(number, Offer(f"c5-{zone}", ZERO, pool=pool, place=place), rented, HOUR)

    world = LostTogether(CALM, HOUR, notice=MINUTE, seed=1)
    first = machine(1, 0, "a")
    gone = world.life(first)
    assert world.life(machine(2, gone // 2, "a")) == gone - gone // 2
    assert world.life(machine(3, 0, "b")) != gone
    assert world.life(machine(4, 0, "a", "reliable")) is None
    assert (world.notice(first), world.notice(SURE)) == (MINUTE, 0)
    lives = [world.life(machine(5, gone * step, "a")) for step in range(400)]
    assert sum(lives) / len(lives) == pytest.approx(HOUR, rel=0.3)
