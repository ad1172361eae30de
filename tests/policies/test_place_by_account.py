"""Placers for workloads keep the works and machines of several accounts apart."""

from __future__ import annotations

import pytest

from bursar.beliefs.estimates import GivenRunTimes
from bursar.engine.roles import Policy
from bursar.model.goal import Account, Budget, Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import MINUTE, SECOND
from bursar.policies.presets import FOR_SEVERAL_ACCOUNTS
from bursar.policies.provision.react import React
from bursar.policies.registry import make_placer
from bursar.policies.replicate.none import NoReplicas
from bursar.simulate.scaled import run_scaled
from bursar.simulate.workloads.generate import generate
from bursar.simulate.workloads.spec import Poisson, SizeClass, WorkloadSpec

OFFER = Offer("one", Money.parse("1"), MINUTE, limit=12, boot=3 * SECOND)
MARKET = Market("USD", "undated", (OFFER,))
GOAL = Goal(
    accounts=(
        Account("ann", Budget(Money.parse("5"), MINUTE)),
        Account("bob", Budget(Money.parse("4"), MINUTE)),
    )
)
WORKLOAD = generate(
    WorkloadSpec(
        kinds=(("montage", 1.0), ("sipht", 1.0)),
        count=6,
        seed=3,
        classes=(SizeClass(1.0, 24, 30),),
        totals=120.0,
        arrivals=Poisson(rate=0.05),
        owners=("ann", "bob"),
    )
)


def run_with(placer):
    speeds = {OFFER.name: OFFER.speed}
    policy = Policy(
        React(MARKET),
        make_placer(placer, {}, 2),
        NoReplicas(),
        runtimes=GivenRunTimes(WORKLOAD.arrays.runtimes.tolist(), speeds),
    )
    return run_scaled(WORKLOAD, MARKET, GOAL, policy)


@pytest.mark.parametrize(
    "placer", [name for name in FOR_SEVERAL_ACCOUNTS["placer"] if name not in ("follow", "random")]
)
def test_every_placer_serves_two_users_with_their_own_machines(placer):
    run = run_with(placer)
    assert run.state.ended.status == "done"
    owners = [WORKLOAD.arrivals[work].work.owner for work in WORKLOAD.arrays.work.tolist()]
    assert [run.stays[number].account for number in run.schedule.machine.tolist()] == owners
    for name, budget in GOAL.budgets().items():
        intervals = range(run.state.now // MINUTE + 1)
        assert max(run.state.ledger.committed_in(name, one) for one in intervals) <= budget.amount
