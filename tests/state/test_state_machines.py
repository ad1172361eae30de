"""Machines in a run's state: rented, extended, leaving, lost, refused."""

from __future__ import annotations

import pytest

from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.state import events as ev
from bursar.state.fleet_counts import FleetCounts
from bursar.testing import Scene

SMALL = Offer("small", Money.parse("0.10"))
LARGE = Offer("large", Money.parse("0.30"), slots=2)


@pytest.fixture
def scene():
    return Scene(SMALL, LARGE, tasks=3, budget="10")


def test_a_rented_machine_boots_is_paid_for_and_counts_in_the_fleet(scene):
    number = scene.rent("large", stay=2 * HOUR)
    machine = scene.state.machines[number]
    assert (machine.name, machine.status, machine.until) == ("large-1", "booting", 2 * HOUR)
    assert scene.state.fleet == {"large": 1}
    assert scene.state.ledger.committed == Money.parse("0.60")
    assert number not in scene.state.idle


def test_a_machine_that_is_up_is_idle_until_all_its_slots_are_taken(scene):
    number = scene.machine("large")
    machine = scene.state.machines[number]
    assert (machine.status, machine.up) == ("idle", 0)
    scene.start(1, number)
    assert machine.status == "busy"
    assert number in scene.state.idle
    last = scene.start(2, number)
    assert number not in scene.state.idle
    scene.end(last)
    assert number in scene.state.idle


def test_an_extended_lease_is_paid_for_longer(scene):
    number = scene.rent()
    scene.extend(number, HOUR)
    assert scene.state.machines[number].until == 2 * HOUR
    assert scene.state.ledger.committed == Money.parse("0.20")


def test_a_machine_marked_for_release_works_on(scene):
    number = scene.machine()
    scene.mark(number)
    assert scene.state.machines[number].marked
    assert number in scene.state.idle
    assert scene.state.fleet == {"small": 1}


def test_a_machine_being_released_takes_no_more_work_and_leaves_the_fleet(scene):
    number = scene.machine()
    scene.release(number)
    assert number not in scene.state.idle
    assert scene.state.fleet == {"small": 0}
    assert scene.state.leaving == {"small": 1}
    scene.down(number)
    assert scene.state.leaving == {"small": 0}
    assert scene.state.machines == {}


def test_a_machine_released_while_it_boots_never_becomes_idle(scene):
    number = scene.rent()
    scene.release(number)
    scene.up(number)
    assert number not in scene.state.idle


def test_an_attempt_that_ends_on_a_machine_being_released_makes_it_no_target(scene):
    number = scene.machine()
    attempt = scene.start(1, number)
    scene.release(number)
    scene.end(attempt)
    assert number not in scene.state.idle


def test_a_machine_lost_without_order_leaves_the_fleet(scene):
    number = scene.machine()
    scene.down(number, "lost")
    assert scene.state.fleet == {"small": 0}
    assert list(scene.state.idle) == []


def test_a_machine_that_went_down_earlier_than_noticed_is_charged_to_its_end(scene):
    number = scene.rent(stay=3 * HOUR)
    scene.pass_time(150 * MINUTE)
    scene.down(number, "lost", ended=30 * MINUTE)
    assert scene.state.ledger.spent == Money.parse("0.10")


def test_machines_are_numbered_and_numbers_are_not_used_again(scene):
    first = scene.rent()
    scene.down(first, "refused")
    assert scene.rent() == 2
    assert scene.state.machines_rented == 2


def test_a_machine_that_was_not_available_costs_nothing(scene):
    scene.down(scene.rent(), "refused")
    assert scene.state.ledger.committed == Money.parse("0")
    assert list(scene.state.ledger.charges()) == []


def test_refusals_are_remembered_until_a_machine_of_the_offer_comes_up(scene):
    scene.pass_time(MINUTE)
    scene.down(scene.rent(), "refused")
    scene.pass_time(MINUTE)
    scene.down(scene.rent(), "refused")
    refusal = scene.state.refusals["small"]
    assert (refusal.since, refusal.last) == (MINUTE, 2 * MINUTE)
    scene.machine("large")
    assert "small" in scene.state.refusals
    scene.machine("small")
    assert scene.state.refusals == {}


def test_whoever_asks_in_vain_pauses_ever_longer_but_not_for_ever(scene):
    pauses = []
    for _ in range(12):
        scene.down(scene.rent(), "refused")
        refusal = scene.state.refusals["small"]
        pauses.append(refusal.over - scene.at)
        scene.at = refusal.over
    assert pauses == sorted(pauses)
    assert pauses[0] == 15 * SECOND
    assert 9 * MINUTE < pauses[-1] < 10 * MINUTE
    assert not refusal.is_final


def test_a_run_that_is_resumed_may_ask_at_once(scene):
    scene.down(scene.rent(), "refused")
    scene.tell(ev.RunResumed(scene.at))
    assert scene.state.refusals == {}


def test_a_machine_whose_loss_is_announced_gets_nothing_more_but_ends_what_it_runs(scene):
    machine = scene.machine("large")
    attempt = scene.start(1, machine)
    scene.announce_loss(machine, 2 * MINUTE)
    state = scene.state
    assert state.machines[machine].doomed == 2 * MINUTE
    assert list(state.idle) == []
    assert (state.fleet, state.leaving) == ({"large": 0}, {"large": 1})
    scene.pass_time(MINUTE)
    scene.end(attempt)
    assert state.done == 1
    assert list(state.idle) == []
    scene.down(machine, "lost")
    assert (state.fleet, state.leaving) == ({"large": 0}, {"large": 0})


def test_a_machine_may_be_announced_to_be_lost_while_it_boots(scene):
    machine = scene.rent()
    scene.announce_loss(machine, MINUTE)
    scene.up(machine)
    assert list(scene.state.idle) == []


def test_a_machine_whose_loss_is_announced_may_be_released(scene):
    machine = scene.machine()
    scene.announce_loss(machine, MINUTE)
    scene.release(machine)
    assert scene.state.leaving == {"small": 1}
    scene.down(machine)
    assert scene.state.leaving == {"small": 0}


def test_a_loss_is_not_announced_twice_nor_of_what_leaves_anyway(scene):
    first, second = scene.machine(), scene.machine()
    announced = ev.LossAnnounced(0, first, MINUTE)
    assert scene.state.expects(announced)
    scene.tell(announced)
    scene.release(second)
    for machine in (first, second, 99):
        assert not scene.state.expects(ev.LossAnnounced(0, machine, MINUTE))


def test_a_machine_that_is_adopted_boots_again_with_its_lease_and_charge(scene):
    machine = scene.machine()
    counts = FleetCounts()
    counts.look(scene.state)
    assert (counts.of("small").idle, counts.of("small").booting) == (1, 0)
    before = scene.state.ledger.committed
    scene.tell(ev.MachineAdopted(scene.at, machine))
    counts.look(scene.state)
    assert (counts.of("small").idle, counts.of("small").booting) == (0, 1)
    assert machine not in scene.state.idle
    assert scene.state.machines[machine].until == HOUR
    assert scene.state.ledger.committed == before
    scene.up(machine)
    assert machine in scene.state.idle


def test_a_machine_that_is_adopted_while_it_boots_supplies_slots_once_it_is_up(scene):
    machine = scene.rent("large")
    scene.tell(ev.MachineAdopted(scene.at, machine))
    assert scene.state.supply.now() == 0
    scene.up(machine)
    assert scene.state.supply.now() == LARGE.slots
    scene.state.check()
