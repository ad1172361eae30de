"""The guard rents, extends and releases as the money allows."""

from __future__ import annotations

import pytest
from tests.engine.guarded import BARE, FINE, FREE, HOURLY, GuardedScene

from bursar.engine.guard import FAR_HORIZON, HORIZON, Guard
from bursar.model.market import Offer
from bursar.model.money import ZERO, Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.state import actions as act
from bursar.state import events as ev
from bursar.testing import Scene

# --- renting -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("offer", "lead", "stay"),
    [
        (HOURLY, 0, HOUR),
        (HOURLY, 90 * SECOND, HOUR),
        (HOURLY, HOUR, 2 * HOUR),
        (BARE, 0, HORIZON),
        (BARE, 30 * SECOND, 31 * SECOND),
        (FINE, 0, MINUTE),
        (FINE, 30 * SECOND, MINUTE),
        (FINE, 70 * SECOND, 71 * SECOND),
    ],
)
def test_a_machine_is_paid_for_in_whole_units_and_longer_than_a_release_takes(offer, lead, stay):
    stage = GuardedScene(offer, lead=lead, budget="1.00")
    stage.scene.pass_time(7)
    rented = stage.ask(act.Rent(offer.name, reason="why not"))
    assert rented == ev.MachineRented(7, 1, offer.name, 7 + stay, "why not")


def test_with_little_money_a_machine_is_rented_for_as_long_as_that_lasts():
    stage = GuardedScene(BARE, budget="0.003")
    assert stage.ask(act.Rent("bare")).until == 3 * SECOND
    assert stage.scene.state.ledger.left == ZERO


def test_the_last_cent_may_be_spent():
    stage = GuardedScene(HOURLY, budget="0.10")
    assert isinstance(stage.ask(act.Rent("hourly")), ev.MachineRented)
    assert stage.refusal(act.Rent("hourly")) == "only $0.00 of the budget is left"


@pytest.mark.parametrize(
    ("offer", "budget", "shown"),
    [
        (HOURLY, "0.099999999", "$0.0999"),
        (FINE, "0.059", "$0.0590"),
        (BARE, "0.000999999", "$0.000999"),
    ],
)
def test_what_cannot_be_paid_is_not_rented(offer, budget, shown):
    stage = GuardedScene(offer, budget=budget)
    assert stage.refusal(act.Rent(offer.name)) == f"only {shown} of the budget is left"
    assert not stage.guard.can_rent(0)


def test_a_machine_that_could_not_be_released_in_time_is_not_rented():
    stage = GuardedScene(BARE, lead=90 * SECOND, budget="0.090")
    assert "only $0.09 of the budget is left" in stage.refusal(act.Rent("bare"))
    assert not stage.guard.can_rent(0)


def test_an_offer_s_limit_counts_machines_that_are_being_released():
    stage = GuardedScene(HOURLY, budget="9")
    first, _, _ = (stage.rent() for _ in range(3))
    stage.scene.release(first)
    assert stage.refusal(act.Rent("hourly")) == "the limit of 3 machines is reached"
    stage.scene.down(first)
    assert isinstance(stage.ask(act.Rent("hourly")), ev.MachineRented)


def test_what_no_market_offers_is_not_rented():
    assert GuardedScene(HOURLY).refusal(act.Rent("gold")) == "the market has no such offer"


@pytest.mark.parametrize("now", [True, False])
def test_nothing_is_rented_or_started_while_a_run_stops(now):
    stage = GuardedScene(HOURLY, budget="9", tasks=1)
    machine = stage.rent()
    stage.scene.tell(ev.StopRequested(0, "interrupted", "Ctrl-C", now=now))
    assert stage.refusal(act.Rent("hourly")) == "the run is stopping"
    assert stage.refusal(act.Start(1, machine)) == "the run is stopping"


def test_without_a_budget_machines_are_rented_without_end():
    stage = GuardedScene(FREE)
    for _ in range(10):
        stage.rent("free")
    assert len(stage.scene.state.machines) == 10


def test_an_offer_of_which_there_are_none_buys_nothing():
    stage = GuardedScene(Offer("none", ZERO, limit=0), Offer("dear", Money.parse("5")), budget="1")
    assert not stage.guard.can_rent(0)


# --- extending -----------------------------------------------------------------------------------


def test_a_lease_is_looked_at_before_it_ends():
    stage = GuardedScene(HOURLY, FINE, lead=10 * SECOND, budget="1")
    assert stage.guard.next_due() is None
    hourly, fine = stage.rent("hourly"), stage.rent("fine")
    assert stage.guard.next_due() == 50 * SECOND
    assert stage.guard.due(50 * SECOND - 1) == []
    assert stage.guard.due(HOUR - 10 * SECOND) == [fine, hourly]
    assert stage.guard.next_due() is None


