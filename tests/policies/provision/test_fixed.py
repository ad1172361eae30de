from __future__ import annotations

from random import Random

import pytest
from tests.policies.wishes import rented_offers

from bursar.model.goal import Account, Budget, Goal
from bursar.model.market import Offer
from bursar.model.money import ZERO, Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import Bag, Work
from bursar.policies.provision.fixed import Fixed
from bursar.state import events as ev
from bursar.state.actions import Extend, Release, Rent, Stop, Wake
from bursar.testing import Scene

SMALL = Offer("small", Money.parse("0.10"))
LARGE = Offer("large", Money.parse("0.30"), slots=4)
SECONDS = Offer("seconds", Money.parse("0.001"), SECOND)


def wishes(scene, **fleet):
    return list(Fixed(fleet).provision(scene.state, scene.at, Random(0)))


def rents(scene, **fleet):
    found = wishes(scene, **fleet)
    assert all(isinstance(wish, Rent) for wish in found)
    return rented_offers(found)


def test_the_whole_fleet_is_asked_for_one_of_each_offer_in_turn():
    scene = Scene(SMALL, LARGE, tasks=100, budget="9")
    assert rents(scene, small=3, large=1) == ["small", "large", "small", "small"]


def test_no_more_machines_than_there_are_tasks_for_them():
    scene = Scene(SMALL, LARGE, tasks=6, budget="9")
    assert rents(scene, small=9) == ["small"] * 6
    assert rents(scene, large=9) == ["large"] * 2
    assert rents(scene, large=9, small=9) == ["large", "small", "large"]


def test_free_slots_of_machines_that_are_there_count():
    scene = Scene(SMALL, LARGE, tasks=6, budget="9")
    machine = scene.rent("large")
    assert rents(scene, small=9, large=1) == ["small"] * 2
    scene.up(machine)
    scene.start(1, machine)
    assert rents(scene, small=9, large=1) == ["small"] * 2
    scene.release(machine)
    assert rents(scene, small=9, large=0) == ["small"] * 5


def test_only_what_can_be_paid_is_asked_for():
    scene = Scene(SMALL, LARGE, tasks=50, budget="0.55")
    assert rents(scene, large=2, small=9) == ["large", "small", "small"]


def test_lost_machines_are_replaced():
    scene = Scene(SMALL, tasks=5, budget="9")
    scene.down(scene.rent(), "lost")
    scene.rent()
    assert rents(scene, small=2) == ["small"]


def test_a_fleet_that_cannot_be_paid_is_given_up_when_nothing_of_it_is_left():
    scene = Scene(SMALL, LARGE, tasks=5, budget="0.35")
    machine = scene.rent("large")
    scene.down(machine)
    assert wishes(scene, large=1) == []
    scene = Scene(SMALL, LARGE, tasks=5, budget="0.45")
    machine = scene.rent("large")
    assert wishes(scene, large=2) == []
    scene.down(machine)
    assert wishes(scene, large=2) == [Stop("5 tasks left, and $0.15 buys no machine of the fleet")]


@pytest.mark.parametrize("arrivals_open", [True, False])
def test_an_idle_machine_is_given_back_at_once_where_that_saves_money(arrivals_open):
    scene = Scene(SMALL, SECONDS, budget="9", arrivals_open=arrivals_open)
    scene.machine("small")
    number = scene.machine("seconds", stay=10 * MINUTE)
    scene.pass_time(MINUTE)
    saved = [Release(number, at_once=True, reason="idle, and nothing is left to start")]
    assert wishes(scene, small=1, seconds=1) == ([] if arrivals_open else saved)


def test_a_machine_at_work_is_not_given_back():
    scene = Scene(Offer("seconds", Money.parse("0.001"), SECOND, slots=2), tasks=1, budget="9")
    scene.start(1, scene.machine(stay=HOUR))
    assert wishes(scene, seconds=1) == []


def test_machines_are_kept_while_they_work_or_may():
    scene = Scene(SMALL, tasks=2, budget="9")
    number = scene.machine()
    policy, machine = Fixed({"small": 1}), scene.state.machines[number]
    assert policy.renew(machine, scene.state, HOUR) == Extend(number)
    attempt = scene.start(1, number)
    scene.start(2, scene.machine())
    assert policy.renew(machine, scene.state, HOUR) == Extend(number)
    scene.end(attempt)
    answer = policy.renew(machine, scene.state, HOUR)
    assert answer == Release(number, reason="idle, and nothing is left to start")


def test_an_idle_machine_is_kept_for_later_work_only_if_it_costs_nothing():
    for price, kind in ((ZERO, Extend), (Money.parse("0.01"), Release)):
        scene = Scene(Offer("small", price), budget="9", arrivals_open=True)
        number = scene.machine()
        machine = scene.state.machines[number]
        assert isinstance(Fixed({"small": 1}).renew(machine, scene.state, HOUR), kind)


def test_a_machine_whose_loss_is_announced_is_replaced_at_once():
    scene = Scene(SMALL, tasks=3, budget="9")
    first, second = scene.machine(), scene.machine()
    scene.start(1, first)
    scene.start(2, second)
    assert rents(scene, small=2) == []
    scene.announce_loss(first, 2 * MINUTE)
    assert rents(scene, small=2) == ["small"]


