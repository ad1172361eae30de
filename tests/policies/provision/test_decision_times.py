"""A decision stays quick with a thousand workflows in the system, in processor time."""

from __future__ import annotations

from functools import cache
from random import Random
from time import process_time

import pytest

from bursar.beliefs.estimates import GivenRunTimes
from bursar.model.goal import Goal, Limits
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.policies.registry import find
from bursar.simulate.workloads.generate import generate
from bursar.simulate.workloads.spec import Batch, WorkloadSpec
from bursar.state import events as ev
from bursar.state.read_only import view_of
from bursar.state.state import RunState

SMALL = Offer("small", Money.parse("1"), MINUTE, limit=32, boot=5 * SECOND)
LARGE = Offer("large", Money.parse("5"), MINUTE, limit=32, boot=5 * SECOND, speed=1.5)
MARKET = Market("USD", "undated", (SMALL, LARGE))
MACHINES = 30
LOADS = 130
"""decisions before: more than any model of a load looks at, but for autoregression"""


@cache
def workload():
    spec = WorkloadSpec(
        kinds=(("montage", 1.0), ("ligo", 1.0), ("sipht", 1.0)),
        count=1000,
        totals=480.0,
        arrivals=Batch(),
        priorities=(0, 9),
    )
    return generate(spec)


def least_decision(name):
    """The least time of three decisions between which tasks of many works were done."""
    state, entry = RunState(), find("provisioner", name)(MARKET)
    goal = Goal(Money.parse("100"), every=MINUTE)
    state.apply(ev.RunCreated(0, "r", MARKET, goal, Limits(), 0, {}, {}, 0.0))
    for arrival in workload().arrivals:
        state.apply(ev.WorkArrived(0, arrival.work))
    speeds = {offer.name: offer.speed for offer in MARKET.offers}
    state.runtimes = GivenRunTimes(workload().arrays.runtimes.tolist(), speeds)
    view = view_of(state)
    for number in range(LOADS):
        at, load = number * MINUTE - LOADS * MINUTE, float(1 + number % 17)
        entry.saw(ev.ScaleDecided(at, {}, round(load), 9, "", {"load": load}), view)
    list(entry.provision(view, 0, Random(1)))
    for machine in range(1, MACHINES + 1):
        state.apply(ev.MachineRented(0, machine, "small", HOUR))
        state.apply(ev.MachineUp(0, machine))
    taken = []
    for number in range(1, 4):
        now = number * MINUTE
        for machine, task in enumerate(list(state.ready)[:MACHINES], 1):
            attempt = len(state.log) + 1
            state.apply(ev.AttemptStarted(now - SECOND, attempt, task, machine))
            ended = ev.AttemptEnded(now - SECOND, attempt, "success", SECOND)
            state.apply(ended)
            entry.saw(ended, view)
        begin = process_time()
        list(entry.provision(view, now, Random(1)))
        taken.append(process_time() - begin)
    return min(taken)


@pytest.mark.parametrize(
    ("name", "most"),
    [
        *((name, 0.01) for name in ("react", "adapt", "hist", "reg", "conpaas", "pfa")),
        *((name, 0.2) for name in ("plan", "token", "forecast", "plf", "scf")),
    ],
)
def test_a_decision_with_a_thousand_workflows_is_quick(name, most):
    assert least_decision(name) <= most
