"""Packed workflows: the same as the engine task by task, and laws of what they take."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bursar.engine.roles import Policy
from bursar.model.assigned import Assigned
from bursar.model.dag import dag_of
from bursar.model.errors import InputError
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import ZERO, Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import Work
from bursar.model.workflow import Workflow
from bursar.plan.workflow.packing import Packing
from bursar.plan.workflow.urgency import urgency
from bursar.policies.place.assigned import AssignedPlacer
from bursar.policies.provision.prob import Prob
from bursar.policies.replicate.none import NoReplicas
from bursar.simulate.faults import ModelledBehaviour
from bursar.simulate.run import simulate
from bursar.state.events import PlanChosen, WorkArrived


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
        return Workflow(
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
        return Packing(dag_of(self.parents), urgency(self.flow), self.offers)

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
            [WorkArrived(0, Work(self.flow)), plan],
            Policy(prob, AssignedPlacer(prob), NoReplicas()),
            ModelledBehaviour(lambda task, machine: self.runtimes[task - 1]),
        )
        state.check()
        assert state.ended.status == "done"
        return state


def reported(state):
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
    rows, counts, units = reported(state)
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


SLOW_OFFERS = st.builds(
    Offer,
    name=st.just(""),
    price=st.just(Money(1)),
    billing=st.just(10 * MINUTE),
    minimum=st.sampled_from([0, 25 * MINUTE]),
    boot=st.sampled_from([0, 12, 20, 34]).map(MINUTE.__mul__),
    slots=st.integers(1, 3),
)
"""Leases end while machines boot, or wait for the next task."""


@st.composite
def plans(draw, kinds=OFFERS, most_offers=3, scales=(1, SECOND, SECOND, MINUTE, 5 * MINUTE)):
    tasks = draw(st.integers(1, 25))
    density = draw(st.sampled_from([0, 1, 2, 5]))
    parents = [
        sorted(draw(st.sets(st.integers(0, task - 1), max_size=density))) if task else []
        for task in range(tasks)
    ]
    offers = [
        msgspec.structs.replace(offer, name=f"o{number}")
        for number, offer in enumerate(draw(st.lists(kinds, min_size=1, max_size=most_offers)))
    ]
    scale = draw(st.sampled_from(scales))
    times = st.integers(1, draw(st.sampled_from([1, 2, 5, 30])))

    def each(values):
        return draw(st.lists(values, min_size=tasks, max_size=tasks))

    return Plan(
        parents=parents,
        offers=offers,
        assigned=each(st.integers(0, len(offers) - 1)),
        fleet=[draw(st.integers(1, 6)) for _ in offers],
        runtimes=[time * scale for time in each(times)],
        priorities=tuple(each(st.integers(0, 2))) if draw(st.booleans()) else None,
    )


@settings(max_examples=150)
@given(plans())
def test_an_execution_is_that_of_the_engine(plan):
    check_same(plan)


@settings(max_examples=150)
@given(plans(SLOW_OFFERS, 2, (MINUTE,)))
def test_an_execution_on_slow_machines_is_that_of_the_engine(plan):
    check_same(plan)


def draw_slow_plan(rng):
    """As above, with more tasks side by side: more machines boot at the same time."""
    tasks, slots = int(rng.integers(10, 40)), int(rng.integers(1, 4))
    boot = int(rng.choice([12, 20, 34])) * MINUTE
    minimum = int(rng.choice([0, 25])) * MINUTE
    few = rng.integers(0, 3, tasks)
    return Plan(
        parents=[
            rng.choice(task, min(task, few[task]), replace=False).tolist() for task in range(tasks)
        ],
        offers=[Offer("tens", Money(1), 10 * MINUTE, minimum=minimum, boot=boot, slots=slots)],
        assigned=[0] * tasks,
        fleet=[int(rng.integers(2, 12))],
        runtimes=(rng.integers(1, 16, tasks) * MINUTE).tolist(),
    )


def test_many_executions_on_slow_machines_are_those_of_the_engine():
    rng = np.random.default_rng(0)
    for _ in range(300):
        check_same(draw_slow_plan(rng))


def large_plan(tasks, seed, **conditions):
    """More tasks than a set of places has in one word, or in one group of words."""
    rng = np.random.default_rng(seed)
    parents = [
        sorted(set(rng.integers(max(0, task - 900), task, rng.integers(0, 3)).tolist()))
        if task
        else []
        for task in range(tasks)
    ]
    offers = [
        Offer("seconds", Money(7), SECOND, minimum=MINUTE, boot=20 * SECOND),
        Offer("tens", Money(11), 10 * MINUTE, boot=11 * MINUTE, slots=2),
    ]
    return Plan(
        parents=parents,
        offers=offers,
        assigned=(rng.random(tasks) < 0.15).astype(int).tolist(),
        fleet=[40, 30],
        runtimes=(rng.integers(1, 90, tasks) * SECOND).tolist(),
        **conditions,
    )


@pytest.mark.parametrize("tasks", [700, 5_500])
def test_a_large_execution_is_that_of_the_engine(tasks):
    check_same(large_plan(tasks, seed=tasks))


# --- laws -----------------------------------------------------------------------------------------


def longest_way(plan):
    ends = []
    for row, time in zip(plan.parents, plan.runtimes, strict=True):
        ends.append(max((ends[parent] for parent in row), default=0) + time)
    return max(ends)


@settings(max_examples=100)
@given(plans())
def test_precedence_slots_and_the_fleet_are_kept(plan):
    trace, runs = plan.trace(), plan.run()
    assert trace.makespan == trace.ends.max() >= longest_way(plan)
    for task, row in enumerate(plan.parents):
        assert all(trace.ends[parent] <= trace.begins[task] for parent in row)
    for number, offer in enumerate(plan.offers):
        most = min(plan.fleet[number], offer.limit or plan.fleet[number])
        assert runs.peaks[0, number] <= most
        mine = np.flatnonzero(np.array(plan.assigned) == number)
        for task in mine:
            there = mine[trace.machines[mine] == trace.machines[task]]
            is_before = trace.begins[there] <= trace.begins[task]
            assert (is_before & (trace.begins[task] < trace.ends[there])).sum() <= offer.slots


def test_samples_are_executed_one_by_one_by_however_many_threads():
    plan = large_plan(300, seed=1)
    runtimes = np.random.default_rng(2).integers(1, 90, (21, 300)) * SECOND
    alone = plan.packing.run(plan.assigned, plan.fleet, runtimes)
    beside = plan.packing.run(plan.assigned, plan.fleet, runtimes, threads=2)
    for sample, row in enumerate(runtimes):
        assert (
            plan.packing.trace(plan.assigned, plan.fleet, row).makespan == alone.makespans[sample]
        )
    for field in ("makespans", "units", "rented", "peaks", "costs"):
        assert np.array_equal(getattr(alone, field), getattr(beside, field))
    assert len(set(alone.costs.tolist())) > 1
    assert alone.cost(3) == Money(int(alone.units[3] @ [7, 11]))


# --- when machines come and go --------------------------------------------------------------------


def one_offer(parents, minutes, fleet, **terms):
    offer = Offer("only", Money.parse("1"), **terms)
    times = [time * MINUTE for time in minutes]
    plan = Plan(parents, [offer], [0] * len(parents), [fleet], times)
    check_same(plan)
    return plan.trace(), plan.run()


FORK = [[], [], [0], [0]]
"""The second machine gets idle before the first task, which is the more urgent, lets two begin."""


def test_a_machine_with_a_long_unit_waits_for_work_to_the_end_of_the_unit():
    trace, runs = one_offer(FORK, [55, 10, 5, 5], 2, billing=HOUR)
    assert trace.machines.tolist() == [0, 1, 0, 1]
    assert runs.units[0, 0] == 1 + 1
    trace, runs = one_offer(FORK, [60, 10, 5, 5], 2, billing=HOUR)
    assert trace.machines.tolist() == [0, 1, 0, 1]
    assert runs.units[0, 0] == 2 + 2
    trace, runs = one_offer(FORK, [61, 10, 5, 5], 2, billing=HOUR)
    assert trace.machines.tolist() == [0, 1, 0, 2]
    assert runs.units[0, 0] == 2 + 1 + 1


def test_a_machine_with_a_short_unit_goes_when_it_was_idle_for_as_long_as_it_boots():
    for wait, rented in ((11, 2), (12, 2), (13, 3)):
        terms = {"billing": SECOND, "boot": 12 * MINUTE}
        _, runs = one_offer(FORK, [10 + wait, 10, 50, 50], 2, **terms)
        assert runs.rented[0, 0] == rented


def test_a_machine_is_not_given_back_before_its_minimum_is_used_up():
    for minimum, machine in ((30, 1), (20, 1), (19, 2)):
        terms = {"billing": SECOND, "minimum": minimum * MINUTE}
        trace, _ = one_offer(FORK, [20, 10, 5, 5], 2, **terms)
        assert trace.machines.tolist() == [0, 1, 0, machine]


def test_a_machine_is_not_kept_for_work_that_an_older_one_takes():
    """Both are idle when their first unit ends, and one task becomes ready."""
    parents, minutes = [[], [], [], [2]], [5, 5, 10, 30]
    offers = [Offer("tens", Money(1), 10 * MINUTE), Offer("other", Money(1), SECOND)]
    times = [time * MINUTE for time in minutes]
    plan = Plan(parents, offers, [0, 0, 1, 0], [2, 1], times)
    check_same(plan)
    assert plan.run().units[0].tolist() == [4 + 1, 600]


def test_a_machine_that_boots_beyond_its_lease_is_kept_only_if_it_is_needed():
    """A second machine is rented when two tasks are ready; short ones are both done meanwhile."""
    parents, terms = [[], [0], [0], [1, 2]], {"billing": 10 * MINUTE, "boot": 25 * MINUTE}
    trace, runs = one_offer(parents, [1, 4, 4, 40], 2, **terms)
    assert trace.machines.tolist() == [0, 0, 0, 0]
    assert runs.units[0, 0] == 8 + 1
    trace, runs = one_offer(parents, [1, 30, 30, 40], 2, **terms)
    assert trace.machines.tolist() == [0, 0, 1, 1]
    assert runs.units[0, 0] == 6 + 10


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"fleet": [0]}, "2 tasks are meant for small, of which the fleet has no machine"),
        ({"fleet": [-1]}, "a number of machines, 0 or more"),
        ({"fleet": [1, 1]}, "for each offer"),
        ({"assigned": [0]}, "1 offers for 2 tasks"),
        ({"assigned": [0, 1]}, "use 0 to 0"),
        ({"runtimes": [5, 0]}, "at least 1 us"),
        ({"runtimes": [5]}, "every sample needs 2 run times"),
        ({"runtimes": [1 << 62, 1]}, "too long for 64-bit arithmetic"),
    ],
)
def test_what_cannot_be_executed_is_refused(change, words):
    given = {"assigned": [0, 0], "fleet": [1], "runtimes": [5, 5]} | change
    packing = Packing(dag_of([[], [0]]), [0, 1], [Offer("small", ZERO)])
    with pytest.raises(InputError, match=words):
        packing.trace(**given)
    with pytest.raises(InputError, match=words):
        packing.run(given["assigned"], given["fleet"], [given["runtimes"]])


def test_an_offer_without_machines_may_stand_beside():
    offers = [Offer("none", Money(1), limit=0), Offer("small", Money(1))]
    packing = Packing(dag_of([[], [0]]), [0, 1], offers)
    assert packing.trace([1, 1], [3, 1], [5, 6]).makespan == 11
    with pytest.raises(InputError, match="1 tasks are meant for none"):
        packing.trace([0, 1], [3, 1], [5, 6])


def test_places_must_order_all_tasks():
    for places in ([0], [0, 0], [1, 2]):
        with pytest.raises(InputError, match="2 tasks need a place each"):
            Packing(dag_of([[], [0]]), places, [Offer("small", ZERO)])
    with pytest.raises(InputError, match="at least 1 task and 1 offer"):
        Packing(dag_of([[]]), [0], [])


def test_costs_beyond_what_money_holds_are_refused():
    packing = Packing(dag_of([[]]), [0], [Offer("dear", Money.parse("9000000000"), SECOND)])
    runs = packing.run([0], [1], [[SECOND]])
    assert runs.cost(0) == Money.parse("9000000000")
    with pytest.raises(InputError, match="may cost"):
        packing.run([0], [1], [[2 * SECOND]]).cost(0)
