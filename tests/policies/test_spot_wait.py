"""Reliable machines wait for unreliable ones while that costs no more."""

from __future__ import annotations

import msgspec

from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.policies.deadline_help import LastMoment
from bursar.policies.spot_wait import SpotWait
from bursar.testing import Scene

SURE = Offer("sure", Money.parse("0.0001"), SECOND, MINUTE, 1, 6 * MINUTE)
SPOT = msgspec.structs.replace(SURE, name="spot", pool="unreliable")


def waits(*times, tasks=100, deadline=10 * HOUR, losses=0, sure=SURE, elapsed=None):
    """Until when, after tasks that took so many minutes each, one after the other."""
    scene, last = Scene(sure, SPOT, tasks=tasks, deadline=deadline), LastMoment()
    machine = scene.machine("sure", stay=20 * HOUR)
    for task, minutes in enumerate(times, 1):
        attempt = scene.start(task, machine)
        scene.pass_time(minutes * MINUTE)
        scene.end(attempt)
        last.saw(scene.events[-1], scene.state)
    now = scene.at if elapsed is None else elapsed
    return SpotWait((sure,), last).look(scene.state, now, losses)


TWELVE = [2] * 12


def test_they_wait_while_one_machine_can_still_do_the_rest():
    until = waits(*TWELVE)
    assert 6 * HOUR < until < 10 * HOUR - 88 * 2 * MINUTE


def test_they_do_not_wait_once_that_moment_has_come():
    assert waits(*TWELVE, elapsed=waits(*TWELVE)) is None


def test_they_do_not_wait_where_little_is_known():
    assert waits(2, 2, 2) is None


def test_changeovers_to_come_are_not_waited_for():
    assert waits(*TWELVE, losses=1) < waits(*TWELVE)
    assert waits(*TWELVE, losses=50) is None


def test_where_run_times_vary_they_begin_sooner():
    varied = [1, 3] * 6
    assert waits(*varied) < waits(*TWELVE)


def test_more_machines_let_them_wait_longer_where_their_boots_are_nothing():
    many = msgspec.structs.replace(SURE, limit=10, boot=SECOND)
    one = msgspec.structs.replace(many, limit=1)
    assert waits(*TWELVE, sure=many, tasks=3000, deadline=900 * HOUR) > waits(
        *TWELVE, sure=one, tasks=3000, deadline=900 * HOUR
    )


def test_without_a_deadline_nobody_waits():
    assert waits(*TWELVE, deadline=None) is None
