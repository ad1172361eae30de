"""Packed workflows: the same as the engine task by task, and laws of what they take."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bursar.events import PlanChosen, WorkflowArrived
from bursar.model.assigned import Assigned
from bursar.model.errors import InputError
from bursar.model.flow import Flow
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import ZERO, Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.plan.graph import Graph
from bursar.policies.assigned_work import urgency
from bursar.policies.place.assigned import AssignedPlacer
from bursar.policies.provision.prob import Prob
from bursar.policies.registry import Policy
from bursar.policies.replicate.none import NoReplicas
from bursar.simulate.fortune import ModelledFortune
from bursar.simulate.packing import Packing
from bursar.simulate.run import simulate


class Plan(msgspec.Struct):
    """A workflow, where it is to run, and how long each task will take there."""

    parents: list[list[int]]
    offers: list[Offer]
    assigned: list[int]
    fleet: list[int]
    runtimes: list[int]
    priorities: tuple[int, ...] | None = None

    @property
    def flow(self):
        tasks = len(self.parents)
        return Flow(
            name="drawn",
            names=tuple(f"t{task}" for task in range(tasks)),
            parents=tuple(map(tuple, self.parents)),
            kind_names=("any",),
            kinds=(0,) * tasks,
            runtimes=tuple(time / SECOND for time in self.runtimes),
            priorities=self.priorities,
        )

    @property
    def packing(self):
        return Packing(Graph.of(self.parents), urgency(self.flow), self.offers)

    def trace(self):
        return self.packing.trace(self.assigned, self.fleet, self.runtimes)

    def run(self):
        return self.packing.run(self.assigned, self.fleet, [self.runtimes])

    def execute(self):
        """With the engine."""
        prob = Prob()
        names = tuple(offer.name for offer in self.offers)
        fleet = dict(zip(names, self.fleet, strict=True))
        assigned = Assigned(names, tuple(self.assigned))
        plan = PlanChosen(0, "plan", fleet, 0, 0, ZERO, ZERO, assigned=assigned)
        state = simulate(
            Market("USD", "undated", tuple(self.offers)),
            Goal(),
            [WorkflowArrived(0, self.flow), plan],
            Policy(prob, AssignedPlacer(prob), NoReplicas()),
            ModelledFortune(lambda task, machine: self.runtimes[task - 1]),
        )
        state.check()
        assert state.ended.status == "done"
        return state


def told(state):
    """By task: begin, end, and the machine, by number within its offer; then units by offer."""
    charges = sorted(state.ledger.charges(), key=lambda charge: charge.machine)
    numbers, counts, units = {}, {}, {}
    for charge in charges:
        name = charge.offer.name
        numbers[charge.machine] = counts.get(name, 0)
        counts[name] = counts.get(name, 0) + 1
        units[name] = units.get(name, 0) + charge.units
    log = state.log
    rows = [None] * state.total
    for attempt in range(1, len(log) + 1):
        row = log.started[attempt], log.ended[attempt], numbers[log.machine[attempt]]
        assert rows[log.task[attempt] - 1] is None
        rows[log.task[attempt] - 1] = row
    by_offer = [offer.name for offer in state.market.offers]
    return rows, [counts.get(name, 0) for name in by_offer], [units.get(n, 0) for n in by_offer]


def most_at_once(state, offer):
    """Machines of an offer; one that leaves in an instant goes before one that comes in it."""
    spans = [(c.begin, c.end) for c in state.ledger.charges() if c.offer.name == offer.name]
    moments = sorted([(begin, 1) for begin, _ in spans] + [(end, -1) for _, end in spans])
    return int(max(np.cumsum([change for _, change in moments]), default=0))


def check_same(plan):
    state = plan.execute()
    rows, counts, units = told(state)
    trace, runs = plan.trace(), plan.run()
    found = zip(trace.begins.tolist(), trace.ends.tolist(), trace.machines.tolist(), strict=True)
    assert list(found) == rows
    assert trace.makespan == runs.makespans[0] == state.last_settled
    assert runs.rented[0].tolist() == counts
    assert runs.units[0].tolist() == units
    assert runs.cost(0) == state.ledger.committed
    assert runs.peaks[0].tolist() == [most_at_once(state, offer) for offer in plan.offers]


OFFERS = st.builds(
    Offer,
    name=st.just(""),
    price=st.integers(0, 10**10).map(Money),
    billing=st.sampled_from([SECOND, 7 * SECOND, MINUTE, 10 * MINUTE, HOUR]),
    minimum=st.sampled_from([0, 0, 3 * SECOND, MINUTE, 61 * SECOND, 25 * MINUTE]),
    limit=st.sampled_from([None, None, 1, 2, 5]),
    boot=st.sampled_from([0, 0, 1, 3, 10, 60, 590, 600, 1500, 4000]).map(SECOND.__mul__),
    slots=st.integers(1, 3),
)


@st.composite
def plans(draw):
    tasks = draw(st.integers(1, 25))
    density = draw(st.sampled_from([0, 1, 2, 5]))
    parents = [
        sorted(draw(st.sets(st.integers(0, task - 1), max_size=density))) if task else []
        for task in range(tasks)
    ]
    offers = [
        msgspec.structs.replace(offer, name=f"o{number}")
        for number, offer in enumerate(draw(st.lists(OFFERS, min_size=1, max_size=3)))
    ]
    scale = draw(st.sampled_from([1, SECOND, SECOND, 60 * SECOND, 300 * SECOND]))
    times = st.integers(1, draw(st.sampled_from([1, 2, 5, 30])))

    def each(values):
        return draw(st.lists(values, min_size=tasks, max_size=tasks))

    return Plan(
        parents=parents,
        offers=offers,
        assigned=each(st.integers(0, len(offers) - 1)),
        fleet=[draw(st.integers(1, 6)) for _ in offers],
        runtimes=[time * scale for time in each(times)],
        priorities=draw(st.none() | st.just(0).flatmap(lambda _: st.tuples(
            *[st.integers(0, 2)] * tasks))),
    )


@settings(max_examples=150)
@given(plans())
def test_an_execution_is_that_of_the_engine(plan):
    check_same(plan)
