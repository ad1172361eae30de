"""IC-PCP: examples computed by hand, and what holds of every plan."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bursar.model.dag import dag_of
from bursar.model.errors import InputError
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.plan.published.icpcp import icpcp
from bursar.plan.workflow.heft import Network
from bursar.plan.workflow.schedule import microseconds

DOLLAR = Money.parse("1")
SMALL, LARGE = Offer("small", DOLLAR), Offer("large", DOLLAR * 5)
MARKET = Market("USD", "2013-01-01", (SMALL, LARGE))
FREE = Network.even(2)


def minutes(*rows):
    """Run times on the small offer in minutes; the large one is three times as fast."""
    return np.array(rows, float)[:, np.newaxis] * 60 / [1, 3]


def planned(parents, runtimes, deadline, volumes=None, network=FREE, market=MARKET):
    dag = dag_of(parents)
    moved = np.zeros(dag.edges) if volumes is None else np.array(volumes, float)
    plan = icpcp(dag, runtimes, moved, market, network, deadline)
    plan.check(dag, runtimes, moved, network, market)
    assert plan.makespan <= deadline
    return plan


def test_one_task_gets_the_cheapest_machine_that_is_fast_enough():
    slow = planned([[]], minutes(90), 2 * HOUR)
    assert (slow.machines.tolist(), slow.cost(MARKET)) == ([0], DOLLAR * 2)
    fast = planned([[]], minutes(90), 1 * HOUR)
    assert (fast.machines.tolist(), fast.cost(MARKET)) == ([1], DOLLAR * 5)


def test_a_deadline_that_cannot_be_kept_is_reported_with_the_shortest_time():
    with pytest.raises(InputError, match=r"the shortest takes 30.0 min \(1800000000 us\)"):
        planned([[]], minutes(90), 30 * MINUTE - 1)
    assert planned([[]], minutes(90), 30 * MINUTE).makespan == 30 * MINUTE


def test_a_chain_runs_on_one_machine_and_moves_no_files():
    """Three tasks of 30 min on the small offer; moving a file takes 10 min.

    On a machine each, of the large offer, it would take 3 * 10 + 2 * 10 min.
    """
    chain, network = [[], [0], [1]], Network.even(2, pace=1.0)
    plan = planned(chain, minutes(30, 30, 30), 90 * MINUTE, [600, 600], network)
    assert plan.machine.tolist() == [0, 0, 0]
    assert (plan.makespan, plan.cost(MARKET)) == (90 * MINUTE, DOLLAR * 2)
    fast = planned(chain, minutes(30, 30, 30), 50 * MINUTE, [600, 600], network)
    assert (fast.makespan, fast.cost(MARKET)) == (30 * MINUTE, DOLLAR * 5)
    with pytest.raises(InputError, match=r"the shortest takes 50.0 min"):
        planned(chain, minutes(30, 30, 30), 50 * MINUTE - 1, [600, 600], network)


def test_a_fork_and_join_is_planned_path_by_path():
    """The critical path 0, 1, 3 (10, 40 and 10 min) gets a machine, and 2 (20 min) another.

    Tasks that are placed stay, so that 2 must end when 1 does, at 50 min.
    """
    plan = planned([[], [0], [0], [1, 2]], minutes(10, 40, 20, 10), HOUR)
    assert plan.machine.tolist() == [0, 0, 1, 0]
    assert plan.begin.tolist() == [0, 10 * MINUTE, 10 * MINUTE, 50 * MINUTE]
    assert plan.cost(MARKET) == DOLLAR * 2


def test_a_path_uses_the_rest_of_a_paid_hour():
    plan = planned([[], []], minutes(40, 20), 2 * HOUR)
    assert plan.machine.tolist() == [0, 0]
    assert plan.begin.tolist() == [0, 40 * MINUTE]
    assert plan.cost(MARKET) == DOLLAR


def test_a_path_that_uses_no_paid_time_gets_its_own_machine():
    plan = planned([[], []], minutes(60, 20), 2 * HOUR)
    assert plan.machine.tolist() == [0, 1]


def test_a_path_goes_before_the_tasks_of_a_machine_as_late_as_it_can():
    """The critical path 0, 1 (1 h each) has a machine; 2 (30 min) waits for 0 and gets another.

    Then 3 (20 min) has room before and after 2 in the hour that is paid, and ends earlier before.
    """
    plan = planned([[], [0], [0], []], minutes(60, 60, 30, 20), 2 * HOUR)
    assert plan.machine.tolist() == [0, 0, 1, 1]
    assert plan.begin.tolist() == [0, HOUR, HOUR, 40 * MINUTE]
    assert plan.cost(MARKET) == DOLLAR * 3


def test_files_on_the_machine_of_a_path_are_there_at_once():
    """Task 2 waits for 0, whose file takes 30 min to another machine; it follows 1 at 40 min."""
    fork, network = [[], [0], [0]], Network.even(2, pace=1.0)
    plan = planned(fork, minutes(20, 20, 20), 2 * HOUR, [1800, 1800], network)
    assert plan.begin.tolist() == [0, 20 * MINUTE, 40 * MINUTE]
    assert plan.cost(MARKET) == DOLLAR


def test_boot_times_count_for_the_deadline_and_the_cost():
    market = Market("USD", "", (Offer("slow", DOLLAR, boot=10 * MINUTE), LARGE))
    runtimes = np.array([[3600.0, 1800.0]])
    plan = planned([[]], runtimes, 70 * MINUTE, market=market)
    assert (plan.begin.tolist(), plan.cost(market)) == ([10 * MINUTE], DOLLAR * 2)
    assert planned([[]], runtimes, 69 * MINUTE, market=market).cost(market) == DOLLAR * 5


def test_a_path_is_cut_where_no_machine_can_take_all_of_it():
    """Each of two tasks has an offer that is much too slow for it."""
    runtimes = np.array([[600.0, 60000.0], [60000.0, 600.0]])
    plan = planned([[], [0]], runtimes, 20 * MINUTE)
    assert plan.machines[plan.machine].tolist() == [0, 1]


def test_what_runs_between_two_tasks_of_a_path_keeps_its_time():
    """The critical path 0, 1, 3 gets a small machine, where 30 min are needed for each task.

    Task 2 lies between 0 and 3, elsewhere; with files that take 20 min it can begin at 50 min. On
    the large machine it takes 28 / 3 min, so that 3 has its files at 79 min 20 s.
    """
    parents, network = [[], [0], [0], [1, 2]], Network.even(2, pace=1.0)
    plan = planned(parents, minutes(30, 30, 28, 30), 3 * HOUR, [1200] * 4, network)
    assert plan.machines[plan.machine].tolist() == [0, 0, 1, 0]
    assert plan.begin.tolist() == [0, 30 * MINUTE, 50 * MINUTE, 4760 * SECOND]


def test_machines_that_would_wait_for_files_give_way_to_one_for_each_task():
    """A machine for 0, 1 and 3 would wait for the files of 2 for an hour, at a dollar a minute."""
    market = Market("USD", "", (Offer("small", DOLLAR, billing=MINUTE),))
    parents, network = [[], [0], [0], [1, 2]], Network.even(1, pace=1.0)
    files = [1860, 1800, 1860, 1800]
    plan = planned(parents, np.full((4, 1), 60.0), 70 * MINUTE, files, network, market)
    assert (len(plan.machines), plan.cost(market)) == (4, DOLLAR * 4)


def test_an_empty_workflow_costs_nothing():
    assert planned([], np.empty((0, 2)), 0).cost(MARKET) == Money(0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"runtimes": np.ones((2, 3))}, "run time of shape"),
        ({"runtimes": np.full((2, 2), np.nan)}, "every run time must be finite"),
        ({"volumes": [1.0, 2.0]}, "volume of shape"),
        ({"volumes": [-1.0]}, "every volume must be finite"),
        ({"network": Network.even(3)}, "latency of shape"),
        ({"market": Market("USD", "", ()), "runtimes": np.ones((2, 0)), "network": Network.even(0)},
         "at least one"),
    ],
)  # fmt: skip
def test_what_does_not_fit_together_is_refused(change, message):
    given_values = {"parents": [[], [0]], "runtimes": minutes(1, 1), "deadline": HOUR} | change
    with pytest.raises(InputError, match=message):
        planned(**given_values)


# --- laws -----------------------------------------------------------------------------------------


@st.composite
def problems(draw, *, is_even):
    """A workflow, a market and a network; if even, one offer is the fastest for all tasks."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    tasks, offers = draw(st.integers(1, 30)), draw(st.integers(1, 3))
    names = rng.permutation(tasks)
    parents = [[] for _ in range(tasks)]
    degree = draw(st.sampled_from([0.3, 1, 3]))
    for place, name in enumerate(names):
        count = min(place, rng.poisson(degree))
        parents[name] = sorted(rng.choice(names[:place], count, replace=False).tolist())
    speeds = 1.0 + np.arange(offers)
    work = rng.lognormal(6, 1, (tasks, 1 if is_even else offers))
    if draw(st.booleans()):
        work[rng.integers(0, tasks)] = 0.0
    volumes = rng.exponential(draw(st.sampled_from([0, 10, 500])), sum(map(len, parents)))
    billing = draw(st.sampled_from([SECOND, 10 * MINUTE, HOUR]))
    boots = np.repeat(rng.integers(0, 200, 1), offers) if is_even else rng.integers(0, 200, offers)
    market = Market(
        "USD",
        "",
        tuple(
            Offer(
                f"offer{number}",
                Money(int(rng.integers(1, 1000))),
                billing=billing,
                boot=int(boots[number]) * SECOND,
            )
            for number in range(offers)
        ),
    )
    network = Network(*rng.random((2, offers, offers)))
    return parents, work / speeds, volumes, market, network


