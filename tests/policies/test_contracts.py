"""Every entry of bursar keeps the contract of its role: all names of the registry are tried.

An entry that needs another one is tried in the preset that has both. A new entry is tried as soon
as it has a name; one whose arguments are not known here fails until they are.
"""

from __future__ import annotations

from functools import cache

import pytest
from tests.plan.workflow.test_plans import MARKET as FLOWS
from tests.plan.workflow.test_plans import layers

from bursar.beliefs.samples import SampleLog
from bursar.beliefs.task_times import workflow_times
from bursar.engine.learners import learning
from bursar.engine.roles import Policy
from bursar.model.assigned import Assigned
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.plan_options import PlanOptions
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import Bag, Work
from bursar.policies.advise.none import NoAdvice
from bursar.policies.advise.tail import TailAdvisor
from bursar.policies.advise.workflow import WorkflowAdvisor
from bursar.policies.place.assigned import AssignedPlacer
from bursar.policies.place.pooled import PooledPlacer
from bursar.policies.place.random import RandomPlacer
from bursar.policies.presets import AUTOSCALERS, FOR_SEVERAL_ACCOUNTS, GOES_WITH, PRESETS
from bursar.policies.provision.fixed import Fixed
from bursar.policies.provision.mixed import Mixed
from bursar.policies.provision.prob import Prob
from bursar.policies.registry import BUILT_IN, find, make_entry, make_placer
from bursar.policies.replicate.none import NoReplicas
from bursar.policies.replicate.ntdmr import Ntdmr
from bursar.simulate.faults import ModelledBehaviour, given
from bursar.simulate.run import simulate
from bursar.state import events as ev
from bursar.testing import (
    check_advisor,
    check_placer,
    check_policy,
    check_provisioner,
    check_replicator,
)

ROLES = ("provisioner", "placer", "replicator")
WORLDS = 16
SLOW = (*AUTOSCALERS, "bats", "hedged", "planned", "frontier")
"""provisioners that think for a while at each decision ..."""
SLOW_WORLDS = 6
"""... and are tried in fewer worlds"""
OWN = {"conpaas": {"interval": 10 * MINUTE}}
"""arguments by entry: it fits models at every decision, and here as seldom as in its paper"""


NO_MARKET = Market("USD", "undated", ())
"""for entries that are made without one"""
POOLS = Market(
    "USD",
    "undated",
    (
        Offer("spot", Money.parse("0.01"), billing=SECOND, limit=20, pool="unreliable"),
        Offer("sure", Money.parse("0.10"), billing=SECOND, limit=4),
    ),
)


class Sampled(Policy, frozen=True):
    """A policy of which the log of its sample learns, too."""

    sample_log: SampleLog = SampleLog()


def offered(market: Market):
    """What a session has for the entries of a run."""
    return {
        "market": market,
        "fleet": {one.name: 2 if one.limit is None else one.limit for one in market.offers},
        "goal": Goal(deadline=9 * HOUR),
        "sample_log": SampleLog(),
        "size": 8,
        "runtimes": lambda task, machine: task * MINUTE,
    }


def made(entries, market):
    given_to_all = offered(market)
    provisioner = make_entry("provisioner", entries["provisioner"], given_to_all)
    given_to_all["provisioner"] = provisioner
    others = (make_entry(role, entries[role], given_to_all) for role in ROLES[1:])
    return Sampled(provisioner, *others, sample_log=given_to_all["sample_log"])


def preset_with(role, name):
    """The first preset that has an entry, and all that it goes with."""
    fitting = (one for one in PRESETS.values() if one[role] == name)
    return next(fitting)


@cache
def check_preset(provisioner, placer, replicator):
    entries = dict(zip(ROLES, (provisioner, placer, replicator), strict=True))
    check_policy(
        lambda market: made(entries, market),
        beliefs=lambda policy: (policy.sample_log, *learning(policy)),
        worlds=SLOW_WORLDS if provisioner in SLOW else WORLDS,
        several_accounts=all(entries[role] in FOR_SEVERAL_ACCOUNTS[role] for role in ROLES),
    )


