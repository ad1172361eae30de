"""A lost machine makes others of its offer cost more; what comes back makes that little."""

from __future__ import annotations

import pytest

from bursar.beliefs.spot_value import FEW, SpotValue
from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE
from bursar.state import events as ev
from bursar.testing import Scene

SPOT = Offer("spot", Money.parse("0.06"), HOUR, pool="unreliable")
SURE = Offer("sure", Money.parse("0.20"), HOUR)


def value_of(scene):
    value, reported = SpotValue(), Scene(SPOT, SURE, tasks=20)
    for event in scene.events[len(reported.events) :]:
        reported.tell(event)
        value.saw(event, reported.state)
    return value


def test_before_anything_is_lost_a_machine_costs_its_price():
    scene = Scene(SPOT, SURE, tasks=20)
    machine = scene.machine("spot")
    scene.pass_time(HOUR // 2)
    scene.down(machine)
    assert value_of(scene).premium(SPOT) == 1.0
    assert not value_of(scene).has_lost


def test_a_machine_that_is_lost_at_once_wastes_the_hour_that_was_paid():
    scene = Scene(SPOT, SURE, tasks=20)
    machine = scene.machine("spot")
    scene.pass_time(MINUTE)
    scene.down(machine, "lost")
    value = value_of(scene)
    assert value.has_lost
    assert value.premium(SPOT) == pytest.approx(2.0)


def test_what_it_had_done_before_is_not_wasted():
    scene = Scene(SPOT, SURE, tasks=20)
    machine = scene.machine("spot")
    attempt = scene.start(1, machine)
    scene.pass_time(HOUR // 2)
    scene.end(attempt)
    scene.down(machine, "lost")
    assert value_of(scene).premium(SPOT) == pytest.approx(1 + 0.5 / 1.5)


def test_a_machine_that_never_came_wastes_nothing():
    scene = Scene(SPOT, SURE, tasks=20)
    scene.down(scene.rent("spot"), "refused")
    assert value_of(scene).premium(SPOT) == 1.0


def test_a_pool_is_silent_once_several_attempts_were_given_up_among_few_results():
    scene = Scene(SPOT, SURE, tasks=20)
    for task in range(1, FEW + 2):
        assert not value_of(scene).is_silent
        attempt = scene.start(task, scene.machine("spot"))
        scene.tell(ev.CancelOrdered(scene.at, attempt, "", give_up=True))
    assert value_of(scene).is_silent


def test_a_task_that_is_given_up_again_and_again_says_nothing_of_hosts():
    scene = Scene(SPOT, SURE, tasks=20)
    for _ in range(3 * FEW):
        attempt = scene.start(1, scene.machine("spot"))
        scene.tell(ev.CancelOrdered(scene.at, attempt, "", give_up=True))
        scene.end(attempt, "cancelled")
    assert not value_of(scene).is_silent
