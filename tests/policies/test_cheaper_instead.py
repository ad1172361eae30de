"""Dear machines make room for more cheap ones, when that does more than it loses."""

from __future__ import annotations

import pytest

from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import MINUTE, SECOND
from bursar.policies.cheaper_instead import cheaper_instead
from bursar.testing import Scene

CHEAP = Offer("cheap", Money.parse("1"), MINUTE, limit=8, boot=5 * SECOND)
DEAR = Offer("dear", Money.parse("5"), MINUTE, limit=8, boot=5 * SECOND)


def scene_with(busy=2, began=50 * SECOND, cheap=CHEAP):
    """Dear machines whose paid minute ends, and how long what they run has run."""
    scene = Scene(cheap, DEAR, tasks=20)
    machines = [scene.machine("dear", stay=MINUTE) for _ in range(busy)]
    scene.pass_time(MINUTE - began)
    for task, machine in enumerate(machines, 1):
        scene.start(task, machine)
    scene.pass_time(began)
    return scene


def found_in(scene, wanted, payable, interval=MINUTE):
    machines = scene.state.machines.values()
    return cheaper_instead(scene.state, scene.at, machines, wanted, payable, interval)


def test_as_many_cheap_machines_come_as_the_money_of_dear_ones_pays():
    found = found_in(scene_with(), {"cheap": 8, "dear": 4}, {"cheap": 0, "dear": 2})
    assert found.fleet == {"cheap": 8, "dear": 0}
    assert found.given_up == {1, 2}


def test_no_more_leave_than_are_of_use():
    found = found_in(scene_with(), {"cheap": 6, "dear": 2}, {"cheap": 1, "dear": 2})
    assert found.fleet == {"cheap": 6, "dear": 1}
    assert len(found.given_up) == 1


@pytest.mark.parametrize(
    ("scene", "wanted", "payable"),
    [
        (scene_with(), {"cheap": 2, "dear": 4}, {"cheap": 2, "dear": 2}),
        (scene_with(), {"cheap": 1, "dear": 4}, {"cheap": 0, "dear": 2}),
        (
            scene_with(cheap=Offer("cheap", Money.parse("5"), MINUTE, limit=8)),
            {"cheap": 8, "dear": 4},
            {"cheap": 0, "dear": 2},
        ),
        (
            scene_with(cheap=Offer("cheap", Money.parse("1"), MINUTE, limit=8, speed=0.2)),
            {"cheap": 8, "dear": 4},
            {"cheap": 0, "dear": 2},
        ),
    ],
    ids=["none is lacking", "one for one is no gain", "as dear", "five are as fast as one"],
)
def test_nothing_leaves_where_that_does_no_more_work(scene, wanted, payable):
    found = found_in(scene, wanted, payable)
    assert found.fleet == payable
    assert found.given_up == frozenset()


def test_what_has_run_for_long_is_not_lost():
    scene = scene_with(busy=1, began=0)
    for _ in range(10):
        scene.extend(1, MINUTE)
        scene.pass_time(MINUTE)
    wanted, payable = {"cheap": 5, "dear": 1}, {"cheap": 0, "dear": 1}
    assert found_in(scene, wanted, payable).given_up == frozenset()


def test_paid_time_is_used_to_its_end():
    scene = scene_with()
    scene.extend(1, MINUTE)
    found = found_in(scene, {"cheap": 8, "dear": 4}, {"cheap": 0, "dear": 2})
    assert found.given_up == {2}
    assert found.fleet == {"cheap": 5, "dear": 1}
