"""What machines take to come up is learned from the run itself."""

from __future__ import annotations

import msgspec
import pytest

from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import MINUTE, SECOND
from bursar.state.boot_times import RECENT, BootTimes
from bursar.state.checkpoint import Plain
from bursar.state.read_only import view_of
from bursar.testing import Scene

PRICE = Money.parse("0.10")
PROMISED = Offer("promised", PRICE, boot=MINUTE)
QUEUED = Offer("queued", PRICE)
"""a partition of Slurm: its boot time is not known"""


@pytest.fixture
def boots():
    return BootTimes()


def test_before_anything_was_seen_the_market_file_counts(boots):
    assert boots.expected(PROMISED, 0) == MINUTE
    assert boots.expected(QUEUED, 0) == 0


def test_machines_that_boot_as_promised_change_nothing(boots):
    for number in range(1, 30):
        boots.begin(number, PROMISED, number)
        assert boots.expected(PROMISED, number + MINUTE) == MINUTE
        assert boots.left(number, PROMISED, number, number + 20 * SECOND) == 40 * SECOND
        boots.end(number, PROMISED, number + MINUTE)
    assert boots.expected(PROMISED, MINUTE) == MINUTE


def test_the_promise_counts_as_one_machine(boots):
    boots.begin(1, PROMISED, 0)
    boots.end(1, PROMISED, 3 * MINUTE)
    assert boots.expected(PROMISED, 3 * MINUTE) == 2 * MINUTE
    boots.begin(2, QUEUED, 0)
    boots.end(2, QUEUED, 3 * MINUTE)
    assert boots.expected(QUEUED, 3 * MINUTE) == 3 * MINUTE


def test_a_queue_that_grows_shorter_is_noticed(boots):
    for number in range(200):
        boots.begin(number, QUEUED, 0)
        boots.end(number, QUEUED, 10 * MINUTE if number < 100 else MINUTE)
    assert boots.expected(QUEUED, 0) < MINUTE + SECOND
    assert boots.seen["queued"].count == RECENT


def test_those_that_are_late_count_before_they_are_up(boots):
    boots.begin(1, PROMISED, 0)
    boots.begin(2, PROMISED, 0)
    boots.begin(3, PROMISED, 9 * MINUTE)
    assert boots.expected(PROMISED, 10 * MINUTE) == (1 + 10 + 10) * MINUTE // 3
    assert boots.left(1, PROMISED, 0, 10 * MINUTE) == 9 * MINUTE
    boots.forget(1, PROMISED)
    boots.forget(2, PROMISED)
    assert boots.expected(PROMISED, 10 * MINUTE) == MINUTE


def test_policies_see_it_and_a_checkpoint_keeps_it():
    scene = Scene(PROMISED, tasks=1, budget="10")
    view = view_of(scene.state)
    number = scene.rent()
    scene.pass_time(3 * MINUTE)
    assert view.boot_time(PROMISED, 3 * MINUTE) == 2 * MINUTE
    assert view.boot_left(scene.state.machines[number], 3 * MINUTE) == 2 * MINUTE
    scene.up(number)
    assert view.boot_left(scene.state.machines[number], 3 * MINUTE) == 0
    assert view.boot_time(PROMISED, 3 * MINUTE) == 2 * MINUTE
    scene.state.check()
    assert "boots" in Plain.__struct_fields__
    data = msgspec.msgpack.encode(scene.state.boots)
    again = msgspec.msgpack.decode(data, type=BootTimes)
    assert again.seen == scene.state.boots.seen
