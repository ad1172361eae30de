"""What the search on samples is told, beside plain references and beside trying every change."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bursar.beliefs.histogram import Histogram
from bursar.model.dag import dag_of
from bursar.plan.workflow.assignment_search import Search, compiled
from bursar.plan.workflow.makespan import WorkflowTimes

LANES = 32
SHARP = 1e-9


def random_workflow(rng, tasks=9, offers=3, *, has_moves=True):
    parents = [
        rng.choice(task, rng.integers(0, min(task, 3) + 1), replace=False).tolist() if task else []
        for task in range(tasks)
    ]
    times = [
        [Histogram.from_samples(rng.lognormal(1, 1, 60), 20) for _ in range(offers)]
        for _ in range(tasks)
    ]
    dag = dag_of(parents)
    moves = rng.exponential(0.5, dag.edges) if has_moves else None
    return WorkflowTimes(dag, times, moves)


class Lanes:
    """The arrays of one assignment, run forward and backward by the kernels."""

    def __init__(self, workflow, offers, seed=0):
        tasks, dag = len(workflow.dag), workflow.dag
        self.workflow, self.offers, self.kernels = workflow, offers, compiled()
        self.edges = (dag.parents.starts, dag.parents.items, workflow.moves, dag.order)
        self.drawn = np.empty((tasks, workflow.offers, LANES))
        self.kernels.draw_times(workflow.table, workflow.rows, np.uint64(seed), self.drawn)
        self.times, self.ends = np.empty((tasks, LANES)), np.empty((tasks, LANES))
        self.tails, self.makespans = np.empty((tasks, LANES)), np.empty(LANES)
        self.kernels.blend(self.drawn, offers, 1.0, self.times)
        self.kernels.run_forward(
            *self.edges, workflow.is_last, self.times, self.ends, self.makespans
        )
        self.kernels.run_backward(*self.edges, self.times, self.tails)

    def burden(self, softness):
        tasks = len(self.workflow.dag)
        burden, flow = np.empty((tasks, self.workflow.offers)), np.empty((tasks, LANES))
        self.kernels.price_times(
            *self.edges,
            self.workflow.is_last,
            self.drawn,
            self.times,
            self.ends,
            self.makespans,
            np.full(LANES, 1 / LANES),
            softness,
            flow,
            burden,
        )
        return burden, flow


def offers_of(rng, workflow):
    return rng.integers(0, workflow.offers, len(workflow.dag))


@settings(max_examples=20)
@given(st.integers(0, 2**32), st.integers(0, 2**64 - 1))
def test_the_lanes_are_the_first_samples_of_the_same_seed(number, seed):
    rng = np.random.default_rng(number)
    workflow = random_workflow(rng)
    offers = offers_of(rng, workflow)
    assert np.array_equal(
        Lanes(workflow, offers, seed).makespans, workflow.sample(offers, LANES, seed=seed)
    )


@settings(max_examples=20)
@given(st.integers(0, 2**32))
def test_the_longest_way_through_some_task_is_the_makespan(number):
    rng = np.random.default_rng(number)
    workflow = random_workflow(rng)
    lanes = Lanes(workflow, offers_of(rng, workflow))
    through = lanes.ends + lanes.tails
    assert through.max(axis=0) == pytest.approx(lanes.makespans)
    is_last = workflow.is_last
    assert np.all(lanes.tails[is_last] == 0)


@settings(max_examples=20)
@given(st.integers(0, 2**32))
def test_a_loss_is_what_running_the_changed_workflow_finds(number):
    rng = np.random.default_rng(number)
    workflow = random_workflow(rng)
    offers = offers_of(rng, workflow)
    lanes = Lanes(workflow, offers)
    costs = rng.uniform(0, 1, (len(workflow.dag), workflow.offers))
    losses = np.empty(costs.shape)
    judged = lanes.kernels.judge_changes(
        lanes.drawn,
        offers,
        costs,
        lanes.times,
        lanes.ends,
        lanes.tails,
        lanes.makespans,
        losses,
    )
    is_cheaper = costs < costs[np.arange(len(offers)), offers][:, None]
    assert judged == is_cheaper.sum()
    assert np.all(np.isinf(losses[~is_cheaper]))
    for task, offer in np.argwhere(is_cheaper):
        changed = offers.copy()
        changed[task] = offer
        longer = Lanes(workflow, changed).makespans - lanes.makespans
        assert losses[task, offer] == pytest.approx(np.maximum(longer, 0).sum(), abs=1e-9)


@settings(max_examples=20)
@given(st.integers(0, 2**32))
def test_the_burdens_of_all_tasks_are_the_makespan(number):
    rng = np.random.default_rng(number)
    workflow = random_workflow(rng, has_moves=False)
    offers = offers_of(rng, workflow)
    lanes = Lanes(workflow, offers)
    burden, _ = lanes.burden(SHARP)
    assert burden[np.arange(len(offers)), offers].sum() == pytest.approx(lanes.makespans.mean())
    softer, _ = lanes.burden(5.0)
    assert softer[np.arange(len(offers)), offers].sum() <= lanes.makespans.mean() + 1e-9


def shares_in_plain_words(workflow, lanes, lane, softness):
    """The part of each task in one lane, from the end of all backwards."""
    tasks, dag = len(workflow.dag), workflow.dag
    flow = np.zeros(tasks)

    def share_out(among, arrivals, amount):
        near = np.maximum(1 - (max(arrivals) - np.array(arrivals)) / softness, 0) ** 2
        for one, part in zip(among, near / near.sum(), strict=True):
            flow[one] += amount * part

    last = np.flatnonzero(workflow.is_last)
    share_out(last, lanes.ends[last, lane], 1 / LANES)
    for task in dag.order[::-1]:
        edges = range(dag.parents.starts[task], dag.parents.starts[task + 1])
        if edges and flow[task]:
            arrivals = [lanes.ends[dag.parents.items[e], lane] + workflow.moves[e] for e in edges]
            share_out(dag.parents.items[list(edges)], arrivals, flow[task])
    return flow


@settings(max_examples=20)
@given(st.integers(0, 2**32), st.sampled_from([SHARP, 0.5, 5.0]))
def test_a_burden_is_that_of_a_plain_reference(number, softness):
    rng = np.random.default_rng(number)
    workflow = random_workflow(rng)
    lanes = Lanes(workflow, offers_of(rng, workflow))
    burden, flow = lanes.burden(softness)
    for lane in (0, 7, LANES - 1):
        plain = shares_in_plain_words(workflow, lanes, lane, softness)
        assert flow[:, lane] == pytest.approx(plain, abs=1e-9)
    assert burden == pytest.approx((flow[:, None, :] * lanes.drawn).sum(axis=2))


@settings(max_examples=30)
@given(st.integers(0, 2**32), st.floats(0, 1))
def test_nothing_as_cheap_has_less_burden_than_what_is_picked(number, tightness):
    rng = np.random.default_rng(number)
    burden, costs = rng.exponential(1, (5, 3)), rng.exponential(1, (5, 3))
    least, most = costs.min(axis=1).sum(), costs.max(axis=1).sum()
    budget = least + tightness * (most - least) + 1e-12
    picked = np.empty(5, dtype=np.int64)
    compiled().pick_within(burden, costs, budget, picked)
    tasks = np.arange(5)
    spent = costs[tasks, picked].sum()
    assert spent <= budget
    every = np.array(list(product(range(3), repeat=5)))
    rivals = every[costs[tasks, every].sum(axis=1) <= spent]
    assert burden[tasks, picked].sum() <= burden[tasks, rivals].sum(axis=1).min() + 1e-6


def test_a_blend_goes_a_part_of_the_way():
    rng = np.random.default_rng(1)
    workflow = random_workflow(rng)
    lanes = Lanes(workflow, np.zeros(9, dtype=np.int64))
    lanes.kernels.blend(lanes.drawn, np.full(9, 2), 0.25, lanes.times)
    assert lanes.times == pytest.approx(0.75 * lanes.drawn[:, 0] + 0.25 * lanes.drawn[:, 2])


def test_costs_are_those_of_the_times_that_the_makespan_has():
    rng = np.random.default_rng(2)
    workflow = random_workflow(rng)
    offers, rates = offers_of(rng, workflow), rng.uniform(0, 1, 9)
    lanes = Lanes(workflow, offers, seed=5)
    costs = np.zeros((2, 256))
    rows = workflow.rows_of(offers)
    compiled().sample_costs(workflow.table, rows, rates, np.uint64(5), 0, 2, costs)
    assert costs[0, :LANES] == pytest.approx(rates @ lanes.times)


def test_the_longest_share_of_makespans_is_looked_at():
    rng = np.random.default_rng(3)
    workflow = random_workflow(rng)
    offers = offers_of(rng, workflow)
    found = np.sort(workflow.sample(offers, 100, seed=4))
    for share, count in ((1.0, 100), (0.2, 20), (1e-9, 1)):
        search = Search(workflow, np.ones((9, 3)), share, 100, 4)
        assert search.value(offers) == pytest.approx(found[-count:].mean())
