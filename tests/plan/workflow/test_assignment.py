"""Offers for the tasks of workflows: beside all other assignments, and beside simple rivals."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bursar.beliefs.histogram import Histogram
from bursar.model.dag import dag_of
from bursar.model.errors import InputError
from bursar.plan.workflow.assignment import (
    AssignmentGoal,
    UnreachableError,
    choose,
    frontier,
)
from bursar.plan.workflow.makespan import WorkflowTimes

BINS = 50
MANY = 4000


def typical(rng, parents, offers=3):
    """Speed and price double from offer to offer, but what a task reads and writes is as slow."""
    tasks = len(parents)
    work = rng.lognormal(1, 0.8, tasks)
    data = rng.lognormal(0, 1, tasks) * rng.integers(0, 2, tasks)
    spread = rng.uniform(0, 0.8)
    times = [
        [
            Histogram(np.sort(work[task] / 2**offer + data[task] * rng.lognormal(0, spread, BINS)))
            for offer in range(offers)
        ]
        for task in range(tasks)
    ]
    prices = 2.0 ** np.arange(offers) * rng.uniform(0.9, 1.3, offers)
    return WorkflowTimes(dag_of(parents), times), prices


def random_parents(rng, tasks):
    return [
        rng.choice(task, rng.integers(0, min(task, 2) + 1), replace=False).tolist() if task else []
        for task in range(tasks)
    ]


def small(seed):
    rng = np.random.default_rng(seed)
    return typical(rng, random_parents(rng, int(rng.integers(4, 8))))


def layered(seed, width=40, layers=5):
    """Wide layers, and single tasks for which all of the next layer wait."""
    rng = np.random.default_rng(seed)
    parents: list[list[int]] = []
    for _ in range(layers):
        above = [len(parents) - 1] if parents else []
        first = len(parents)
        parents += [above] * width
        parents.append(list(range(first, first + width)))
    return typical(rng, parents, 4)


def costs_of(workflow, prices):
    return workflow.table.mean(axis=1)[workflow.rows] * prices


def budget_between(workflow, prices, tightness):
    """A share of the way from the cheapest to the fastest."""
    costs = costs_of(workflow, prices)
    fastest = workflow.table.mean(axis=1)[workflow.rows].argmin(axis=1)
    least, most = costs.min(axis=1).sum(), costs[np.arange(len(costs)), fastest].sum()
    return least + tightness * (most - least)


def all_assignments(workflow, prices):
    """Every one, what it costs, and its makespans [assignment, sample]."""
    tasks = len(workflow.dag)
    every = np.array(list(product(range(workflow.offers), repeat=tasks)))
    costs = costs_of(workflow, prices)[np.arange(tasks), every].sum(axis=1)
    return every, costs, np.array([workflow.sample(one, 512, seed=77) for one in every])


@pytest.mark.parametrize("percentile", [None, 0.9])
@pytest.mark.parametrize("seed", range(6))
def test_no_assignment_of_all_is_much_faster_within_the_budget(seed, percentile):
    workflow, prices = small(seed)
    every, costs, makespans = all_assignments(workflow, prices)

    def judge(rows):
        return rows.mean(axis=-1) if percentile is None else np.quantile(rows, percentile, axis=-1)

    for tightness in (0.1, 0.4, 0.8):
        budget = budget_between(workflow, prices, tightness)
        goal = AssignmentGoal(budget=budget, percentile=percentile)
        found = choose(workflow, prices, goal)
        assert found.expected_cost <= budget
        rivals = np.flatnonzero(costs <= budget)
        rivals = rivals[np.argsort(judge(makespans[rivals]))[:10]]
        values = [judge(workflow.sample(every[one], MANY, seed=78)) for one in rivals]
        assert judge(workflow.sample(found.offers, MANY, seed=78)) <= 1.05 * min(values)


@pytest.mark.parametrize("seed", range(6))
def test_no_assignment_of_all_is_much_cheaper_by_the_deadline(seed):
    workflow, prices = small(seed)
    _, costs, makespans = all_assignments(workflow, prices)
    late = np.quantile(makespans, 0.95, axis=1)
    deadline = 0.5 * (late.min() + late.max())
    found = choose(workflow, prices, AssignmentGoal(deadline=deadline))
    assert found.chance_by_deadline >= 0.9
    assert np.mean(workflow.sample(found.offers, MANY, seed=78) <= deadline) >= 0.87
    assert found.expected_cost <= 1.05 * costs[late <= deadline].min()


@settings(max_examples=15)
@given(st.integers(0, 2**32), st.integers(1, 20), st.floats(0, 1.2))
def test_a_budget_is_kept_and_all_offers_are_known(number, tasks, tightness):
    rng = np.random.default_rng(number)
    workflow, prices = typical(rng, random_parents(rng, tasks))
    fixed = rng.uniform(0, 1, tasks)
    budget = budget_between(workflow, prices, tightness) * (1 + 1e-9) + fixed.sum()
    found = choose(workflow, prices, AssignmentGoal(budget=budget), fixed_costs=fixed, samples=200)
    chosen = costs_of(workflow, prices)[np.arange(tasks), found.offers]
    assert found.expected_cost == pytest.approx(chosen.sum() + fixed.sum())
    assert found.expected_cost <= budget
    assert found.makespan == workflow.makespan(found.offers, 200, seed=1)
    assert found.cost.least >= fixed.sum()
    same = AssignmentGoal(budget=found.expected_cost)
    again = choose(workflow, prices, same, fixed_costs=fixed, samples=200)
    assert again.expected_cost <= found.expected_cost


@pytest.mark.parametrize("seed", range(4))
def test_a_budget_is_kept_with_the_chance_that_is_asked_for(seed):
    workflow, prices = layered(seed, width=8, layers=3)
    budget = budget_between(workflow, prices, 0.6)
    by_mean = choose(workflow, prices, AssignmentGoal(budget=budget))
    found = choose(workflow, prices, AssignmentGoal(budget=budget, budget_chance=0.9))
    assert found.chance_within_budget >= 0.9
    assert found.expected_cost <= by_mean.expected_cost
    again = choose(workflow, prices, AssignmentGoal(budget=budget, budget_chance=0.9), samples=MANY)
    assert again.chance_within_budget >= 0.9
    assert found.cost.quantile(0.9) >= 0.93 * budget


def greedy(workflow, prices, budget):
    """Upgrade the task of the longest path, by mean times, that gains most for its money."""
    dag = workflow.dag
    means = workflow.table.mean(axis=1)[workflow.rows]
    costs = means * prices
    offers = costs.argmin(axis=1)
    tasks = np.arange(len(dag))
    while True:
        ends, via = np.zeros(len(dag)), np.full(len(dag), -1)
        for task in dag.order:
            row = dag.parents.items[dag.parents.starts[task] : dag.parents.starts[task + 1]]
            if len(row):
                via[task] = row[ends[row].argmax()]
            ends[task] = means[task, offers[task]] + (ends[via[task]] if len(row) else 0.0)
        path = [int(ends.argmax())]
        while via[path[-1]] >= 0:
            path.append(via[path[-1]])
        left = budget - costs[tasks, offers].sum()
        moves = [
            ((means[task, offers[task]] - means[task, to]) / max(extra, 1e-12), task, to)
            for task in path
            for to in range(workflow.offers)
            if means[task, to] < means[task, offers[task]]
            and (extra := costs[task, to] - costs[task, offers[task]]) <= left
        ]
        if not moves:
            return offers
        _, task, to = max(moves)
        offers[task] = to


@pytest.mark.parametrize("tightness", [0.05, 0.25, 0.75])
@pytest.mark.parametrize("seed", range(3))
def test_simple_rivals_are_not_faster(seed, tightness):
    workflow, prices = layered(seed)
    budget = budget_between(workflow, prices, tightness)
    costs = costs_of(workflow, prices)
    found = choose(workflow, prices, AssignmentGoal(budget=budget))
    rivals = [greedy(workflow, prices, budget)]
    rivals += [
        np.full(len(costs), offer)
        for offer in range(workflow.offers)
        if costs[:, offer].sum() <= budget
    ]
    ours = workflow.sample(found.offers, MANY, seed=9).mean()
    assert ours <= 1.002 * min(workflow.sample(one, MANY, seed=9).mean() for one in rivals)


def test_the_money_goes_to_the_long_branch():
    """Two tasks side by side: the short one may be slow for nothing."""
    slow, fast = Histogram.constant(100.0), Histogram.constant(60.0)
    short = [Histogram.constant(50.0), Histogram.constant(30.0)]
    workflow = WorkflowTimes(dag_of([[], []]), [[slow, fast], short])
    found = choose(workflow, [1.0, 2.0], AssignmentGoal(budget=175.0))
    assert found.offers.tolist() == [1, 0]
    assert found.expected_cost == 170.0
    assert found.makespan == Histogram.constant(60.0)
    assert found.chance_within_budget == 1.0
    assert found.chance_by_deadline is None


def test_the_cheapest_by_a_deadline_slows_what_has_time():
    slow, fast = Histogram.constant(100.0), Histogram.constant(60.0)
    workflow = WorkflowTimes(dag_of([[], [0], []]), [[slow, fast]] * 3)
    found = choose(workflow, [1.0, 2.0], AssignmentGoal(deadline=165.0))
    assert sorted(found.offers[:2].tolist()) == [0, 1]
    assert found.offers[2] == 0
    assert found.chance_by_deadline == 1.0
    lazy = choose(workflow, [1.0, 2.0], AssignmentGoal(deadline=200.0))
    assert lazy.offers.tolist() == [0, 0, 0]


def test_of_offers_that_cost_the_same_the_fastest_is_taken():
    rows = [[Histogram.constant(80.0 / 2**offer) for offer in range(4)]] * 3
    workflow = WorkflowTimes(dag_of([[], [0], []]), rows)
    found = choose(workflow, [1.0, 2.0, 4.0, 8.0], AssignmentGoal(budget=240.0))
    assert found.offers.tolist() == [3, 3, 3]


def test_offers_that_cost_nothing_are_no_trouble():
    workflow, _ = small(1)
    found = choose(workflow, [0.0, 0.0, 0.0], AssignmentGoal(budget=0.0))
    fastest = workflow.table.mean(axis=1)[workflow.rows].argmin(axis=1)
    assert found.expected_makespan <= workflow.sample(fastest, 1000, seed=1).mean() * 1.001
    assert found.expected_cost == 0.0


def test_the_seed_alone_decides():
    workflow, prices = layered(1, width=5, layers=2)
    goal = AssignmentGoal(budget=budget_between(workflow, prices, 0.3))
    one, other = (choose(workflow, prices, goal, seed=3) for _ in range(2))
    assert one.offers.tolist() == other.offers.tolist()
    assert one.makespan == other.makespan
    assert one.whole == other.whole > 0
    assert one.partial == other.partial > 0


def test_a_frontier_leads_from_the_cheapest_to_the_fastest():
    workflow, prices = layered(2, width=10, layers=3)
    found = frontier(workflow, prices)
    assert 5 <= len(found) <= 9
    costs = [one.expected_cost for one in found]
    assert costs == sorted(costs)
    assert costs[0] == pytest.approx(budget_between(workflow, prices, 0.0))
    for one, other in pairwise(found):
        assert any(
            other.makespan.quantile(share) < one.makespan.quantile(share) for share in (0.5, 0.9)
        )
    fastest = workflow.table.mean(axis=1)[workflow.rows].argmin(axis=1)
    shortest = workflow.sample(fastest, 1000, seed=1).mean()
    assert found[-1].expected_makespan <= 1.01 * shortest


@pytest.mark.parametrize("chance", [None, 0.9])
def test_a_budget_that_is_too_little_is_refused_with_one_that_is_enough(chance):
    workflow, prices = small(2)
    least = budget_between(workflow, prices, 0.0)
    goal = AssignmentGoal(budget=0.9 * least, budget_chance=chance)
    with pytest.raises(UnreachableError, match="budget") as refused:
        choose(workflow, prices, goal)
    assert refused.value.nearest.expected_cost >= least * (1 - 1e-9)
    if chance is None:
        named = float(str(refused.value).split("cost is ")[1].split(",")[0])
        assert choose(workflow, prices, AssignmentGoal(budget=named)).expected_cost <= named


def test_a_deadline_that_is_too_soon_is_refused_with_the_shortest_makespan():
    workflow, prices = small(3)
    with pytest.raises(UnreachableError, match="with the fastest offers P90 is") as refused:
        choose(workflow, prices, AssignmentGoal(deadline=0.01))
    named = float(str(refused.value).split("P90 is ")[1].split(" s")[0])
    found = choose(workflow, prices, AssignmentGoal(deadline=1.1 * named))
    assert found.chance_by_deadline >= 0.9


def test_both_limits_are_kept_or_the_fastest_within_the_budget_is_named():
    workflow, prices = small(4)
    budget = budget_between(workflow, prices, 0.5)
    free = choose(workflow, prices, AssignmentGoal(budget=budget, percentile=0.9))
    at = free.makespan.quantile(0.9)
    found = choose(workflow, prices, AssignmentGoal(budget=budget, deadline=1.2 * at))
    assert found.chance_by_deadline >= 0.9
    assert found.expected_cost <= budget
    with pytest.raises(UnreachableError, match="within a budget") as refused:
        choose(workflow, prices, AssignmentGoal(budget=budget, deadline=0.5 * at))
    assert refused.value.nearest.expected_cost <= budget
    assert refused.value.nearest.makespan.quantile(0.9) == pytest.approx(at, rel=0.02)


ONE = WorkflowTimes(dag_of([[]]), [[Histogram.constant(1.0)] * 2])
GOAL = AssignmentGoal(budget=9.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (AssignmentGoal, "give a budget or a deadline"),
        (lambda: AssignmentGoal(budget=-1.0), "a budget of -1"),
        (lambda: AssignmentGoal(deadline=float("inf")), "a deadline of inf"),
        (lambda: AssignmentGoal(budget=1.0, budget_chance=1.0), "a budget_chance of 1"),
        (lambda: AssignmentGoal(budget=1.0, percentile=0.2), "a percentile of 0.2"),
        (lambda: choose(ONE, [1.0], GOAL), "1 prices for 2 offers"),
        (lambda: choose(ONE, [1.0, -1.0], GOAL), "all prices must be"),
        (lambda: choose(ONE, [1.0, 1.0], GOAL, fixed_costs=[1, 2]), "2 fixed costs for 1 tasks"),
        (lambda: choose(ONE, [1.0, 1.0], GOAL, samples=0), "at least 1"),
        (lambda: frontier(ONE, [1.0, 1.0], 1), "at least 2"),
    ],
)
def test_what_does_not_fit_together_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
