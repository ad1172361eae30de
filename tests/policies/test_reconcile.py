"""One function turns the fleet that is wanted into machines rented and given back."""

from __future__ import annotations

import pytest
from tests.policies.wishes import rented_offers

from bursar.model.errors import InputError
from bursar.model.goal import Account, Budget, Goal
from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.policies.reconcile import Target, give_back, give_up, reconcile
from bursar.state import events as ev
from bursar.state.actions import Release, Rent
from bursar.testing import Scene

SMALL = Offer("small", Money.parse("0.10"), HOUR, limit=3)
LARGE = Offer("large", Money.parse("0.40"), HOUR, slots=2)
FINE = Offer("fine", Money.parse("0.001"), SECOND)


def scene(budget=None, tasks=9):
    return Scene(SMALL, LARGE, FINE, tasks=tasks, budget=budget)


def rented(scene, fleet, **options):
    actions = reconcile(scene.state, Target(fleet=fleet, rent="wanted", **options), scene.at)
    assert all(action.reason for action in actions)
    return rented_offers(actions)


def released(scene, fleet):
    target = Target(fleet=fleet, rent="wanted", release="not wanted")
    actions = reconcile(scene.state, target, scene.at)
    return [action.machine for action in actions if isinstance(action, Release)]


def test_what_is_lacking_is_rented_offer_by_offer_or_in_turn():
    fleet = {"small": 2, "large": 2}
    assert rented(scene(), fleet) == ["small", "small", "large", "large"]
    assert rented(scene(), fleet, in_turn=True) == ["small", "large", "small", "large"]


def test_what_is_there_or_boots_is_not_rented_again():
    here = scene()
    here.machine("small")
    here.rent("large")
    assert rented(here, {"small": 2, "large": 1}) == ["small"]


def test_no_more_slots_are_rented_than_are_wanted():
    assert rented(scene(), {"large": 5}, slots=3) == ["large", "large"]
    assert rented(scene(), {"large": 5}, slots=0) == []


def test_nothing_is_asked_for_beyond_the_limit_of_an_offer():
    assert rented(scene(), {"small": 7}) == ["small"] * 3


@pytest.mark.parametrize(
    ("budget", "found"),
    [("0.65", ["small", "large", "small"]), ("0.35", ["small", "small"]), ("0.05", [])],
)
def test_nothing_is_asked_for_that_the_money_left_does_not_pay(budget, found):
    assert rented(scene(budget), {"small": 2, "large": 1}, in_turn=True) == found


def test_an_offer_that_was_refused_lately_is_left_out():
    here = scene()
    here.down(here.rent("small"), "refused")
    assert rented(here, {"small": 2, "large": 1}) == ["large"]
    here.pass_time(HOUR)
    assert rented(here, {"small": 2, "large": 1}) == ["small", "small", "large"]


def test_machines_beyond_the_fleet_leave_idle_ones_first_then_those_whose_paid_time_ends_first():
    here = scene()
    busy, longer, idle = here.machine("small"), here.machine("small"), here.machine("small")
    here.extend(longer, HOUR)
    here.start(1, busy)
    here.start(2, longer)
    assert released(here, {"small": 2}) == [idle]
    assert released(here, {"small": 1}) == [idle, busy]
    assert released(here, {}) == [idle, busy, longer]


def test_a_machine_that_was_let_go_is_no_part_of_the_fleet_but_counts_for_the_limit():
    here = scene()
    marked = here.machine("small")
    here.machine("small")
    here.mark(marked)
    target = Target(fleet={"small": 3}, rent="wanted", release="not wanted")
    assert reconcile(here.state, target, here.at) == [Rent("small", reason="wanted")]


def test_idle_machines_go_back_at_once_only_where_that_saves_money():
    here = scene()
    fine, hourly, busy = here.machine("fine", MINUTE), here.machine("small"), here.machine("fine")
    here.start(1, busy)
    here.pass_time(SECOND)
    given = give_back(here.state, [fine, hourly, busy], here.at, "idle")
    assert given == [Release(fine, at_once=True, reason="idle")]


def test_a_run_without_machines_ends_where_the_money_buys_none_of_the_fleet():
    (stop,) = give_up(scene("0.2", tasks=4).state, {"large": 2, "small": 0}, 0)
    assert stop.reason == "4 tasks left, and $0.20 buys no machine of the fleet"
    assert give_up(scene("0.2").state, {"small": 1}, 0) == []
    assert give_up(scene("0.0001").state, {"large": 1}, 0) == [], "bursar ends it itself"
    here = scene("0.2")
    here.machine("small")
    assert give_up(here.state, {"large": 1}, 0) == []


def test_money_that_comes_with_the_next_interval_is_waited_for():
    here = scene()
    here.tell(ev.GoalChanged(0, Goal(Money.parse("0.2"), every=HOUR)))
    assert give_up(here.state, {"large": 1}, 0) == []


def test_machines_of_one_offer_are_asked_for_at_once():
    target = Target(fleet={"small": 2, "large": 3}, rent="wanted")
    assert reconcile(scene().state, target, 0) == [
        Rent("small", 2, reason="wanted"),
        Rent("large", 3, reason="wanted"),
    ]


def test_a_provisioner_that_knows_no_accounts_serves_one_and_refuses_several():
    names = ("ann", "bob")
    here = scene()
    target = Target(fleet={"small": 1}, rent="wanted")
    here.tell(ev.GoalChanged(0, Goal(accounts=(Account("ann"),))))
    assert reconcile(here.state, target, 0) == [Rent("small", 1, "ann", "wanted")]
    here.tell(ev.GoalChanged(0, Goal(accounts=tuple(Account(name) for name in names))))
    reported = (
        "the run has 2 accounts, and this provisioner rents for one; fixed, .* can serve several"
    )
    with pytest.raises(InputError, match=reported):
        reconcile(here.state, target, 0)


def test_with_several_accounts_the_fleet_and_the_money_are_those_of_one():
    accounts = (
        Account("ann", Budget(Money.parse("0.25"))),
        Account("bob", Budget(Money.parse("9"))),
    )
    here = scene()
    here.tell(ev.GoalChanged(0, Goal(accounts=accounts)))
    here.tell(ev.MachineRented(0, 1, "small", HOUR, "", "bob"))

    def rents(account):
        target = Target(fleet={"small": 2}, rent="wanted")
        return reconcile(here.state, target, here.at, account)

    assert rents("ann") == [Rent("small", 2, "ann", "wanted")]
    assert rents("bob") == [Rent("small", account="bob", reason="wanted")]
    here.tell(ev.MachineRented(0, 2, "small", HOUR, "", "ann"))
    assert rents("ann") == [Rent("small", 1, "ann", "wanted")]
    spare = Target(fleet={}, rent="wanted", release="not wanted")
    assert reconcile(here.state, spare, here.at, "ann") == [Release(2, reason="not wanted")]