def test_each_offer_is_looked_at_as_early_as_its_machines_are_released_slowly():
    slow, quick = (
        Offer("slow", Money.parse("0.01"), HOUR),
        Offer("quick", Money.parse("0.01"), HOUR),
    )
    leads = {"slow": 20 * MINUTE, "quick": SECOND}
    stage = GuardedScene(slow, quick, lead=lambda offer: leads[offer.name], budget="1")
    first = stage.rent("quick")
    stage.scene.pass_time(10 * MINUTE)
    second = stage.rent("slow")
    assert stage.guard.next_due() == 50 * MINUTE, "the later lease is the more urgent"
    stage.scene.pass_time(40 * MINUTE)
    assert stage.guard.due(stage.scene.at) == [second]
    assert isinstance(stage.ask(act.Extend(second)), ev.LeaseExtended)
    assert isinstance(stage.ask(act.Extend(first)), ev.ActionRefused)
    assert stage.guard.next_due() == HOUR - SECOND


def test_a_machine_that_is_released_slowly_is_paid_for_longer_ahead():
    leads = {"bare": SECOND, "slow": MINUTE}
    slow = Offer("slow", Money.parse("0.001"), SECOND)
    stage = GuardedScene(BARE, slow, lead=lambda offer: leads[offer.name], budget="1")
    assert stage.ask(act.Rent("bare")).until == 5 * SECOND
    assert stage.ask(act.Rent("slow")).until == 61 * SECOND


def test_a_lease_of_a_machine_that_leaves_or_is_gone_is_not_looked_at():
    stage = GuardedScene(HOURLY, budget="1")
    leaves, gone = stage.rent(), stage.rent()
    stage.scene.release(leaves)
    stage.scene.down(gone, "lost")
    assert stage.guard.next_due() is None
    assert stage.guard.due(5 * HOUR) == []


def test_leases_of_before_are_looked_at_by_the_guard_of_a_resumed_run():
    scene = Scene(HOURLY, budget="1")
    scene.machine(stay=2 * HOUR)
    assert Guard(scene.state, lambda offer: MINUTE).next_due() == 2 * HOUR - MINUTE


def test_an_extension_begins_where_the_lease_ends_and_is_of_whole_units():
    stage = GuardedScene(HOURLY, lead=MINUTE, budget="1")
    machine = stage.rent()
    stage.scene.pass_time(HOUR - MINUTE)
    extended = stage.ask(act.Extend(machine, "it is busy"))
    assert extended == ev.LeaseExtended(stage.scene.at, machine, 2 * HOUR, "it is busy")
    assert stage.guard.next_due() == 2 * HOUR - MINUTE


def test_units_count_from_the_renting_even_if_the_extension_comes_early_or_late():
    stage = GuardedScene(HOURLY, lead=10 * MINUTE, budget="1")
    stage.scene.pass_time(17)
    machine = stage.rent()
    stage.scene.pass_time(HOUR - 3 * MINUTE)
    assert stage.ask(act.Extend(machine)).until == 17 + 2 * HOUR


def test_a_lease_may_be_extended_at_its_very_end_and_no_later():
    for late, kind in ((0, ev.LeaseExtended), (1, ev.ReleaseOrdered)):
        stage = GuardedScene(HOURLY, budget="1")
        machine = stage.rent()
        stage.scene.pass_time(HOUR + late)
        verdict = stage.ask(act.Extend(machine))
        assert isinstance(verdict, kind)
    assert verdict.reason == "its paid time ran out before it was extended"


def test_a_lease_that_does_not_end_yet_is_not_extended():
    stage = GuardedScene(HOURLY, lead=MINUTE, budget="1")
    machine = stage.rent()
    stage.scene.pass_time(HOUR - MINUTE - 1)
    assert stage.refusal(act.Extend(machine)) == "its paid time does not end yet"


def test_a_machine_whose_next_unit_cannot_be_paid_is_released_before_it_enters_it():
    stage = GuardedScene(HOURLY, lead=MINUTE, budget="0.19")
    machine = stage.rent()
    stage.scene.pass_time(HOUR - MINUTE)
    released = stage.ask(act.Extend(machine))
    assert isinstance(released, ev.ReleaseOrdered)
    assert released.reason == "its next unit costs $0.10, $0.09 is left"


def test_where_money_is_plentiful_fine_leases_are_extended_far_ahead():
    stage = GuardedScene(BARE, budget="100")
    machine = stage.rent("bare")
    stage.scene.pass_time(HORIZON)
    assert stage.ask(act.Extend(machine)).until == HORIZON + FAR_HORIZON


def test_where_money_is_short_fine_leases_are_extended_little_by_little():
    stage = GuardedScene(BARE, budget="0.05")
    machine = stage.rent("bare")
    stage.scene.pass_time(HORIZON)
    assert stage.ask(act.Extend(machine)).until == 2 * HORIZON


def test_where_money_is_short_leases_grow_by_some_seconds_however_long_a_release_takes():
    stage = GuardedScene(BARE, lead=210 * SECOND, budget="0.231")
    machine = stage.rent("bare")
    stage.scene.pass_time(SECOND)
    assert stage.ask(act.Extend(machine)).until == SECOND + 210 * SECOND + HORIZON
    assert stage.refusal(act.Extend(machine)) == "its paid time does not end yet"


