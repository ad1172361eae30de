"""HEFT: the published example, a plain reference, and what holds of every plan."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bursar.model.dag import dag_of
from bursar.model.errors import InputError
from bursar.plan.workflow.heft import Network, heft

# Figure 2 of Topcuoglu, Hariri and Wu, Performance-effective and low-complexity task scheduling for
# heterogeneous computing (2002): what tasks take on the three processors, and the moves of files.
COSTS = [
    [14, 16, 9],
    [13, 19, 18],
    [11, 13, 19],
    [13, 8, 17],
    [12, 13, 10],
    [13, 16, 9],
    [7, 15, 11],
    [5, 11, 14],
    [18, 12, 20],
    [21, 7, 16],
]
MOVES = {
    (1, 2): 18, (1, 3): 12, (1, 4): 9, (1, 5): 11, (1, 6): 14, (2, 8): 19, (2, 9): 16, (3, 7): 23,
    (4, 8): 27, (4, 9): 23, (5, 9): 13, (6, 8): 15, (7, 10): 17, (8, 10): 11, (9, 10): 13,
}  # fmt: skip
RANKS = [108, 77, 80, 80, 69, 63.333, 42.667, 35.667, 44.333, 14.667]
"""Table 2 of the same."""
PUBLISHED = [
    (3, 0, 9),
    (1, 27, 40),
    (3, 9, 28),
    (2, 18, 26),
    (3, 28, 38),
    (2, 26, 42),
    (3, 38, 49),
    (1, 57, 62),
    (2, 56, 68),
    (2, 73, 80),
]
"""Figure 3a: processor, begin and end of each task."""


def published():
    parents = [[one - 1 for one, two in MOVES if two == task] for task in range(1, 11)]
    volumes = [MOVES[row + 1, task + 1] for task in range(10) for row in parents[task]]
    return dag_of(parents), np.array(COSTS, float), np.array(volumes, float)


def test_the_published_example_is_planned_as_published():
    dag, costs, volumes = published()
    plan = heft(dag, costs, volumes, np.arange(3), Network.even(3, pace=1.0))
    assert plan.makespan == 80
    assert plan.rank == pytest.approx(RANKS, abs=0.001)
    found = zip(plan.machine + 1, plan.begin, plan.end, strict=True)
    assert [(int(m), int(b), int(e)) for m, b, e in found] == PUBLISHED


# --- a plain reference: as one would write it from the paper, without regard to speed -------------


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else 0.0


def reference(parents, order, runtimes, volumes, machines, latency, pace):
    """Machine, begin and end of each task, and its upward rank.

    `volumes[child][place]` belongs to `parents[child][place]`. Of equal ranks the first in the
    topological order is first.
    """
    count = len(machines)

    def move(volume, source, target):
        if source == target:
            return 0.0
        pair = machines[source], machines[target]
        return latency[pair] + volume * pace[pair]

    def mean_move(volume):
        pairs = product(range(count), repeat=2)
        return mean(move(volume, one, other) for one, other in pairs if one != other)

    children = [[] for _ in parents]
    for child, row in enumerate(parents):
        for parent, volume in zip(row, volumes[child], strict=True):
            children[parent].append((child, volume))
    ranks = {}

    def rank(task):
        if task not in ranks:
            further = [mean_move(volume) + rank(child) for child, volume in children[task]]
            own = mean(runtimes[task][offer] for offer in machines)
            ranks[task] = own + max(further, default=0.0)
        return ranks[task]

    busy = [[] for _ in machines]
    found = {}
    for task in sorted(order, key=rank, reverse=True):
        options = []
        for machine, offer in enumerate(machines):
            ready = max(
                (
                    found[parent][2] + move(volume, found[parent][0], machine)
                    for parent, volume in zip(parents[task], volumes[task], strict=True)
                ),
                default=0.0,
            )
            begin = first_fit(busy[machine], ready, runtimes[task][offer])
            options.append((begin + runtimes[task][offer], machine, begin))
        end, machine, begin = min(options)
        found[task] = machine, begin, end
        if end > begin:
            busy[machine] = sorted([*busy[machine], (begin, end)])
    return found, ranks


def first_fit(busy, ready, time):
    """The earliest begin, in an idle time of some length or after all."""
    ends = [(0.0, 0.0), *busy, (float("inf"), float("inf"))]
    for (_, idle_from), (idle_until, _) in pairwise(ends):
        begin = max(ready, idle_from)
        if idle_from < idle_until > ready and begin + time <= idle_until:
            return begin
    raise AssertionError("after all there is room")


# --- laws -----------------------------------------------------------------------------------------


@st.composite
def problems(draw):
    """A workflow, offers, machines of them, and a network; times without ties."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    tasks, offers = draw(st.integers(1, 60)), draw(st.integers(1, 4))
    machines = np.sort(rng.integers(0, offers, draw(st.integers(1, 7))))
    degree = draw(st.sampled_from([0.5, 2, 6]))
    names = rng.permutation(tasks)
    parents = [[] for _ in range(tasks)]
    for place, name in enumerate(names):
        count = min(place, rng.poisson(degree))
        parents[name] = sorted(rng.choice(names[:place], count, replace=False).tolist())
    runtimes = rng.lognormal(0, 1.5, (tasks, offers))
    if draw(st.booleans()):
        runtimes[rng.integers(0, tasks, 3)] = 0.0
    spread = draw(st.sampled_from([0, 0.1, 3]))
    volumes = rng.exponential(spread, sum(map(len, parents)))
    latency, pace = rng.random((2, offers, offers)) * draw(st.sampled_from([0, 1]))
    return parents, runtimes, volumes, machines, Network(latency, pace)