def checked_alone(role):
    return [name for name in BUILT_IN[role] if (role, name) not in GOES_WITH]


@pytest.mark.parametrize("name", checked_alone("provisioner"))
def test_every_provisioner_keeps_the_contract(name):
    check_provisioner(
        lambda market: make_entry("provisioner", name, {**offered(market), **OWN.get(name, {})}),
        worlds=SLOW_WORLDS if name in SLOW else WORLDS,
        several_accounts=name in FOR_SEVERAL_ACCOUNTS["provisioner"],
    )


@pytest.mark.parametrize("name", checked_alone("placer"))
def test_every_placer_keeps_the_contract(name):
    given_to_all = {**offered(NO_MARKET), "provisioner": Fixed({})}
    check_placer(
        lambda: make_placer(name, given_to_all, accounts=2),
        worlds=WORLDS,
        several_accounts=name in FOR_SEVERAL_ACCOUNTS["placer"],
    )


@pytest.mark.parametrize("name", checked_alone("replicator"))
def test_every_replicator_keeps_the_contract(name):
    check_replicator(
        lambda: make_entry("replicator", name, offered(NO_MARKET)),
        several_accounts=name in FOR_SEVERAL_ACCOUNTS["replicator"],
    )


@pytest.mark.parametrize(("role", "name"), [pair for pair in GOES_WITH if pair[0] != "advisor"])
def test_an_entry_that_needs_another_keeps_the_contract_together_with_it(role, name):
    entries = preset_with(role, name)
    check_preset(*(entries[role] for role in ROLES))


# --- advisors -------------------------------------------------------------------------------------


def calm():
    """A run without advice."""

    def drive(advisor):
        policy = Policy(Fixed({"sure": 2}), RandomPlacer(), NoReplicas(), (advisor,))
        return simulate(POOLS, Goal(), Bag(5), policy, ModelledBehaviour(given([MINUTE] * 5)))

    return NoAdvice, drive


def on_two_pools():
    """A bag on two pools, whose tail needs a strategy."""
    mixed = Mixed(POOLS, {"spot": 20, "sure": 4})

    def drive(advisor):
        runtimes = [MINUTE + number % 37 * SECOND for number in range(60)]
        policy = Policy(mixed, PooledPlacer(), Ntdmr(mixed), (advisor,))
        return simulate(POOLS, Goal(), Bag(60), policy, ModelledBehaviour(given(runtimes)))

    return lambda: TailAdvisor(mixed), drive


def slower_than_planned():
    """A workflow planned for one offer, of which all tasks take twice as long as predicted."""
    flow = layers(4, 5)
    times = workflow_times(flow.dag, FLOWS.offers, {}, 0.2)
    name = FLOWS.offers[0].name
    assigned, cost = Assigned((name,), (0,) * flow.count), Money.parse("1")
    plan = ev.PlanChosen(0, "knee", {name: 3}, HOUR, HOUR, cost, cost, assigned=assigned)

    def drive(advisor):
        prob = Prob()
        return simulate(
            FLOWS,
            Goal(Money.parse("100")),
            [ev.WorkArrived(0, Work(flow)), plan],
            Policy(prob, AssignedPlacer(prob), NoReplicas(), (advisor,)),
            ModelledBehaviour(given([round(2e6 * seconds) for seconds in flow.runtimes])),
        )

    return lambda: WorkflowAdvisor(flow, FLOWS.offers, times, PlanOptions()), drive


ADVISED = {"none": calm, "tail": on_two_pools, "replan": slower_than_planned}
"""by advisor, how it is made, and a run that needs its advice, if any does"""


@pytest.mark.parametrize("name", BUILT_IN["advisor"])
def test_every_advisor_keeps_the_contract(name):
    make, drive = ADVISED[name]()
    assert isinstance(make(), find("advisor", name))
    asked = check_advisor(make, drive)
    assert asked == 0 if name == "none" else asked > 0
