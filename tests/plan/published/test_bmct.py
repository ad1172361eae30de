"""Hybrid.BMCT: examples computed by hand, and what holds of every plan."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bursar.model.dag import dag_of
from bursar.model.errors import InputError
from bursar.plan.published.bmct import bmct, groups
from bursar.plan.workflow.heft import Network, heft

FREE = Network.even(3)


@st.composite
def problems(draw, most_tasks=40):
    """A workflow, machines that are all different, and a network."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    tasks, machines = draw(st.integers(1, most_tasks)), draw(st.integers(1, 6))
    degree = draw(st.sampled_from([0, 0.5, 2, 6]))
    names = rng.permutation(tasks)
    parents = [[] for _ in range(tasks)]
    for place, name in enumerate(names):
        count = min(place, rng.poisson(degree))
        parents[name] = sorted(rng.choice(names[:place], count, replace=False).tolist())
    runtimes = rng.lognormal(0, 1.5, (tasks, machines))
    if draw(st.booleans()):
        runtimes[rng.integers(0, tasks, 3)] = 0.0
    volumes = rng.exponential(draw(st.sampled_from([0, 0.1, 3])), sum(map(len, parents)))
    latency, pace = rng.random((2, machines, machines)) * draw(st.sampled_from([0, 1]))
    return parents, runtimes, volumes, np.arange(machines), Network(latency, pace)


@settings(max_examples=150)
@given(problems())
def test_files_and_machines_are_there_when_a_task_begins(problem):
    parents, runtimes, volumes, machines, network = problem
    dag = dag_of(parents)
    plan = bmct(dag, runtimes, volumes, machines, network)
    assert plan.end == pytest.approx(plan.begin + runtimes[np.arange(len(dag)), plan.machine])
    child = np.repeat(np.arange(len(dag)), np.diff(dag.parents.starts))
    pair = plan.machine[dag.parents.items], plan.machine[child]
    moves = np.where(pair[0] == pair[1], 0, network.latency[pair] + volumes * network.pace[pair])
    assert np.all(plan.begin[child] >= plan.end[dag.parents.items] + moves - 1e-9)
    for machine in machines:
        own = np.flatnonzero((plan.machine == machine) & (plan.end > plan.begin))
        own = own[np.argsort(plan.begin[own])]
        assert np.all(plan.begin[own][1:] >= plan.end[own][:-1] - 1e-9)


@given(problems())
def test_groups_hold_every_task_once_after_its_parents_and_none_that_waits_for_another(problem):
    parents, runtimes, volumes, machines, network = problem
    dag = dag_of(parents)
    rank = bmct(dag, runtimes, volumes, machines, network).rank
    by_rank = dag.order[np.argsort(-rank[dag.order], kind="stable")]
    found = list(groups(dag, by_rank))
    assert [task for group in found for task in group] == by_rank.tolist()
    for group in found:
        above = {parent for task in group for parent in parents[task]}
        assert above.isdisjoint(group)
    for group, after in pairwise(found):
        assert set(parents[after[0]]) & set(group)


@settings(max_examples=60)
@given(problems(most_tasks=6))
def test_no_single_move_off_the_last_machine_makes_a_bag_end_earlier(problem):
    _, runtimes, _, machines, network = problem
    tasks = len(runtimes)
    plan = bmct(dag_of([[]] * tasks), runtimes, np.empty(0), machines, network)
    loads = [runtimes[plan.machine == machine, machine].sum() for machine in machines]
    assert plan.makespan == pytest.approx(max(loads))
    last = int(np.argmax(loads))
    for task, machine in product(np.flatnonzero(plan.machine == last), machines):
        if machine != last:
            assert loads[machine] + runtimes[task, machine] >= plan.makespan - 1e-9


def test_a_bag_leaves_the_fastest_machine_until_it_is_even():
    """Four tasks of 2 s on the first machine, 3 s on the second: two stay, or three."""
    runtimes = np.tile([2.0, 3.0], (4, 1))
    plan = bmct(dag_of([[]] * 4), runtimes, np.empty(0), np.arange(2), Network.even(2))
    assert plan.makespan == 6
    assert sorted(plan.machine.tolist()) in ([0, 0, 0, 1], [0, 0, 1, 1])