@settings(max_examples=150)
@given(problems())
def test_the_plan_is_that_of_a_plain_reference(problem):
    parents, runtimes, volumes, machines, network = problem
    dag = dag_of(parents)
    plan = heft(dag, runtimes, volumes, machines, network)
    rows = np.split(volumes, dag.parents.starts[1:-1])
    found, ranks = reference(
        parents, dag.order, runtimes, rows, machines.tolist(), network.latency, network.pace
    )
    assert plan.rank == pytest.approx([ranks[task] for task in range(len(dag))])
    expected = [found[task] for task in range(len(dag))]
    assert plan.end == pytest.approx([end for _, _, end in expected])
    assert plan.begin == pytest.approx([begin for _, begin, _ in expected])
    assert plan.machine.tolist() == [machine for machine, _, _ in expected]


@settings(max_examples=100)
@given(problems())
def test_a_plan_keeps_files_and_machines_waiting_for_nothing_that_is_not_there(problem):
    parents, runtimes, volumes, machines, network = problem
    dag = dag_of(parents)
    plan = heft(dag, runtimes, volumes, machines, network)
    offer = machines[plan.machine]
    assert plan.end == pytest.approx(plan.begin + runtimes[np.arange(len(dag)), offer])
    child = np.repeat(np.arange(len(dag)), np.diff(dag.parents.starts))
    pair = offer[dag.parents.items], offer[child]
    moves = network.latency[pair] + volumes * network.pace[pair]
    moves[plan.machine[dag.parents.items] == plan.machine[child]] = 0
    assert np.all(plan.begin[child] >= plan.end[dag.parents.items] + moves - 1e-9)
    for machine in range(len(machines)):
        own = np.flatnonzero((plan.machine == machine) & (plan.end > plan.begin))
        own = own[np.argsort(plan.begin[own])]
        assert np.all(plan.begin[own][1:] >= plan.end[own][:-1])


def test_a_short_task_goes_between_two_that_were_placed_before():
    parents, volumes = [[], [0], [], [2]], np.array([10.0, 0.0])
    runtimes = np.array([[5.0, 5.0], [5.0, 50.0], [1.0, 1.0], [2.0, 2.0]])
    plan = heft(dag_of(parents), runtimes, volumes, np.arange(2), Network.even(2, pace=1.0))
    assert plan.makespan == 10
    assert plan.end[3] == 3


def test_more_idle_times_than_there_was_room_for_are_kept():
    """Tasks that wait for files one after the other leave an idle time before each."""
    long, tasks = 200, 400
    parents = [[] if task % long == 0 else [task - 1] for task in range(tasks)]
    runtimes = np.tile([1.0, 1.0], (tasks, 1))
    runtimes[::2, 1] = 1e6
    runtimes[1::2, 0] = 1e6
    volumes = np.full(tasks - 2, 3.0)
    plan = heft(dag_of(parents), runtimes, volumes, np.arange(2), Network.even(2, pace=1.0))
    assert plan.makespan == long + 3 * (long - 1) + 1
    assert np.array_equal(plan.machine, np.arange(tasks) % 2)


def test_an_empty_workflow_takes_no_time():
    plan = heft(dag_of([]), np.empty((0, 1)), np.empty(0), np.zeros(1, int), Network.even(1))
    assert plan.makespan == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"machines": np.array([], int)}, "at least one"),
        ({"machines": np.array([3])}, "a column for each offer"),
        ({"runtimes": np.ones((9, 3))}, "9 of 10 tasks"),
        ({"runtimes": np.full((10, 3), np.nan)}, "run time must be finite"),
        ({"volumes": np.ones(3)}, "3 volumes for 15 edges"),
        ({"volumes": np.full(15, -1.0)}, "volume must be finite"),
        ({"network": Network.even(2)}, "each pair of offers"),
    ],
)
def test_what_does_not_fit_together_is_refused(change, message):
    dag, runtimes, volumes = published()
    given_values = {
        "runtimes": runtimes,
        "volumes": volumes,
        "machines": np.arange(3),
        "network": Network.even(3),
    }
    with pytest.raises(InputError, match=message):
        heft(dag, **(given_values | change))
