"""`planned`: the fleet of a chosen plan, and what happens where it does not do."""

from __future__ import annotations

from random import Random

import pytest

from bursar.engine.roles import Policy
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import ZERO, Money
from bursar.model.time import HOUR, MINUTE
from bursar.model.work import Bag, Work
from bursar.policies.place.fitting import FittingPlacer
from bursar.policies.provision.fixed import Fixed
from bursar.policies.provision.planned import FOREVER, Planned
from bursar.policies.replicate.at_risk import AtRisk
from bursar.simulate.faults import ModelledBehaviour, given
from bursar.simulate.run import simulate
from bursar.state import events as ev
from bursar.state.read_only import view_of
from bursar.testing import Scene

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


def test_the_fleet_that_was_chosen_is_rented_and_kept():
    state, planned = run({"cheap": 3, "dear": 1}, "60", minutes=10)
    assert planned.is_followed
    assert state.done == 100
    assert state.machines_rented == 4


def test_works_with_plans_of_their_own_get_the_fleets_of_all_that_are_not_done():
    planned, scene = Planned({"cheap": 9}), Scene(CHEAP, DEAR, tasks=1, arrivals_open=True)

    def tell(event):
        scene.tell(event)
        planned.saw(event, scene.state)

    assert planned.fleet == {"cheap": 9}
    tell(ev.WorkArrived(0, Work(Bag(3))))
    for work, fleet in ((1, {"cheap": 2}), (2, {"cheap": 1, "dear": 1})):
        tell(ev.PlanChosen(0, "knee", fleet, 0, 0, ZERO, ZERO, work=work))
    assert planned.fleet == {"cheap": 3, "dear": 1}
    resumed = Planned({"cheap": 9})
    resumed.saw_before(view_of(scene.state))
    assert resumed.fleet == planned.fleet
    tell(ev.AttemptEnded(0, scene.start(1, scene.machine()), "success"))
    assert planned.fleet == {"cheap": 1, "dear": 1}


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