@pytest.mark.parametrize(("machines", "ahead"), [(1, FAR_HORIZON), (2, 304 * SECOND)])
def test_leases_take_a_tenth_of_the_money_if_every_machine_does_the_same(machines, ahead):
    # Ten minutes ahead cost 0.600 a machine, and 6.1 less what both began with is left.
    stage = GuardedScene(BARE, budget="6.1")
    numbers = [stage.rent("bare") for _ in range(machines)]
    stage.scene.pass_time(HORIZON)
    assert stage.ask(act.Extend(numbers[0])).until - stage.scene.at == ahead


def test_without_a_budget_leases_are_extended_far_ahead():
    stage = GuardedScene(Offer("fine", ZERO, SECOND))
    machine = stage.rent("fine")
    stage.scene.pass_time(HORIZON)
    assert stage.ask(act.Extend(machine)).until == HORIZON + FAR_HORIZON


def test_the_last_extension_is_as_long_as_the_money_lasts():
    stage = GuardedScene(BARE, budget="0.007")
    machine = stage.rent("bare")
    stage.scene.pass_time(HORIZON)
    assert stage.ask(act.Extend(machine)).until == 7 * SECOND
    stage.scene.pass_time(2 * SECOND)
    assert isinstance(stage.ask(act.Extend(machine)), ev.ReleaseOrdered)


def test_an_extension_covers_at_least_the_next_release():
    stage = GuardedScene(BARE, lead=20 * SECOND, budget="0.022")
    machine = stage.rent("bare")
    assert stage.scene.state.machines[machine].until == 21 * SECOND
    stage.scene.pass_time(SECOND)
    assert stage.ask(act.Extend(machine)).until == 22 * SECOND
    stage.scene.pass_time(SECOND)
    assert isinstance(stage.ask(act.Extend(machine)), ev.ReleaseOrdered)


# --- releasing -----------------------------------------------------------------------------------


def test_a_machine_is_released_at_once_or_marked_for_the_end_of_its_paid_time():
    stage = GuardedScene(HOURLY, budget="1")
    first, second = stage.rent(), stage.rent()
    assert stage.ask(act.Release(first, reason="idle")) == ev.ReleaseMarked(0, first, "idle")
    at_once = stage.ask(act.Release(second, at_once=True, reason="idle"))
    assert at_once == ev.ReleaseOrdered(0, second, "idle")


def test_a_marked_machine_is_released_when_its_paid_time_ends_even_if_somebody_extends_it():
    stage = GuardedScene(HOURLY, budget="1")
    machine = stage.rent()
    stage.ask(act.Release(machine))
    assert stage.refusal(act.Release(machine)) == "it was marked for release before"
    stage.scene.pass_time(HOUR)
    released = stage.ask(act.Extend(machine))
    assert released == ev.ReleaseOrdered(HOUR, machine, "its paid time ends, as decided before")


def test_a_marked_machine_may_still_be_released_at_once():
    stage = GuardedScene(HOURLY, budget="1")
    machine = stage.rent()
    stage.ask(act.Release(machine))
    assert isinstance(stage.ask(act.Release(machine, at_once=True)), ev.ReleaseOrdered)


def test_at_the_end_of_its_paid_time_a_release_is_at_once():
    stage = GuardedScene(HOURLY, lead=MINUTE, budget="1")
    machine = stage.rent()
    stage.scene.pass_time(HOUR - MINUTE)
    assert isinstance(stage.ask(act.Release(machine)), ev.ReleaseOrdered)


@pytest.mark.parametrize("kind", [act.Extend, act.Release])
def test_machines_that_leave_or_never_were_are_gone(kind):
    stage = GuardedScene(HOURLY, budget="1")
    machine = stage.rent()
    stage.scene.release(machine)
    assert stage.refusal(kind(machine)) == "the machine is gone"
    assert stage.refusal(kind(99)) == "the machine is gone"


# --- machines that are not available, or not for long ---------------------------------------------


def test_an_offer_that_was_not_available_is_asked_for_after_a_pause():
    stage = GuardedScene(HOURLY, FREE, tasks=1)
    stage.scene.down(stage.rent(up=False), "refused")
    assert "after a pause" in stage.refusal(act.Rent("hourly"))
    assert isinstance(stage.review(act.Rent("free")), ev.MachineRented)
    stage.scene.pass_time(15 * SECOND)
    assert isinstance(stage.review(act.Rent("hourly")), ev.MachineRented)


def test_machines_whose_loss_is_announced_count_until_they_are_gone():
    stage = GuardedScene(HOURLY, tasks=1)
    first, *_ = (stage.rent() for _ in range(3))
    stage.scene.announce_loss(first, MINUTE)
    assert "limit of 3 machines" in stage.refusal(act.Rent("hourly"))
    stage.scene.down(first, "lost")
    assert isinstance(stage.review(act.Rent("hourly")), ev.MachineRented)


def test_nothing_is_started_on_a_machine_whose_loss_is_announced():
    stage = GuardedScene(HOURLY, tasks=1)
    machine = stage.rent()
    stage.scene.announce_loss(machine, MINUTE)
    assert stage.refusal(act.Start(1, machine)) == "the machine has no free slot"
