"""The kernels and the engine find the same, task by task, when they get the same draws."""

from __future__ import annotations

from heapq import heapify, heapreplace
from inspect import getsource
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bursar.beliefs.unified import UnifiedRuntimes
from bursar.engine.roles import Placer, Policy, Replicator
from bursar.kernels.bag import GOLDEN, MIX_1, MIX_2
from bursar.kernels.compiling import stamp_of
from bursar.model.errors import InputError
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import Bag
from bursar.plan.bag import executions as kernels
from bursar.plan.bag.executions import STRATEGIES, BagExecutor, proportions
from bursar.policies.provision.fixed import Fixed
from bursar.policies.registry import make_policy
from bursar.simulate.faults import ModelledBehaviour, traced
from bursar.simulate.run import simulate
from bursar.state import events as ev
from bursar.state.actions import Start
from bursar.state.state import RunState

WORD = (1 << 64) - 1
EARLY = 3


class Ordered(Placer):
    """Places ready tasks in a given order on idle machines in the order of their numbers."""

    def __init__(self, order):
        self.places = {task + 1: place for place, task in enumerate(order)}

    def place(self, view, now, rng):
        tasks = sorted(view.ready, key=self.places.__getitem__)
        return [
            Start(task, machine) for task, machine in zip(tasks, sorted(view.idle), strict=False)
        ]


class Counted(Random):
    """The random numbers of the kernels."""

    def __init__(self, begin):
        super().__init__()
        self.counter = begin

    def random(self):
        self.counter = (self.counter + GOLDEN) & WORD
        z = self.counter
        z = ((z ^ (z >> 30)) * MIX_1) & WORD
        z = ((z ^ (z >> 27)) * MIX_2) & WORD
        return ((z ^ (z >> 31)) >> 11) * 2.0**-53


class WithDraws(Replicator):
    """A replicator that gets its own random numbers."""

    def __init__(self, inner, begin):
        self.inner = inner
        self.rng = Counted(begin)
        self.before_placing = inner.before_placing

    @property
    def runtimes(self):
        return self.inner.runtimes

    def saw(self, event, state):
        self.inner.saw(event, state)

    def replicate(self, view, now, rng):
        return self.inner.replicate(view, now, self.rng)


class Instants:
    """Notices machines that are extended and released in the same instant.

    The engine gives the new unit back; the kernel, which looks at leases once an instant, does not.
    """

    def __init__(self):
        self.extended = {}
        self.gave_back = False

    def saw(self, event, state):
        if isinstance(event, ev.LeaseExtended):
            self.extended[event.machine] = event.at
        elif isinstance(event, ev.MachineDown):
            self.gave_back |= self.extended.get(event.machine) == event.at


class Case:
    """A bag, a fleet and an order."""

    def __init__(self, offers, fleet, runtimes, order, draws=0):
        self.offers = offers
        self.fleet = fleet
        self.runtimes = runtimes
        self.order = order
        self.draws = draws

    def __repr__(self):
        return f"Case({self.offers}, {self.fleet}, {self.runtimes}, {self.order}, {self.draws})"

    def by_kernel(self, replicator):
        rows = {name: np.array(times) for name, times in self.runtimes.items()}
        setup = BagExecutor(self.offers, self.fleet, rows)
        return setup.once(self.order, replicator, early=EARLY, draws=self.draws)

    def by_engine(self, replicator) -> RunState:
        used = [offer for offer in self.offers if self.fleet.get(offer.name)]
        behaviour = traced(self.runtimes)
        options = {"knowledge": UnifiedRuntimes(proportions(used))}
        if replicator == "migrate":
            options["before_placing"] = EARLY
        if replicator == "perfect":
            options = {"runtimes": behaviour}
        made = make_policy(
            replicator=replicator,
            options={
                "provisioner": {"fleet": self.fleet},
                "replicator": {} if replicator == "none" else options,
            },
        )
        policy = Policy(
            Fixed(self.fleet), Ordered(self.order), WithDraws(made.replicator, self.draws)
        )
        market = Market("USD", "undated", tuple(self.offers))
        bag = Bag(count=len(self.order))
        self.instants = Instants()
        behaviour = ModelledBehaviour(behaviour)
        return simulate(market, Goal(), bag, policy, behaviour, observers=[self.instants])


def completions_of(state):
    return [state.log.ended[state.winners[task]] for task in range(1, state.total + 1)]


def check_same(case, replicator):
    found, state = case.by_kernel(replicator), case.by_engine(replicator)
    assert state.ended.status == "done"
    assert list(found.completions) == completions_of(state)
    assert found.makespan == state.last_settled
    if case.instants.gave_back:
        assert found.cost >= state.ledger.committed
    else:
        assert found.cost == state.ledger.committed


