"""What all autoscalers share: decisions every interval, machines that come and go with demand."""

from __future__ import annotations

from random import Random

import pytest
from msgspec.structs import replace

from bursar.engine.roles import Policy
from bursar.model.goal import Account, Budget, Goal, Limits
from bursar.model.market import Market, Offer
from bursar.model.money import ZERO, Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import Bag, Work
from bursar.policies.autoscaling import Autoscaler, WantedFleet
from bursar.policies.place.fifo import FifoPlacer
from bursar.policies.provision.react import React
from bursar.policies.replicate.none import NoReplicas
from bursar.report.decisions import decisions
from bursar.simulate.faults import ModelledBehaviour
from bursar.simulate.run import simulate
from bursar.state import events as ev
from bursar.state.actions import Extend, Release, Rent, Scale, Wake
from bursar.state.read_only import view_of
from bursar.state.state import RunState
from bursar.testing import Scene

HOURLY = Offer("hourly", Money.parse("1"), HOUR, limit=9)
SECONDS = Offer("seconds", Money.parse("0.001"), SECOND, limit=9)
LARGE = Offer("large", Money.parse("0.003"), SECOND, slots=4, limit=2)


class WantsFleet(Autoscaler):
    """Wants what the test says."""

    def __init__(self, market, **fleet):
        super().__init__(market)
        self.fleet = fleet

    def wanted(self, view, now, account, rng):
        return WantedFleet(self.fleet, "wished for", {"moon": 1.0})


def market_of(*offers):
    return Market("USD", "undated", offers)


def actions(entry, scene):
    return list(entry.provision(scene.state, scene.at, Random(0)))


def test_a_decision_is_reported_with_what_was_seen_and_why():
    scene = Scene(SECONDS, tasks=5, arrivals_open=True)
    reported, rent, wake = actions(WantsFleet(market_of(SECONDS), seconds=3), scene)
    assert reported == Scale({"seconds": 3}, 5, 0, "", {"moon": 1.0}, "wished for")
    assert rent == Rent("seconds", 3, reason="wished for")
    assert wake == Wake(30 * SECOND)


def test_nothing_is_decided_within_an_interval():
    scene, entry = (
        Scene(SECONDS, tasks=5, arrivals_open=True),
        WantsFleet(market_of(SECONDS), seconds=3),
    )
    assert actions(entry, scene)
    scene.pass_time(29 * SECOND)
    assert actions(entry, scene) == []
    scene.pass_time(SECOND)
    assert actions(entry, scene)


def test_machines_that_boot_count_as_there():
    scene = Scene(SECONDS, tasks=5, arrivals_open=True)
    scene.rent()
    assert Rent("seconds", 2, reason="wished for") in actions(
        WantsFleet(market_of(SECONDS), seconds=3), scene
    )


def test_the_longest_idle_machines_leave_and_busy_ones_stay():
    scene, entry = (
        Scene(SECONDS, tasks=1, arrivals_open=True),
        WantsFleet(market_of(SECONDS), seconds=4),
    )
    old, busy, young = scene.machine(), scene.machine(), scene.machine()
    scene.start(1, busy)
    actions(entry, scene)
    scene.pass_time(29 * SECOND)
    last = scene.machine()
    actions(entry, scene)
    scene.pass_time(SECOND)
    entry.fleet = {"seconds": 1}
    found = [one.machine for one in actions(entry, scene) if isinstance(one, Release)]
    assert found == [old, young, last]
    entry.fleet = {"seconds": 3}
    scene.pass_time(30 * SECOND)
    found = [one.machine for one in actions(entry, scene) if isinstance(one, Release)]
    assert found == [old]


def test_a_machine_that_is_paid_for_stays_to_the_end_of_its_unit():
    scene, entry = (
        Scene(HOURLY, tasks=1, arrivals_open=True),
        WantsFleet(market_of(HOURLY), hourly=0),
    )
    machine = scene.machine()
    assert not any(isinstance(one, Release) for one in actions(entry, scene))
    scene.pass_time(HOUR)
    assert isinstance(entry.renew(scene.state.machines[machine], scene.state, scene.at), Release)
    scene.pass_time(30 * SECOND)
    entry.fleet = {"hourly": 1}
    actions(entry, scene)
    assert entry.renew(scene.state.machines[machine], scene.state, scene.at) == Extend(machine)