def shortest(parents, runtimes, volumes, market, network):
    """The earliest end with a machine for each task, and its offer, by the slowest moves."""
    dag = dag_of(parents)
    times = microseconds(runtimes)
    end, offer = np.zeros(len(dag), np.int64), np.zeros(len(dag), np.int64)
    for task in dag.order:
        ready = 0
        for edge in range(dag.parents.starts[task], dag.parents.starts[task + 1]):
            move = microseconds(network.latency + volumes[edge] * network.pace).max()
            ready = max(ready, end[dag.parents.items[edge]] + move)
        ends = [max(ready, each.boot) + times[task, n] for n, each in enumerate(market.offers)]
        offer[task], end[task] = np.argmin(ends), min(ends)
    stays = times[np.arange(len(dag)), offer]
    charges = [
        market.offers[number].charge(int(stay) + market.offers[number].boot).nanos
        for number, stay in zip(offer, stays, strict=True)
    ]
    return int(end.max()), Money(sum(charges))


@settings(max_examples=150, deadline=None)
@given(problems(is_even=True), st.floats(1, 8))
def test_a_plan_keeps_its_deadline_and_costs_no_more_than_a_fast_machine_for_each_task(
    problem, times_as_long
):
    parents, runtimes, volumes, market, network = problem
    least, dearest = shortest(*problem)
    plan = planned(parents, runtimes, int(least * times_as_long), volumes, network, market)
    assert plan.cost(market) <= dearest


@settings(max_examples=150, deadline=None)
@given(problems(is_even=False), st.floats(1, 4))
def test_a_plan_keeps_its_deadline_also_where_offers_suit_different_tasks(problem, times_as_long):
    parents, runtimes, volumes, market, network = problem
    least, _ = shortest(*problem)
    planned(parents, runtimes, int(least * times_as_long), volumes, network, market)


@settings(max_examples=40, deadline=None)
@given(problems(is_even=False))
def test_only_a_deadline_below_the_shortest_time_is_refused(problem):
    parents, runtimes, volumes, market, network = problem
    least, _ = shortest(*problem)
    with pytest.raises(InputError, match=f"{least} us"):
        planned(parents, runtimes, least - 1, volumes, network, market)