@st.composite
def cases(draw, exact_speeds=True):
    """Small bags and fleets, with run times that often coincide with each other and with leases."""
    count = draw(st.integers(1, 3))
    unit = draw(st.sampled_from([10 * MINUTE, HOUR, 1000 * HOUR]))
    grain = draw(st.sampled_from([MINUTE, 5 * MINUTE, SECOND // 7]))
    offers = [
        Offer(
            f"offer-{number}",
            Money.parse(number + 1),
            billing=unit,
            speed=draw(st.sampled_from([1.0, 1.5, 2.0, 3.0])),
            boot=draw(st.sampled_from([0, 0, grain, 7 * grain])),
        )
        for number in range(count)
    ]
    fleet = {offer.name: draw(st.integers(0, 4)) for offer in offers}
    assume(any(fleet.values()))
    tasks = draw(st.integers(1, 16))
    sizes = [draw(st.integers(1, 40)) * 6 * grain for _ in range(tasks)]
    runtimes = {
        offer.name: [
            max(1, round(size / offer.speed))
            if exact_speeds
            else max(1, round(size * draw(st.sampled_from([0.5, 1.0, 2.0])) / offer.speed))
            for size in sizes
        ]
        for offer in offers
    }
    order = draw(st.permutations(range(tasks)))
    return Case(offers, fleet, runtimes, order, draw(st.integers(0, WORD)))


@settings(max_examples=150)
@given(cases())
def test_a_bag_without_replicas_ends_as_in_the_engine(case):
    check_same(case, "none")


@pytest.mark.parametrize("replicator", [name for name in STRATEGIES if name != "none"])
@settings(max_examples=120)
@given(case=cases())
def test_a_bag_with_replicas_ends_as_in_the_engine(replicator, case):
    check_same(case, replicator)


@pytest.mark.parametrize("replicator", [name for name in STRATEGIES if name != "none"])
@settings(max_examples=60)
@given(case=cases(exact_speeds=False))
def test_run_times_that_defy_the_speeds_end_as_in_the_engine(replicator, case):
    check_same(case, replicator)


# --- single cases ---------------------------------------------------------------------------------

SLOW = Offer("slow", Money.parse(1), HOUR, speed=1.0)
FAST = Offer("fast", Money.parse(4), HOUR, speed=3.0)


def setup_of(minutes, fleet=None, offers=(SLOW, FAST)):
    sizes = np.array([minute * MINUTE for minute in minutes])
    rows = {offer.name: np.rint(sizes / offer.speed).astype(np.int64) for offer in offers}
    return BagExecutor(offers, fleet or {"slow": 4, "fast": 2}, rows)


@pytest.mark.parametrize("replicator", [name for name in STRATEGIES if name != "none"])
def test_replicas_shorten_a_bag(replicator):
    setup = setup_of(range(20, 50))
    order = range(30)
    plain, found = setup.once(order), setup.once(order, replicator, early=EARLY)
    assert found.makespan < plain.makespan
    assert found.cost <= plain.cost


@pytest.mark.parametrize("replicator", STRATEGIES)
def test_a_study_is_its_executions_one_by_one(replicator):
    """The order of an execution is drawn by its number, so threads do not matter."""
    setup = setup_of(range(20, 61))
    alone = setup.many(9, replicator, early=EARLY, seed=4)
    shared = setup.many(9, replicator, early=EARLY, seed=4, threads=2)
    assert np.array_equal(alone.makespans, shared.makespans)
    assert np.array_equal(alone.units, shared.units)
    for execution in range(9):
        order, draws = drawn_order(41, 4, execution)
        found = setup.once(order, replicator, early=EARLY, draws=draws)
        assert found.makespan == alone.makespans[execution]
        assert found.cost == alone.cost(execution)


@pytest.mark.parametrize("replicator", STRATEGIES)
def test_a_single_machine_does_one_task_after_the_other(replicator):
    offer = Offer("own", Money.parse(1), HOUR)
    runs = setup_of(range(20, 61), {"own": 1}, (offer,)).many(3, replicator)
    assert set(runs.makespans.tolist()) == {sum(range(20, 61)) * MINUTE}
    assert set(runs.units.ravel().tolist()) == {-(-sum(range(20, 61)) // 60)}


def test_a_machine_that_boots_for_too_long_is_neither_waited_for_nor_renewed():
    fast = Offer("fast", Money.parse(2), 10 * MINUTE)
    late = Offer("late", Money.parse(3), 10 * MINUTE, boot=35 * MINUTE)
    case = Case(
        [fast, late],
        {"fast": 1, "late": 1},
        {"fast": [15 * MINUTE] * 2, "late": [30 * MINUTE] * 2},
        [0, 1],
    )
    found = case.by_kernel("none")
    assert (found.makespan, found.cost) == (30 * MINUTE, Money.parse(3 * 2 + 2 * 3))
    check_same(case, "none")


def drawn_order(tasks, seed, execution):
    """The order of an execution, in Python, and where its random numbers go on."""
    counter = mixed((seed + GOLDEN * (execution + 1)) & WORD)
    order = list(range(tasks))
    for place in range(0, tasks, 2):
        counter = (counter + GOLDEN) & WORD
        drawn = mixed(counter)
        for offset, bits in ((0, drawn & 0xFFFFFFFF), (1, drawn >> 32)):
            at = place + offset
            if at < tasks:
                pick = at + (bits * (tasks - at) >> 32)
                order[at], order[pick] = order[pick], order[at]
    return order, counter


def mixed(z):
    z = ((z ^ (z >> 30)) * MIX_1) & WORD
    z = ((z ^ (z >> 27)) * MIX_2) & WORD
    return z ^ (z >> 31)


def test_all_orders_are_equally_likely():
    """Three tasks on one machine: the six orders of an execution show in the completions."""
    counts = {}
    for execution in range(6000):
        order, _ = drawn_order(3, 1, execution)
        counts[tuple(order)] = counts.get(tuple(order), 0) + 1
    assert len(counts) == 6
    assert all(abs(count - 1000) < 150 for count in counts.values())


@given(st.lists(st.integers(1, 500), min_size=1, max_size=60), st.integers(1, 70))
def test_a_makespan_is_that_of_a_plain_heap(minutes, machines):
    offer = Offer("own", Money.parse(1), HOUR)
    setup = setup_of(minutes, {"own": machines}, (offer,))
    heap = [0] * machines
    heapify(heap)
    for minute in minutes:
        heapreplace(heap, heap[0] + minute * MINUTE)
    assert setup.once(range(len(minutes))).makespan == max(heap)


@settings(max_examples=40)
@given(cases(), st.integers(1, 600))
def test_fine_billing_units_are_charged_as_in_the_engine(case, seconds):
    """The engine pays for leases of 10 minutes ahead and gets back what is not used.

    Tasks end one at a time here: of machines that fall idle together when too few tasks are ready,
    the engine gives back those that get none at its next step only.
    """
    offers = [Offer(o.name, o.price, seconds * SECOND, speed=o.speed) for o in case.offers]
    fine = Case(offers, case.fleet, case.runtimes, case.order)
    found = fine.by_kernel("none")
    ends = set(found.completions.tolist())
    assume(len(ends) == len(case.order))
    assume(not any(end % (seconds * SECOND) == 0 for end in ends))
    assert found.cost == fine.by_engine("none").ledger.committed


def test_what_a_kernel_cannot_do_is_refused():
    with pytest.raises(InputError, match="no kernel for 'often'"):
        setup_of([5]).once([0], "often")
    with pytest.raises(InputError, match="at least one"):
        setup_of([5], {"slow": 0, "fast": 0})
    with pytest.raises(InputError, match="one slot"):
        setup_of([5], {"wide": 1}, (Offer("wide", Money.parse(1), HOUR, slots=2),))
    with pytest.raises(InputError, match="10 minutes"):
        setup_of([5], {"fine": 1}, (Offer("fine", Money.parse(1), MINUTE),)).once([0], "random")
    with pytest.raises(InputError, match="at least 1 us"):
        setup_of([0])
    with pytest.raises(InputError, match="64-bit"):
        setup_of([10**9] * 100)


# --- compiled code on disk ------------------------------------------------------------------------


@pytest.mark.parametrize("changed", range(len(kernels.MODULES)))
def test_a_change_in_any_module_of_the_kernels_changes_the_stamp(changed):
    sources = [getsource(module) for module in kernels.MODULES]
    before = stamp_of(sources)
    sources[changed] += "\n"
    assert stamp_of(sources) != before


def test_the_stamp_is_that_of_all_modules_of_the_kernels():
    named = {Path(module.__file__).name for module in kernels.MODULES}
    folder = Path(kernels.MODULES[0].__file__).parent
    assert named == {"bag.py", *(file.name for file in folder.glob("tail*.py"))}
    stamp = stamp_of(getsource(module) for module in kernels.MODULES)
    for name in kernels.BagKernels.__struct_fields__:
        function = getattr(kernels.compiled(), name)
        assert function.py_func.__qualname__ == f"{name}_{stamp}"