def test_a_chain_moves_to_no_faster_machine_where_its_files_would_take_longer():
    """The second task takes 5 s on its fastest machine and 6 s where its file is.

    First it is put on its fastest, ends at 4 + 10 + 5 = 19, and moves back to end at 4 + 6 = 10.
    """
    runtimes = np.array([[4.0, 9.0], [6.0, 5.0]])
    plan = bmct(
        dag_of([[], [0]]), runtimes, np.array([10.0]), np.arange(2), Network.even(2, pace=1.0)
    )
    assert plan.machine.tolist() == [0, 0]
    assert plan.begin.tolist() == [0, 4]
    assert plan.makespan == 10


def test_a_fork_and_join_is_planned_group_by_group():
    """All of 10 s on the fastest machine; of three in the middle one moves to a slower one.

    The groups are {0}, {1, 2, 3} and {4}. The three would keep the first machine until 40; the
    second machine (15 s each) takes one until 25, and the third (20 s) another until 30, so that
    the first is done at 20.
    """
    parents = [[], [0], [0], [0], [1, 2, 3]]
    runtimes = np.tile([10.0, 15.0, 20.0], (5, 1))
    plan = bmct(dag_of(parents), runtimes, np.zeros(6), np.arange(3), FREE)
    assert plan.machine[[0, 4]].tolist() == [0, 0]
    assert sorted(plan.end[1:4].tolist()) == [20, 25, 30]
    assert plan.makespan == 40


def test_tasks_of_a_group_run_in_the_order_in_which_their_files_arrive():
    """On one machine; the long way to the end comes first by rank, but its file comes later."""
    parents = [[], [], [0], [1]]
    runtimes = np.array([[1.0, 9.0], [9.0, 2.0], [3.0, 50.0], [5.0, 50.0]])
    plan = bmct(dag_of(parents), runtimes, np.zeros(2), np.arange(2), Network.even(2, latency=1.0))
    assert plan.machine.tolist() == [0, 1, 0, 0]
    assert plan.begin.tolist() == [0, 0, 1, 4]
    assert plan.makespan == 9


def test_a_machine_that_is_busy_for_long_does_not_keep_others_from_sharing():
    """Task 0 keeps the last machine for 100 s; 2 and 3 wait for 1 (5 s) and are fastest on one."""
    runtimes = np.array([[999.0, 999, 100], [5, 6, 999], [10, 11, 999], [10, 11, 999]])
    plan = bmct(dag_of([[], [], [1], [1]]), runtimes, np.zeros(2), np.arange(3), FREE)
    assert plan.machine[:2].tolist() == [2, 0]
    assert sorted(plan.end[2:].tolist()) == [15, 16]


def test_parts_that_do_not_touch_share_the_machines():
    plan = bmct(
        dag_of([[], [0], [], [2]]), np.full((4, 2), 3.0), np.zeros(2), np.arange(2),
        Network.even(2),
    )  # fmt: skip
    assert plan.makespan == 6


def test_one_task_goes_to_its_fastest_machine_and_none_takes_no_time():
    plan = bmct(dag_of([[]]), np.array([[4.0, 2.0, 3.0]]), np.empty(0), np.arange(3), FREE)
    assert (plan.machine.tolist(), plan.makespan) == ([1], 2)
    empty = bmct(dag_of([]), np.empty((0, 3)), np.empty(0), np.arange(3), FREE)
    assert empty.makespan == 0


def test_ranks_are_those_of_heft_and_so_is_what_is_refused():
    runtimes, dag = np.array([[4.0, 2.0], [1.0, 5.0]]), dag_of([[], [0]])
    given_values = (dag, runtimes, np.array([3.0]), np.arange(2), Network.even(2, pace=2.0))
    assert bmct(*given_values).rank.tolist() == heft(*given_values).rank.tolist() == [12.0, 3.0]
    with pytest.raises(InputError, match="at least one"):
        bmct(dag, runtimes, np.array([3.0]), np.empty(0, int), Network.even(2))
