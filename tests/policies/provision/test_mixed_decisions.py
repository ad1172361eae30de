"""What is decided on two pools at the start of the tail, and before it."""

import msgspec
import numpy as np
import pytest
from tests.policies.provision.pools import (
    CALM,
    MARKET,
    SPOT,
    STRATEGY,
    SURE,
    decide,
    fleet_of,
    policy_for,
)

from bursar.engine.roles import Policy
from bursar.model.errors import InputError
from bursar.model.goal import Goal
from bursar.model.market import Market
from bursar.model.money import Money
from bursar.model.strategy import INTERIM, read_strategy
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import Bag
from bursar.plan.pools.estimator import Conditions, Price
from bursar.policies.advise.tail import Advice, Situation, TailAdvisor, choose
from bursar.policies.place.pooled import PooledPlacer
from bursar.policies.provision.mixed import Mixed
from bursar.policies.replicate.ntdmr import Ntdmr
from bursar.simulate.run import simulate
from bursar.simulate.unreliable import Overlay
from bursar.state import events as ev

# --- the decision at the start of the tail -------------------------------------------------------


def test_the_strategy_is_chosen_once_when_the_tail_begins_and_reported_with_its_reason():
    state, events = decide("makespan*cost")
    [(event, left)] = [one for one in events if not one[0].strategy.is_interim]
    assert left < SPOT.limit
    assert event.why.startswith("makespan*cost, of ")
    assert event.makespan > 0
    assert event.cost > 0
    assert state.done == 40


def test_a_choice_by_hand_is_followed():
    seen = []

    def ask(advice):
        seen.append(advice)
        return len(advice.points) - 1

    _, events = decide(ask=ask)
    [advice] = seen
    assert events[0][0].strategy == advice.strategies[-1]
    assert "chosen by hand" in events[0][0].why


def test_the_cheapest_costs_less_and_the_fastest_takes_less_time():
    cheap, fast = (decide(wish)[0] for wish in ("cheapest", "fastest"))
    assert cheap.ledger.committed < fast.ledger.committed
    assert cheap.last_settled > fast.last_settled


def test_where_money_is_short_a_cheaper_one_is_chosen_and_that_is_said():
    rich, before = decide("fastest")
    budget = Money(rich.ledger.committed.nanos // 2)
    state, after = decide("fastest", budget=str(budget))
    assert all("within the budget" in event.why for event, _ in after)
    assert after[0][0].strategy.ratio < before[0][0].strategy.ratio, "already before the tail"
    assert state.ledger.committed <= budget


def test_a_static_strategy_gets_its_times_from_the_run():
    _, events = decide(asked=read_strategy("AUR"))
    strategy = events[0][0].strategy
    assert strategy.name == "AUR"
    assert 30 * MINUTE < strategy.deadline < HOUR


def test_without_reliable_machines_a_strategy_without_them_is_chosen():
    _, events = decide(market=Market("USD", "undated", (SPOT,)))
    assert events[0][0].strategy.copies is None


# --- the decision before the tail ----------------------------------------------------------------


def test_with_a_wish_reliable_machines_help_a_scarce_pool_before_the_tail():
    class Few(Overlay):
        def boot(self, machine):
            is_more = machine.offer.name == "spot" and machine.id > 1
            return None if is_more else super().boot(machine)

    near = msgspec.structs.replace(SURE, price=Money.parse("0.03"))
    market = Market("USD", "undated", (SPOT, near))
    state, events = decide("makespan*cost", behaviour=Few(CALM), market=market)
    assert events[0][0].strategy.name == INTERIM
    assert "4 reliable slots beside 8 unreliable slots until the tail" in events[0][0].why
    assert "scarce" in events[0][0].why
    assert events[0][1] > 30
    assert state.done == 40
    _, undecided = decide(None, behaviour=Few(CALM), market=market)
    assert all(event.strategy.name != INTERIM for event, _ in undecided)


class Reliable:
    """When reliable machines were rented, why, and how many tasks were left."""

    def __init__(self):
        self.rented = []

    def saw(self, event, state):
        if isinstance(event, ev.MachineRented) and event.offer == "sure":
            self.rented.append((state.total - state.done, event.reason))


def rented_with(wish, budget=None):
    """Reliable machines beside a calm pool with machines for all who ask."""
    policy, seen = policy_for(MARKET), Reliable()
    advisors = (TailAdvisor(policy.provisioner, wish),)
    policy = msgspec.structs.replace(policy, advisors=advisors)
    goal = Goal(None if budget is None else Money.parse(budget))
    state = simulate(MARKET, goal, Bag(40), policy, CALM, observers=[seen])
    assert state.done == 40
    return state.last_settled, state.ledger.committed, seen.rented


def test_a_preference_counts_before_the_tail_and_reliable_machines_say_so():
    slow, cheap, none = rented_with("cheapest")
    quick, dear, all_of_them = rented_with("fastest")
    assert not [left for left, _ in none if left >= SPOT.limit]
    assert [left for left, _ in all_of_them[:4]] == [40] * 4, "from the beginning"
    assert {why for _, why in all_of_them[:4]} == {
        "fastest: 4 reliable slots beside 8 unreliable slots until the tail"
    }
    assert quick < 0.8 * slow
    assert dear > cheap
    _, paid, some = rented_with("fastest", budget=str(Money(dear.nanos * 3 // 4)))
    assert paid <= Money(dear.nanos * 3 // 4)
    assert 0 < sum(left >= SPOT.limit for left, _ in some) < 4
    assert "fastest within the budget" in some[0][1]


def test_a_preference_for_no_reliable_machine_is_reported_too():
    _, events = decide("cheapest", behaviour=CALM)
    assert events[0][0].why == (
        "cheapest: no reliable machine beside 8 unreliable slots until the tail"
    )
    assert events[0][0].strategy.is_interim


def test_as_published_reliable_machines_wait_for_the_tail_whatever_is_preferred():
    guide = Mixed(MARKET, fleet_of(MARKET), faithful=True)
    seen = Reliable()
    policy = Policy(guide, PooledPlacer(), Ntdmr(guide), (TailAdvisor(guide, "fastest"),))
    simulate(MARKET, Goal(), Bag(40), policy, CALM, observers=[seen])
    assert all(left < SPOT.limit for left, _ in seen.rented)


def test_a_wish_is_about_the_whole_run():
    conditions = Conditions(
        tasks=2,
        unreliable=4,
        reliability=0.9,
        turnarounds=np.array([SECOND], dtype=np.int64),
        reliable_time=SECOND,
        unreliable_price=Price(Money.parse("1")),
        reliable_price=Price(Money.parse("1")),
    )
    points = [(100.0, 1.0), (50.0, 3.0)]
    for spent, best in ((0.0, 0), (1_000.0, 1)):
        situation = Situation(conditions, 1.0, None, None, "USD", 0.0, spent, 10)
        advice = Advice(situation, [STRATEGY, STRATEGY], points, 2)
        assert choose(advice, "makespan*cost")[0] == best


@pytest.mark.parametrize("market", [MARKET, Market("USD", "undated", (SPOT,))])
def test_where_no_frontier_can_be_made_that_is_reported_and_the_run_goes_on(market, monkeypatch):
    def fail(situation, seed):
        raise InputError("no estimate")

    monkeypatch.setattr("bursar.policies.advise.tail.advise", fail)
    state, [(event, _)] = decide(market=market)
    assert "no frontier could be made (no estimate)" in event.why
    assert state.done == 40