def rented(entry, scene):
    return sum(one.count for one in actions(entry, scene) if isinstance(one, Rent))


def test_long_units_are_rented_little_by_little():
    """A quarter of what is lacking in each 30 s of an hour, so that demand may pass meanwhile."""
    scene, entry = (
        Scene(HOURLY, tasks=1, arrivals_open=True),
        WantsFleet(market_of(HOURLY), hourly=9),
    )
    scale, rent, _ = actions(entry, scene)
    assert rent.count == 3
    assert scale.fleet == {"hourly": 3}
    assert "6 machines later, since their paid units are long" in scale.reason
    found = []
    for lacking in (6, 4, 3, 2, 1):
        for _ in range(9 - lacking - sum(found)):
            scene.rent()
            found.append(1)
        scene.pass_time(30 * SECOND)
        assert rented(entry, scene) == -(-lacking // 4)
    entry.fleet = {"hourly": 8}
    scene.pass_time(30 * SECOND)
    assert rented(entry, scene) == 0, "what is no longer wanted was never paid"


def test_short_units_free_ones_and_released_ones_are_rented_at_once():
    free = replace(HOURLY, price=ZERO)
    for offer, how in ((SECONDS, "paid"), (free, "paid"), (HOURLY, "at-once")):
        entry = React(market_of(offer), release=how, rate=1.0)
        entry.slots = lambda *facts: (9, "nine")
        assert rented(entry, Scene(offer, tasks=1, arrivals_open=True)) == 9


def test_as_published_it_leaves_at_once():
    scene = Scene(HOURLY, tasks=1, arrivals_open=True)
    machine = scene.machine()
    entry = React(market_of(HOURLY), release="at-once", rate=1.0)
    entry.slots = lambda *facts: (0, "none")
    assert any(isinstance(one, Release) and one.machine == machine for one in actions(entry, scene))


def test_slots_come_from_the_offers_that_cost_least_within_their_limits():
    entry, scene = React(market_of(SECONDS, LARGE)), Scene(SECONDS, LARGE, tasks=10)
    actions(entry, scene)
    assert entry.fleet_of(9, "") == {"large": 2, "seconds": 1}
    assert entry.fleet_of(0, "") == {"large": 0, "seconds": 0}
    assert entry.fleet_of(99, "") == {"large": 2, "seconds": 9}
    few = React(market_of(SECONDS, LARGE), {"large": 1})
    actions(few, scene)
    assert few.fleet_of(9, "") == {"large": 1, "seconds": 0}


def bursts():
    """Ten tasks of five minutes, and as many an hour later."""
    return [ev.WorkArrived(at, Work(Bag(10))) for at in (0, HOUR)]


def behaviour():
    return ModelledBehaviour(lambda task, machine: 5 * MINUTE)


def test_the_fleet_follows_demand_up_and_down():
    events = []

    class Witness:
        def saw(self, event, state):
            events.append(event)

    policy = Policy(React(market_of(SECONDS)), FifoPlacer(), NoReplicas())
    state = simulate(
        market_of(SECONDS), Goal(), bursts(), policy, behaviour(), observers=[Witness()]
    )
    assert state.ended.status == "done"
    between = [e for e in events if isinstance(e, ev.ScaleDecided) and 15 < e.at / MINUTE < 59]
    assert {event.supply for event in between} == {2}, "no task, but two slots to spare"
    assert max(event.supply for event in events if isinstance(event, ev.ScaleDecided)) == 9
    reported = [one.line for one in decisions(events) if one.line.what.startswith("scale")]
    assert reported[0].what == "scale to 9 seconds"
    assert (
        reported[0].why == "the load, and 2 slots to spare; demand 10, supply 0, load 10, target 12"
    )


def test_an_account_gets_what_its_budget_pays_in_each_interval():
    goal = Goal(
        accounts=(Account("ann", Budget(Money.parse("0.06"), MINUTE)), Account("bob", None))
    )
    work = [
        ev.WorkArrived(0, Work(Bag(10), owner="ann")),
        ev.WorkArrived(0, Work(Bag(3), owner="bob")),
    ]
    policy = Policy(React(market_of(SECONDS), interval=MINUTE), FifoPlacer(), NoReplicas())
    quick = ModelledBehaviour(lambda task, machine: 20 * SECOND)
    state = simulate(market_of(SECONDS), goal, work, policy, quick)
    assert state.ended.status == "done"
    spent = [state.ledger.committed_in("ann", interval) for interval in range(30)]
    assert max(spent) <= Money.parse("0.06")
    assert sum(1 for one in spent if one) > 3, "it waits for money again and again"


@pytest.mark.parametrize("seed", range(6))
def test_an_account_without_work_spares_no_slots_that_another_waits_for(seed):
    few = replace(SECONDS, limit=2)
    goal = Goal(accounts=(Account("ann", None), Account("bob", None)))
    work = [
        ev.WorkArrived(0, Work(Bag(3), owner="ann")),
        ev.WorkArrived(5 * MINUTE, Work(Bag(3), owner="bob")),
    ]
    policy = Policy(React(market_of(few)), FifoPlacer(), NoReplicas())
    quick = ModelledBehaviour(lambda task, machine: 20 * SECOND)
    state = simulate(market_of(few), goal, work, policy, quick, seed=seed)
    assert state.ended.status == "done"
    assert state.now < 7 * MINUTE


def test_the_load_may_be_what_arrived_in_the_last_interval():
    work = [ev.WorkArrived(0, Work(Bag(6))), ev.WorkArrived(90 * SECOND, Work(Bag(2)))]
    react = React(market_of(SECONDS), interval=MINUTE, load="arrivals")
    events = []
    slow = ModelledBehaviour(lambda task, machine: 150 * SECOND)
    log = type("Log", (), {"saw": lambda self, event, state: events.append(event)})()
    policy = Policy(react, FifoPlacer(), NoReplicas())
    simulate(market_of(SECONDS), Goal(), work, policy, slow, observers=[log])
    loads = {e.at // MINUTE: e.inputs["load"] for e in events if isinstance(e, ev.ScaleDecided)}
    assert [loads[minute] for minute in range(3)] == [6, 0, 2]


def orders(seed):
    """The accounts of each decision, in the order in which it was made for them."""
    accounts = tuple(Account(name, None) for name in ("ann", "bob", "cid"))
    work = [ev.WorkArrived(0, Work(Bag(2), owner=account.name)) for account in accounts]
    found = {}

    class Log:
        def saw(self, event, state):
            if isinstance(event, ev.ScaleDecided):
                found.setdefault(event.at, []).append(event.account)

    slow = ModelledBehaviour(lambda task, machine: 10 * MINUTE)
    policy = Policy(React(market_of(SECONDS)), FifoPlacer(), NoReplicas())
    goal = Goal(accounts=accounts)
    simulate(market_of(SECONDS), goal, work, policy, slow, seed=seed, observers=[Log()])
    return [tuple(one) for one in found.values()]


def test_accounts_are_served_in_a_random_order_at_each_decision():
    found = orders(seed=1)
    assert len(found) >= 20
    assert all(sorted(one) == ["ann", "bob", "cid"] for one in found)
    assert {one[0] for one in found} == {"ann", "bob", "cid"}, "each comes first at times"
    assert orders(seed=1) == found != orders(seed=2)


@pytest.mark.parametrize(
    ("busy", "idle", "wanted", "payable"),
    [
        (2, 1, 5, 3),  # the money is for those that are there
        (2, 0, 5, 3),  # what busy ones leave is for a new one
        (1, 1, 5, 3),
        (0, 0, 5, 3),
        (3, 2, 5, 5),  # none is new, and none that is there counts as gone
        (2, 1, 2, 2),
    ],
)
def test_busy_machines_are_paid_before_idle_ones_and_those_before_new_ones(
    busy, idle, wanted, payable
):
    offer = Offer("minutes", Money.parse("1"), MINUTE, limit=9)
    market, state = market_of(offer), RunState()
    goal = Goal(Money.parse("3"), every=MINUTE)
    state.apply(ev.RunCreated(0, "r", market, goal, Limits(), 0, {}, {}, 0.0))
    state.apply(ev.WorkArrived(0, Work(Bag(9))))
    for machine in range(1, busy + idle + 1):
        state.apply(ev.MachineRented(0, machine, "minutes", MINUTE))
        state.apply(ev.MachineUp(0, machine))
        if machine <= busy:
            state.apply(ev.AttemptStarted(0, machine, machine, machine))
    entry = WantsFleet(market, minutes=wanted)
    reported, *_ = entry.provision(view_of(state), MINUTE, Random(0))
    assert reported.fleet == {"minutes": payable}
