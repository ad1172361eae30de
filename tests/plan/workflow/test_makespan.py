"""Sampled makespans: a plain reference draw by draw, closed forms, and paths that share tasks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bursar.beliefs.histogram import BINS, Histogram, greatest
from bursar.model.dag import dag_of
from bursar.model.errors import InputError
from bursar.plan.workflow.makespan import WorkflowTimes

WORD = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


def splitmix(state):
    z = state & WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return z ^ (z >> 31)


def drawn(histogram, seed, task, sample):
    """The time of a task in a sample: 32 bits of the hash that two samples share."""
    hashed = splitmix(splitmix(seed + GOLDEN * (task + 1)) + GOLDEN * (sample // 2))
    bits = hashed >> 32 if sample % 2 else hashed & 0xFFFFFFFF
    return histogram.values[bits * len(histogram.values) >> 32]


def execute(parents, times, moves, seed, sample):
    """One execution, told plainly."""
    ends = {}

    def end(task):
        if task not in ends:
            waits = zip(parents[task], moves[task], strict=True)
            begin = max((end(parent) + move for parent, move in waits), default=0.0)
            ends[task] = begin + drawn(times[task], seed, task, sample)
        return ends[task]

    return max(end(task) for task in range(len(parents)))


def random_time(rng, bins=BINS):
    return Histogram.from_samples(rng.lognormal(rng.normal(), rng.uniform(0, 2), 300), bins)


def kolmogorov(one, other):
    points = np.sort(np.concatenate([one, other]))
    shares = [
        np.searchsorted(np.sort(row), points, side="right") / len(row) for row in (one, other)
    ]
    return np.abs(shares[0] - shares[1]).max()


@settings(max_examples=25)
@given(st.integers(0, 2**32), st.integers(1, 12), st.integers(0, 2**64 - 1))
def test_an_execution_is_that_of_a_plain_reference(number, tasks, seed):
    rng = np.random.default_rng(number)
    names = rng.permutation(tasks)
    parents = [[] for _ in range(tasks)]
    for place, name in enumerate(names):
        count = int(rng.integers(0, place + 1))
        parents[name] = sorted(rng.choice(names[:place], count, replace=False).tolist())
    times = [[random_time(rng, 7), random_time(rng, 7)] for _ in range(tasks)]
    offers = rng.integers(0, 2, tasks)
    moves = [rng.exponential(1, len(row)) for row in parents]
    workflow = WorkflowTimes(dag_of(parents), times, np.concatenate(moves))
    found = workflow.sample(offers, 300, seed=seed)
    chosen = [row[offer] for row, offer in zip(times, offers, strict=True)]
    for sample in (0, 1, 2, 77, 255, 256, 299):
        assert found[sample] == execute(parents, chosen, moves, seed, sample)


def test_a_chain_takes_the_sum_of_its_tasks():
    rng = np.random.default_rng(1)
    first, second = random_time(rng), random_time(rng)
    workflow = WorkflowTimes(dag_of([[], [0]]), [[first], [second]])
    found = workflow.sample([0, 0], 200_000, threads=2)
    assert kolmogorov(found, (first + second).values) <= 0.01
    assert found.mean() == pytest.approx(first.mean + second.mean, rel=0.02)


def test_tasks_side_by_side_take_as_long_as_the_longest():
    rng = np.random.default_rng(2)
    times = [random_time(rng) for _ in range(5)]
    workflow = WorkflowTimes(dag_of([[]] * 5), [[one] for one in times])
    assert kolmogorov(workflow.sample([0] * 5, 100_000), greatest(times).values) <= 0.015


def test_paths_that_share_a_task_are_not_independent():
    """One task of very different times, then ten short ones side by side."""
    rng = np.random.default_rng(3)
    shared = Histogram.from_samples(rng.exponential(100, 20_000))
    short = Histogram.from_samples(rng.uniform(9, 11, 20_000))
    workflow = WorkflowTimes(dag_of([[]] + [[0]] * 10), [[shared]] + [[short]] * 10)
    found = workflow.makespan([0] * 11, 50_000)
    right = shared + greatest([short] * 10)
    by_paths = greatest([shared + short] * 10)
    for share in (0.5, 0.9, 0.99):
        assert found.quantile(share) == pytest.approx(right.quantile(share), rel=0.03)
    assert by_paths.quantile(0.5) > 2.5 * right.quantile(0.5)


def test_a_task_on_another_offer_leaves_the_luck_of_the_others():
    rng = np.random.default_rng(4)
    times = [[random_time(rng)] * 2 for _ in range(6)]
    slow = Histogram.constant(10_000.0)
    times[2] = [slow, slow.shifted(5.0)]
    workflow = WorkflowTimes(dag_of([[], [0], [1], [2], [3], []]), times)
    before = workflow.sample([0] * 6, seed=9)
    after = workflow.sample([0, 1, 1, 0, 1, 1], seed=9)
    assert after - before == pytest.approx(5.0)
    assert np.ptp(before) > 1


def test_the_seed_alone_decides_and_samples_are_independent():
    rng = np.random.default_rng(5)
    one = random_time(rng)
    workflow = WorkflowTimes(dag_of([[]]), [[one]])
    row = workflow.sample([0], 40_000, seed=1)
    assert np.array_equal(row, workflow.sample([0], 40_000, seed=1, threads=2))
    assert np.array_equal(row[:33], workflow.sample([0], 33, seed=1))
    ranks = np.searchsorted(one.values, row) / BINS
    for lag in (1, 2, 128, 256):
        assert abs(np.corrcoef(ranks[lag:], ranks[:-lag])[0, 1]) < 0.025
    other = np.searchsorted(one.values, workflow.sample([0], 40_000, seed=2)) / BINS
    assert abs(np.corrcoef(ranks, other)[0, 1]) < 0.025


def test_the_tasks_of_a_sample_are_independent():
    """The variance of a long chain is the sum of its tasks'."""
    one = Histogram.from_samples(np.linspace(0, 1, 1000))
    tasks = 400
    chain = dag_of([[task - 1] if task else [] for task in range(tasks)])
    found = WorkflowTimes(chain, [[one]] * tasks).sample([0] * tasks, 10_000)
    assert found.mean() == pytest.approx(tasks / 2, rel=0.002)
    assert found.var() == pytest.approx(tasks / 12, rel=0.06)


