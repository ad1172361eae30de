from __future__ import annotations

import time
import uuid

import pytest

from bursar.engine.loop import Engine
from bursar.engine.roles import Policy
from bursar.execute.marks import sweep
from bursar.model.market import Offer
from bursar.model.money import ZERO, Money
from bursar.model.time import HOUR, SECOND
from bursar.model.work import repeated_bag
from bursar.policies.place.random import RandomPlacer
from bursar.policies.provision.fixed import Fixed
from bursar.policies.replicate.none import NoReplicas
from bursar.rent.emulated import Saboteur
from bursar.runs.worlds import local_world
from bursar.state import events as ev
from bursar.testing import Auditor, Scene

SPOT = Offer("spot", Money.parse("0.01"), SECOND, limit=3, pool="unreliable")
SURE = Offer("sure", Money.parse("0.03"), SECOND, limit=1)


def test_machines_of_unreliable_offers_live_as_long_as_is_said_on_average():
    saboteur = Saboteur(HOUR, seed=1)
    lives = [saboteur.life(number, SPOT) for number in range(2000)]
    assert sum(lives) / len(lives) == pytest.approx(HOUR, rel=0.1)
    assert min(lives) > 0


def test_machines_of_reliable_offers_are_left_alone():
    assert Saboteur(1).life(1, Offer("sure", ZERO)) is None


def test_the_same_seed_is_the_same_sabotage():
    first, second = Saboteur(HOUR, seed=1), Saboteur(HOUR, seed=2)
    assert first.life(4, SPOT) == Saboteur(HOUR, seed=1).life(4, SPOT)
    assert first.life(4, SPOT) != second.life(4, SPOT)


@pytest.mark.parametrize("notice", [0, SECOND // 5])
def test_a_real_run_is_done_in_spite_of_a_saboteur(notice, tmp_path):
    bag = repeated_bag(("/bin/sh", "-c", "sleep 0.1; echo $BURSAR_TASK; sleep 0 & wait"), 40)
    scene = Scene(SPOT, SURE, tasks=bag, budget="2", run=f"sabotage-{uuid.uuid4().hex[:8]}")
    auditor = Auditor()
    for event in scene.events:
        auditor.saw(event, scene.state)
    saboteur = Saboteur(SECOND // 2, notice=notice, seed=3)
    world = local_world(scene.state, tmp_path / "out", losses=saboteur)
    policy = Policy(Fixed({"spot": 3, "sure": 1}), RandomPlacer(), NoReplicas())
    ended = Engine(scene.state, policy, world, observers=[auditor]).run()
    downs = [event for event in auditor.events if isinstance(event, ev.MachineDown)]
    lost = [event for event in downs if event.cause == "lost"]
    announced = [event for event in auditor.events if isinstance(event, ev.LossAnnounced)]
    printed = sorted(int(path.read_text()) for path in tmp_path.glob("out/*/stdout"))
    assert ended.status == "done"
    assert printed == list(range(1, 41)), "each task's result is there once"
    assert sweep(scene.state) == 0, "a process survived"
    assert lost, "nothing was sabotaged"
    assert {event.why for event in lost} == {"the spot machine was taken away"}
    assert all(event.machine in _rented(auditor.events, "spot") for event in lost)
    assert bool(announced) == bool(notice)
    assert scene.state.ledger.committed <= Money.parse("2")


def _rented(events, offer):
    return {e.machine for e in events if isinstance(e, ev.MachineRented) and e.offer == offer}


def test_what_runs_on_a_machine_that_is_taken_away_is_killed_at_once(tmp_path):
    stubborn = ("/bin/sh", "-c", "trap '' TERM; while :; do sleep 0.05; done")
    scene = Scene(SPOT, tasks=repeated_bag(stubborn, 1), run=f"taken-{uuid.uuid4().hex[:8]}")

    class AfterHalfASecond:
        notice = 0

        def life(self, machine, offer):
            return SECOND // 2

    world = local_world(scene.state, tmp_path / "out", grace=HOUR, losses=AfterHalfASecond())
    began = time.monotonic()
    try:
        for decision in (ev.MachineRented(0, 1, "spot", HOUR), ev.AttemptStarted(0, 1, 1, 1)):
            scene.tell(decision)
            world.perform([decision])
        down = None
        while down is None and time.monotonic() - began < 20:
            found = [e for e in world.wait(world.now() + SECOND) if isinstance(e, ev.MachineDown)]
            down = found[0] if found else None
    finally:
        world.close()
    assert down is not None
    assert down.cause == "lost"
    assert SECOND // 2 <= down.ended <= 5 * SECOND
    assert sweep(scene.state) == 0
