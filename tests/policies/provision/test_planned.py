"""`planned`: the fleet of a chosen plan, and what happens where it does not do."""

from __future__ import annotations

from random import Random

import pytest

from bursar.engine.roles import Policy
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE
from bursar.model.work import Bag
from bursar.policies.place.fitting import FittingPlacer
from bursar.policies.provision.fixed import Fixed
from bursar.policies.provision.planned import FOREVER, Planned
from bursar.policies.replicate.at_risk import AtRisk
from bursar.simulate.faults import ModelledBehaviour, given
from bursar.simulate.run import simulate
from bursar.testing import Scene, check_provisioner

CHEAP = Offer("cheap", Money.parse(1), HOUR, limit=10)
DEAR = Offer("dear", Money.parse(4), HOUR, limit=10, speed=1.5)


def run(fleet, budget, minutes, tasks=100, deadline=None):
    """Tasks take so many minutes on a cheap machine; a sample told some of it."""
    planned = Planned(fleet)
    for offer in (CHEAP, DEAR):
        for share in (0.9, 1.0, 1.1):
            planned.progress.of(offer.name).add(round(share * minutes * MINUTE / offer.speed))
    rng = Random(0)
    runtimes = [round(rng.uniform(0.9, 1.1) * minutes * MINUTE) for _ in range(tasks)]
    state = simulate(
        Market("USD", "2026", (CHEAP, DEAR)),
        Goal(Money.parse(budget), deadline),
        Bag(tasks),
        Policy(planned, FittingPlacer(planned), AtRisk(planned)),
        ModelledBehaviour(given(runtimes)),
    )
    state.check()
    return state, planned


def test_it_keeps_the_contract_of_a_provisioner():
    check_provisioner(
        lambda market: Planned({offer.name: offer.limit or 2 for offer in market.offers}), worlds=20
    )


def test_the_fleet_that_was_chosen_is_rented_and_kept():
    state, planned = run({"cheap": 3, "dear": 1}, "60", minutes=10)
    assert planned.is_followed
    assert state.done == 100
    assert state.machines_rented == 4


def test_a_plan_that_the_money_does_not_finish_is_left_for_cheaper_machines():
    """Dear machines would leave many tasks undone."""
    state, planned = run({"dear": 8}, "90", minutes=30)
    assert not planned.is_followed
    assert state.done == 100
    assert state.ledger.committed <= Money.parse(90)
    assert {charge.offer.name for charge in state.ledger.charges()} == {"cheap", "dear"}


def test_round_robin_would_not_have_finished_it():
    market = Market("USD", "2026", (CHEAP, DEAR))
    rng = Random(0)
    runtimes = [round(rng.uniform(0.9, 1.1) * 30 * MINUTE) for _ in range(100)]
    fixed = Fixed({"dear": 8})
    policy = Policy(fixed, FittingPlacer(Planned({})), AtRisk(Planned({})))
    behaviour = ModelledBehaviour(given(runtimes))
    state = simulate(market, Goal(Money.parse(90)), Bag(100), policy, behaviour)
    assert state.done < 100


def test_a_plan_that_would_miss_the_deadline_is_left_for_faster_machines():
    late, _ = run({"cheap": 4}, "100", minutes=20)
    assert late.last_settled > 8 * HOUR
    state, planned = run({"cheap": 4}, "100", minutes=20, deadline=5 * HOUR)
    assert not planned.is_followed
    assert state.done == 100
    assert state.last_settled <= 5 * HOUR


@pytest.mark.parametrize("followed", [True, False])
def test_machines_of_a_plan_that_is_followed_stay_for_good(followed):
    scene = Scene(CHEAP, tasks=9)
    machine = scene.state.machines[scene.machine("cheap")]
    planned = Planned({"cheap": 1})
    planned.is_followed = followed
    assert planned.stays_until(machine) == (FOREVER if followed else machine.until)