def test_others_are_asked_for_where_one_offer_is_not_available():
    scene = Scene(SMALL, LARGE, tasks=8, budget="9")
    scene.down(scene.rent("small"), "refused")
    assert rents(scene, small=8, large=2) == ["large"] * 2
    assert rents(scene, small=8) == []
    scene.pass_time(MINUTE)
    assert rents(scene, small=8) == ["small"] * 8


def shared(ann=None, bob=None):
    """A run of two accounts with three tasks each."""
    scene = Scene(SMALL, SECONDS, arrivals_open=True)
    budgets = {"ann": ann, "bob": bob}
    accounts = tuple(
        Account(name, None if money is None else Budget(Money.parse(money)))
        for name, money in budgets.items()
    )
    scene.tell(ev.GoalChanged(0, Goal(accounts=accounts)))
    for name in budgets:
        scene.tell(ev.WorkArrived(0, Work(Bag(3), name)))
    return scene


def test_each_account_has_the_fleet_as_far_as_its_tasks_and_its_money_reach():
    why = "to fill the fleet"
    assert wishes(shared(), small=2) == [
        Rent("small", 2, "ann", why),
        Rent("small", 2, "bob", why),
    ]
    assert wishes(shared(ann="0.10"), small=9) == [
        Rent("small", 1, "ann", why),
        Rent("small", 3, "bob", why),
    ]
    scene = shared()
    scene.tell(ev.MachineRented(0, 1, "small", HOUR, "", "bob"))
    assert wishes(scene, small=1) == [Rent("small", 1, "ann", why)]


def test_a_machine_whose_account_has_nothing_ready_leaves_though_others_have():
    scene = shared()
    scene.tell(ev.ArrivalsEnded(0))
    for number, account in enumerate(("ann", "ann", "ann", "bob"), 1):
        scene.tell(ev.MachineRented(0, number, "seconds", 9 * SECOND, "", account))
        scene.up(number)
    for task in (1, 2, 3):
        scene.end(scene.start(task, task))
    scene.pass_time(SECOND)
    fixed, released = Fixed({"seconds": 3}), "idle, and nothing is left to start"
    found = list(fixed.provision(scene.state, scene.at, Random(0)))
    assert [wish for wish in found if isinstance(wish, Release)] == [
        Release(number, at_once=True, reason=released) for number in (1, 2, 3)
    ]
    ann, bob = scene.state.machines[1], scene.state.machines[4]
    assert fixed.renew(ann, scene.state, scene.at) == Release(1, reason=released)
    assert fixed.renew(bob, scene.state, scene.at) == Extend(4)


def idle_of_ann(limit=None, count=2):
    """A service with idle machines of ann, paid for ten minutes; all she had is done."""
    limited = Offer("seconds", Money.parse("0.001"), SECOND, limit=limit)
    scene = Scene(limited, SMALL, arrivals_open=True)
    accounts = (Account("ann"), Account("bob", Budget(Money.parse("9"))))
    scene.tell(ev.GoalChanged(0, Goal(accounts=accounts)))
    scene.tell(ev.WorkArrived(0, Work(Bag(1), "ann")))
    for number in range(1, count + 1):
        scene.tell(ev.MachineRented(scene.at, number, "seconds", 10 * MINUTE, "", "ann"))
        scene.up(number)
    scene.end(scene.start(1, 1))
    return scene


def test_an_idle_machine_of_a_service_is_given_back_when_a_new_one_would_be_up_as_soon():
    """Its lease is paid for minutes: the rest of it comes back."""
    scene, fixed = idle_of_ann(), Fixed({"seconds": 2})
    (wake,) = fixed.provision(scene.state, scene.at, Random(0))
    assert wake == Wake(scene.at + 5 * SECOND)
    scene.pass_time(SECOND)
    assert fixed.provision(scene.state, scene.at, Random(0)) == [], "it is asked then"
    scene.pass_time(4 * SECOND)
    assert list(fixed.provision(scene.state, scene.at, Random(0))) == [
        Release(number, at_once=True, reason="idle, and nothing is left to start")
        for number in (1, 2)
    ]


def test_idle_machines_of_one_user_do_not_keep_another_waiting():
    scene, fixed = idle_of_ann(limit=2), Fixed({"seconds": 2})
    scene.tell(ev.WorkArrived(scene.at, Work(Bag(1), "bob")))
    wished = fixed.provision(scene.state, scene.at, Random(0))
    found = [one for one in wished if isinstance(one, Release)]
    why = "idle, and another user's tasks wait for such a machine"
    (number,) = (one.machine for one in found)
    assert found == [Release(number, at_once=True, reason=why)]
    scene.release(number)
    scene.down(number)
    assert Rent("seconds", 1, "bob", "to fill the fleet") in fixed.provision(
        scene.state, scene.at, Random(0)
    )


def test_who_cannot_pay_gets_no_room_made():
    scene, fixed = idle_of_ann(limit=2), Fixed({"seconds": 2})
    accounts = (Account("ann"), Account("bob", Budget(Money.parse("0.0001"))))
    scene.tell(ev.GoalChanged(scene.at, Goal(accounts=accounts)))
    scene.tell(ev.WorkArrived(scene.at, Work(Bag(1), "bob")))
    assert not any(
        isinstance(one, Release) for one in fixed.provision(scene.state, scene.at, Random(0))
    )
