"""Machines that vanish under autoscalers: what is replaced, and which tasks go to reliable ones."""

from __future__ import annotations

from collections import Counter
from functools import partial

import pytest

from bursar.engine.roles import Policy
from bursar.model.goal import Budget, Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import Bag, Work
from bursar.policies.place.backfill import BackfillPlacer
from bursar.policies.place.fifo import FifoPlacer
from bursar.policies.place.priority import PriorityPlacer
from bursar.policies.provision.react import React
from bursar.policies.reliable_retries import RETRIES, ReliableRetries, with_reliable
from bursar.policies.replicate.none import NoReplicas
from bursar.simulate.faults import ModelledBehaviour, given
from bursar.simulate.run import simulate
from bursar.simulate.unreliable import MortalMachines
from bursar.state import events as ev
from bursar.state.attempts import CODES
from bursar.testing import check_placer

SURE = Offer("sure", Money.parse("1"), MINUTE, limit=20, boot=5 * SECOND)
SPOT = Offer("spot", Money.parse("0.3"), MINUTE, limit=20, boot=5 * SECOND, pool="unreliable")
BOTH = Market("USD", "undated", (SURE, SPOT))


class Rentals:
    def __init__(self):
        self.rented, self.lost = [], []

    def saw(self, event, state):
        if isinstance(event, ev.MachineRented):
            self.rented.append((event.at, event.offer))
        elif isinstance(event, ev.MachineDown) and event.cause == "lost":
            self.lost.append(event.at)


def run(placer, *, tasks=12, takes=MINUTE, life=40 * SECOND, market=BOTH, **given_options):
    """A bag with machines that vanish after a while; the state at its end, and what was rented."""
    goal = given_options.pop("goal", Goal())
    interval = given_options.pop("interval", 30 * SECOND)
    behaviour = MortalMachines(
        ModelledBehaviour(given([takes] * tasks)), {"spot": lambda _: life}, seed=1
    )
    log = Rentals()
    policy = Policy(React(market, interval=interval), placer, NoReplicas())
    arrivals = [ev.WorkArrived(0, Work(Bag(count=tasks)))]
    return simulate(market, goal, arrivals, policy, behaviour, observers=[log]), log


def losses(state):
    lost = (n for n in range(1, len(state.log) + 1) if state.log.outcome[n] == CODES["lost"])
    return Counter(state.log.task[number] for number in lost)


@pytest.mark.parametrize("inner", [FifoPlacer, PriorityPlacer, partial(BackfillPlacer, seed=1)])
def test_a_task_that_was_lost_twice_goes_to_reliable_machines(inner):
    state, _ = run(ReliableRetries(inner()))
    assert state.ended.status == "done"
    assert set(losses(state).values()) == {RETRIES}, "no task is short enough for a spot machine"
    offers = Counter(state.offer_of(state.log.machine[n]) for n in state.winners[1:])
    assert offers == {"sure": 12}


def test_tasks_that_are_short_enough_stay_on_unreliable_machines():
    state, log = run(ReliableRetries(FifoPlacer()), takes=20 * SECOND)
    assert state.ended.status == "done"
    assert {offer for _, offer in log.rented} == {"spot"}


def test_a_machine_that_was_lost_is_replaced_at_once_while_there_is_demand():
    _, log = run(FifoPlacer(), tasks=200, takes=20 * SECOND, interval=HOUR)
    first = log.lost[0]
    assert first < HOUR
    at_once = [at for at, _ in log.rented if at == first]
    assert len(at_once) == log.lost.count(first)


def test_machines_that_never_last_are_replaced_once_in_an_interval():
    goal = Goal(Money.parse("1000"))
    only = Market("USD", "undated", (SPOT,))
    state, log = run(FifoPlacer(), tasks=5, life=SECOND, market=only, goal=goal, interval=HOUR)
    assert state.ended.status != "done"
    by_hour = Counter(at // HOUR for at, _ in log.rented)
    assert max(by_hour.values()) <= 2 * (5 + 2), "the load and 2, each replaced once"


def test_a_budget_that_pays_no_reliable_machine_lets_tasks_stay_where_they_are():
    goal = Goal.within(Budget(Money.parse("0.9"), MINUTE))
    state, log = run(ReliableRetries(FifoPlacer()), tasks=4, takes=30 * SECOND, goal=goal)
    assert state.ended.status == "done"
    assert {offer for _, offer in log.rented} == {"spot"}
    assert max(state.ledger.committed_in("", n) for n in range(99)) <= Money.parse("0.9")


@pytest.mark.parametrize("inner", [PriorityPlacer, partial(BackfillPlacer, seed=1)])
def test_a_placer_with_reliable_retries_keeps_the_contract(inner):
    check_placer(lambda: ReliableRetries(inner()))


def test_unreliable_machines_make_room_for_reliable_slots():
    market = Market(
        "USD",
        "undated",
        (SURE, SPOT, Offer("wide", Money.parse("3"), MINUTE, slots=4, limit=1)),
    )
    limits = {"sure": 3, "spot": 20, "wide": 1}
    exchanged = partial(with_reliable, market=market, most=lambda offer: limits[offer.name])
    assert exchanged({"spot": 5}, 2) == {"spot": 1, "sure": 0, "wide": 1}
    assert exchanged({"spot": 5, "sure": 2}, 2)["sure"] == 2
    assert exchanged({"spot": 9}, 6) == {"spot": 3, "sure": 2, "wide": 1}
    assert exchanged({"spot": 1}, 99) == {"spot": 0, "sure": 3, "wide": 1}
