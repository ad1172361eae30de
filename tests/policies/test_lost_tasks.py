"""What was lost with its machine goes where it is not lost again."""

from __future__ import annotations

from random import Random

import pytest

from bursar.engine.roles import Policy
from bursar.model.errors import InputError
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer, Place
from bursar.model.money import Money
from bursar.model.strategy import read_strategy
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import Bag
from bursar.policies import pool_machines
from bursar.policies.lost_tasks import LostTasks
from bursar.policies.place.pooled import PooledPlacer
from bursar.policies.provision.mixed import Mixed
from bursar.policies.reconcile import Target, reconcile
from bursar.policies.replicate.ntdmr import Ntdmr
from bursar.runs.faults import Faults
from bursar.runs.request import Request
from bursar.simulate.faults import ModelledBehaviour, given
from bursar.simulate.run import simulate
from bursar.simulate.unreliable import LostTogether
from bursar.testing import Scene


def spot(zone):
    place = Place(instance_type="c5", zone=zone)
    price = Money.parse("0.00001")
    return Offer(f"c5-{zone}", price, SECOND, MINUTE, 8, pool="unreliable", place=place)


SURE = Offer("sure", Money.parse("0.00004"), SECOND, MINUTE, 2)
STRATEGY = read_strategy("N=2,T=0s,D=30m,Mr=0.1")
HERE, THERE = spot("here"), spot("there")


def one_lost(tasks=3):
    """The first task was lost with a machine of `c5-here`; all are ready."""
    scene = Scene(HERE, THERE, SURE, tasks=tasks)
    machine = scene.machine("c5-here")
    scene.start(1, machine)
    scene.pass_time(MINUTE)
    scene.down(machine, "lost")
    return scene


def filled(scene, *slots, seed=0):
    lost = LostTasks()
    state = Scene(HERE, THERE, SURE, tasks=scene.state.total).state
    for event in scene.events[3:]:
        state.apply(event)
        lost.saw(event, state)
    return lost.fill(slots, scene.state, Random(seed))


@pytest.mark.parametrize("seed", range(5))
def test_a_lost_task_is_the_first_on_a_reliable_machine(seed):
    scene = one_lost()
    spare, stays = scene.machine("c5-there"), scene.machine("sure")
    starts = {one.machine: one for one in filled(scene, spare, stays, seed=seed)}
    assert starts[stays].task == 1
    assert "lost with a machine of c5-here" in starts[stays].reason
    assert len({one.task for one in starts.values()}) == 2


def test_a_lost_task_goes_to_another_zone_where_both_are_free():
    scene = one_lost(tasks=2)
    here, there = scene.machine("c5-here"), scene.machine("c5-there")
    starts = {one.task: one for one in filled(scene, here, there)}
    assert starts[1].machine == there
    assert starts[1].reason.endswith("another kind")
    assert starts[2].machine == here


def test_a_lost_task_does_not_wait_for_another_zone():
    scene = one_lost(tasks=1)
    assert [one.task for one in filled(scene, scene.machine("c5-here"))] == [1]


def test_where_nothing_was_lost_tasks_are_dealt_at_random():
    scene = Scene(HERE, tasks=40)
    slots = [scene.machine() for _ in range(4)]
    drawn = {tuple(one.task for one in filled(scene, *slots, seed=seed)) for seed in range(5)}
    assert len(drawn) == 5


def test_another_instance_gets_a_machine_of_another_zone():
    scene = Scene(HERE, THERE, tasks=2)
    scene.start(1, scene.machine("c5-here"))
    there, here = scene.machine("c5-there"), scene.machine("c5-here")
    free = pool_machines.Free(scene.state)
    assert free.take_unreliable(2, None) == (here, ""), "the last, as nothing of it runs"
    free = pool_machines.Free(scene.state)
    assert free.take_unreliable(1, None) == (there, "c5-here")
    assert free.take_unreliable(1, None) == (here, ""), "none of another kind is free"


class InTurn(Mixed):
    """Rents machines of all offers in turn, so that both kinds are free when copies are sent."""

    def _fill(self, view, now, offers, wanted, why):
        slots = wanted - sum(view.fleet.get(offer.name, 0) for offer in offers)
        fleet = {offer.name: offer.limit for offer in offers}
        return reconcile(view, Target(fleet=fleet, rent=why, slots=slots, in_turn=True), now)


def test_it_helps_where_machines_of_one_kind_are_lost_together(monkeypatch):
    """Two copies of a task in one zone are lost together; in two zones one of them ends."""
    market = Market("USD", "undated", (HERE, THERE, SURE))

    def time(seed):
        mixed = InTurn(market, {HERE.name: 8, THERE.name: 8, SURE.name: 1}, STRATEGY)
        state = simulate(
            market,
            Goal(Money.parse("9")),
            Bag(8),
            Policy(mixed, PooledPlacer(), Ntdmr(mixed)),
            LostTogether(ModelledBehaviour(given([10 * MINUTE] * 8)), 20 * MINUTE, seed=seed),
            seed=seed,
        )
        assert state.done == 8
        return state.now

    apart = sum(map(time, range(20)))
    monkeypatch.setattr(pool_machines, "have_in_common", lambda one, other: 0)
    assert apart < 0.95 * sum(map(time, range(20)))


def test_losing_machines_together_needs_a_mean_life_and_a_machine_that_may_be_lost():
    for life, offers in ((None, (HERE,)), (HOUR, (SURE,))):
        request = Request(market=Market("USD", "undated", offers), goal=Goal())
        with pytest.raises(InputError, match="mean"):
            Faults(0.0, 1.0, life, 0, (), together=True).check(request)