def test_constants_add_up_exactly():
    times = [[Histogram.constant(value)] for value in (3.0, 4.0, 10.0)]
    workflow = WorkflowTimes(dag_of([[], [0], []]), times, [0.5])
    assert workflow.makespan([0, 0, 0]) == Histogram.constant(10.0)
    workflow = WorkflowTimes(dag_of([[], [0], []]), times, [5.0])
    assert workflow.makespan([0, 0, 0]) == Histogram.constant(12.0)


def test_a_table_of_times_is_as_good_as_histograms():
    rng = np.random.default_rng(6)
    times = [[random_time(rng, 9) for _ in range(3)] for _ in range(4)]
    dag = dag_of([[], [0], [0], [1, 2]])
    moves = [1.0, 2.0, 0.0, 3.0]
    table = np.array([one.values for row in times for one in row])
    known = WorkflowTimes(dag, times, moves)
    laid = WorkflowTimes.from_table(dag, table, np.arange(12).reshape(4, 3), moves)
    offers = [2, 0, 1, 1]
    assert np.array_equal(laid.sample(offers), known.sample(offers))
    assert np.array_equal(laid.bounds(), known.bounds())


ONE = Histogram.constant(1.0)
PAIR = dag_of([[], [0]])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: WorkflowTimes(dag_of([]), []), "without tasks"),
        (lambda: WorkflowTimes(PAIR, [[], []]), "no offer"),
        (lambda: WorkflowTimes(PAIR, [[ONE]]), "2 tasks need a time"),
        (lambda: WorkflowTimes(PAIR, [[ONE], [ONE, ONE]]), "same offers"),
        (lambda: WorkflowTimes(PAIR, [[ONE], [Histogram.constant(1, 3)]]), "numbers of bins"),
        (lambda: WorkflowTimes(PAIR, [[ONE], [Histogram.constant(-1)]]), "less than no time"),
        (lambda: WorkflowTimes(PAIR, [[ONE], [ONE]], [1.0, 2.0]), "2 moves for 1 edges"),
        (lambda: WorkflowTimes(PAIR, [[ONE], [ONE]], [-1.0]), "not negative"),
        (lambda: WorkflowTimes.from_table(PAIR, [], [[0], [0]]), "without times"),
        (lambda: WorkflowTimes.from_table(PAIR, [[2, 1]], [[0], [0]]), "ascending"),
        (lambda: WorkflowTimes.from_table(PAIR, [[-1, 1]], [[0], [0]]), "less than no time"),
        (lambda: WorkflowTimes.from_table(PAIR, [[1, 2]], [[0]]), "2 tasks need a time"),
        (lambda: WorkflowTimes.from_table(PAIR, [[1, 2]], [[0], [1]]), "not in the table"),
        (lambda: WorkflowTimes.from_table(PAIR, [[1, 2]], [[], []]), "no offer"),
        (lambda: WorkflowTimes(PAIR, [[ONE], [ONE]]).sample([0]), "1 offers for 2 tasks"),
        (lambda: WorkflowTimes(PAIR, [[ONE], [ONE]]).sample([0, 1]), "not known"),
        (lambda: WorkflowTimes(PAIR, [[ONE], [ONE]]).sample([0, 0], 0), "at least 1"),
    ],
)
def test_what_does_not_fit_together_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
