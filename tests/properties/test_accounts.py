"""In no interval does an account commit more than its budget, whatever policies and clocks do."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.properties.test_conservation import offers

from bursar.engine.roles import Placer, Policy, Provisioner, Replicator
from bursar.model.goal import Account, Budget, Goal, Limits
from bursar.model.market import Market
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import Bag, Work
from bursar.policies.place.fifo import FifoPlacer
from bursar.policies.place.random import RandomPlacer
from bursar.policies.provision.bats import Bats
from bursar.policies.provision.fixed import Fixed
from bursar.policies.replicate.none import NoReplicas
from bursar.state import actions as act
from bursar.state import events as ev
from bursar.testing import Case, Hostile, play
from bursar.testing.broken import ContractBroken

NAMES = ("ann", "bob", "cleo")


class ByOwner(Provisioner, Placer, Replicator):
    """A policy that knows accounts: machines for those with ready tasks, and their tasks only."""

    def provision(self, view, now, rng):
        wanted = Counter(view.account_of(task) for task in view.ready)
        for account, tasks in wanted.items():
            for offer in view.market.offers:
                yield act.Rent(offer.name, min(3, tasks), account)

    def renew(self, machine, view, now):
        return act.Extend(machine.id)

    def place(self, view, now, rng):
        tasks = {name: [] for name in view.ledger.accounts}
        for task in view.ready:
            tasks[view.account_of(task)].append(task)
        for number in view.idle:
            machine = view.machines[number]
            free = machine.offer.slots - len(machine.attempts)
            for _ in range(min(free, len(tasks[machine.account]))):
                yield act.Start(tasks[machine.account].pop(), number)

    def replicate(self, view, now, rng):
        return ()


class Witness:
    """Sees whose machines run whose work, and starts that were refused for that."""

    def __init__(self):
        self.served = set()
        self.refused = []
        self.rented = 0

    def saw(self, event, state):
        self.rented += isinstance(event, ev.MachineRented)
        if isinstance(event, ev.AttemptStarted):
            owner = state.account_of(event.task)
            self.served.add((owner, state.machines[event.machine].account))
        elif isinstance(event, ev.ActionRefused) and event.action == "Start":
            self.refused.append(event.why)


@st.composite
def cases(draw):
    kinds = draw(st.lists(offers, min_size=1, max_size=3))
    named = [msgspec.structs.replace(o, name=f"offer{i}") for i, o in enumerate(kinds)]
    charges = [offer.entry_charge.nanos for offer in named]
    most = min(20 * max(charges), 500 * min(charges))
    lengths = st.sampled_from([None, 1, SECOND, 10 * SECOND, 97 * SECOND, 10 * MINUTE, HOUR])
    budgets = st.builds(Budget, st.integers(0, most).map(Money), lengths)
    accounts = [Account(name, draw(budgets)) for name in NAMES[: draw(st.integers(1, 3))]]
    works = draw(
        st.lists(
            st.tuples(st.sampled_from([a.name for a in accounts]), st.integers(1, 8)),
            min_size=1,
            max_size=4,
        )
    )
    apart = draw(st.sampled_from([0, MINUTE, HOUR]))
    bags = [
        ev.WorkArrived(n * apart, Work(Bag(count), owner)) for n, (owner, count) in enumerate(works)
    ]
    tasks = sum(count for _, count in works)
    lost = draw(st.lists(st.sampled_from(named), max_size=1))
    return Case(
        market=Market("USD", "2026-01-01", tuple(named)),
        goal=Goal(deadline=draw(st.integers(HOUR, 5 * HOUR)), accounts=tuple(accounts)),
        limits=Limits(draw(st.integers(0, 2)), draw(st.sampled_from([None, 10 * MINUTE]))),
        runtimes=tuple(draw(st.integers(1, 40 * MINUTE)) for _ in range(tasks)),
        outside=(*bags, ev.ArrivalsEnded(bags[-1].at)),
        failing=draw(st.sampled_from([0.0, 0.2])),
        mean_life={offer.name: draw(st.sampled_from([10 * SECOND, HOUR])) for offer in lost},
        jumpiness=draw(st.sampled_from([0.0, 0.1, 0.5])),
        lead=draw(st.sampled_from([0, SECOND // 4, 90 * SECOND])),
        notice=draw(st.sampled_from([0, 5 * SECOND])),
        scarcity=draw(st.sampled_from([0.0, 0.3, 0.8])),
        silence=draw(st.sampled_from([0.0, 0.3])),
        seed=draw(st.integers(0, 10**6)),
    )


@settings(max_examples=300)
@given(cases())
def test_no_hostile_policy_exceeds_a_budget_in_any_interval(case):
    hostile = Hostile(case.seed)
    play(case, Policy(hostile, hostile, hostile), most_steps=80)


@settings(max_examples=300)
@given(cases())
def test_no_account_pays_for_another_and_none_exceeds_its_budget(case):
    every = ByOwner()
    state = play(case, Policy(every, every, every), most_steps=150)
    assert {charge.account for charge in state.ledger.charges()} <= set(state.ledger.accounts)


@settings(max_examples=200)
@given(cases(), st.sampled_from([FifoPlacer, RandomPlacer]))
def test_the_shipped_entries_serve_each_account_with_its_own_machines(case, placer):
    fixed = Fixed({offer.name: offer.limit or 2 for offer in case.market.offers})
    witness = Witness()
    policy = Policy(fixed, placer(), NoReplicas())
    state = play(case, policy, observers=[witness], most_steps=150)
    assert witness.refused == [], "nothing was tried that another account pays for"
    assert witness.served <= {(account, account) for account in state.ledger.accounts}


@settings(max_examples=50)
@given(cases())
def test_a_provisioner_that_knows_one_account_spends_no_money_of_several(case):
    if len(case.goal.accounts) == 1:
        play(case, Policy(Bats(), RandomPlacer(), NoReplicas()), most_steps=150)
        return
    witness = Witness()
    with pytest.raises(ContractBroken, match=r"fixed, .* can serve several"):
        play(case, Policy(Bats(), RandomPlacer(), NoReplicas()), observers=[witness])
    assert not witness.rented
