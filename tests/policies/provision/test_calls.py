"""Calls get the machines that the queue is worth, and no others."""

from __future__ import annotations

from random import Random

import pytest
from tests.policies.wishes import rented_offers

from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.policies.provision.calls import CallFleet
from bursar.state.actions import Extend, Release, Rent, Wake
from bursar.testing import Scene

SMALL = Offer("small", Money.parse("0.08"), 5 * SECOND, limit=4)
LARGE = Offer("large", Money.parse("0.32"), 5 * SECOND, limit=2, speed=3.5)
CLOUD = Offer("cloud", Money.parse("0.001"), SECOND, MINUTE, 50, 30 * SECOND)


class Calls:
    def __init__(self, *offers, tasks, **goal):
        self.scene = Scene(*offers, tasks=tasks, arrivals_open=True, **{"budget": "999", **goal})
        self.entry, self.seen = CallFleet(), 0

    def asked(self):
        self.learn()
        return list(self.entry.provision(self.scene.state, self.scene.at, Random(0)))

    def rents(self):
        return rented_offers(one for one in self.asked() if isinstance(one, Rent))

    def learn(self):
        for event in self.scene.events[self.seen :]:
            self.entry.saw(event, self.scene.state)
        self.seen = len(self.scene.events)

    def renew(self, machine):
        self.learn()
        return self.entry.renew(self.scene.state.machines[machine], self.scene.state, self.scene.at)

    def done(self, machine, count, time):
        for _ in range(count):
            attempt = self.scene.start(self.scene.state.ready[0], machine)
            self.learn()
            self.scene.pass_time(time)
            self.scene.end(attempt)


def test_one_machine_comes_first_where_work_costs_least():
    assert Calls(LARGE, SMALL, tasks=1000).rents() == ["small"]


def test_few_short_calls_are_left_to_the_first_machine():
    calls = Calls(SMALL, LARGE, tasks=40)
    calls.rents()
    machine = calls.scene.machine("small")
    calls.done(machine, 5, SECOND // 20)
    assert calls.rents() == []


def test_a_long_queue_gets_as_many_machines_as_it_keeps_at_work_for_a_unit():
    calls = Calls(SMALL, LARGE, tasks=400)
    calls.rents()
    machine = calls.scene.machine("small")
    calls.done(machine, 20, SECOND // 20)
    assert calls.rents() == ["small"] * 3, "19 s of work, of which each does 5 s"


def test_boots_are_worth_twice_their_time():
    calls = Calls(CLOUD, tasks=130)
    calls.rents()
    machine = calls.scene.machine("cloud")
    calls.done(machine, 20, 10 * SECOND)
    rented = calls.rents()
    assert 10 <= len(rented) <= 20, "1,100 s of work, 60 s each"


def test_long_calls_tell_it_before_they_end():
    calls = Calls(SMALL, LARGE, tasks=40)
    calls.rents()
    calls.scene.start(1, calls.scene.machine("small"))
    assert calls.rents() == []
    calls.scene.pass_time(MINUTE)
    assert calls.rents() == ["small"] * 3 + ["large"] * 2


def test_somebody_looks_again_while_calls_run_and_others_wait():
    calls = Calls(SMALL, tasks=40)
    calls.rents()
    calls.scene.start(1, calls.scene.machine("small"))
    assert any(isinstance(one, Wake) for one in calls.asked())


def test_a_deadline_that_is_near_asks_for_more():
    def rented(deadline):
        calls = Calls(CLOUD, tasks=100, deadline=deadline)
        calls.rents()
        calls.done(calls.scene.machine("cloud"), 20, 10 * SECOND)
        return len(calls.rents())

    assert rented(5 * MINUTE) > rented(2 * HOUR)


def test_a_machine_that_has_nothing_to_do_is_paid_to_the_end_of_its_unit_and_leaves():
    calls = Calls(SMALL, tasks=1)
    machine = calls.scene.machine("small", 5 * SECOND)
    calls.done(machine, 1, SECOND)
    assert calls.asked() == []
    assert isinstance(calls.renew(machine), Release)


def test_a_machine_is_kept_for_as_long_as_another_one_would_boot():
    calls = Calls(CLOUD, tasks=1)
    machine = calls.scene.machine("cloud", MINUTE)
    calls.done(machine, 1, SECOND)
    calls.scene.pass_time(20 * SECOND)
    assert isinstance(calls.renew(machine), Extend)
    calls.scene.pass_time(20 * SECOND)
    assert isinstance(calls.renew(machine), Release)


@pytest.mark.parametrize("money", ["0.07", "0.10"])
def test_what_cannot_be_paid_is_not_asked_for(money):
    calls = Calls(SMALL, LARGE, tasks=9, budget=money)
    assert calls.rents() == ([] if money == "0.07" else ["small"])
