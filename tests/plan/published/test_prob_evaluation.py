"""Whole assignments: against plain sums and maxima, against sampling, and part by part."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from tests.plan.published.shapes import montage
from tests.plan.published.test_prob_search import by_task

from bursar.beliefs.histogram import Histogram
from bursar.beliefs.performance import Performance, Profile, time_on
from bursar.model.dag import dag_of
from bursar.model.time import SECOND
from bursar.plan.published.prob_evaluation import Evaluation
from bursar.plan.published.prob_operations import EXACT, PUBLISHED, Techniques
from bursar.plan.published.prob_paths import preprocess
from bursar.plan.published.prob_problem import Problem, by_level_and_kind
from bursar.plan.published.prob_times import Distributions, Scalars
from bursar.plan.workflow.makespan import WorkflowTimes


def performance(speed, disk, spread, seed):
    rng = np.random.default_rng(seed)
    bandwidths = disk * rng.lognormal(0, spread, 2000)
    return Performance(speed, Histogram.from_bandwidths(bandwidths), Histogram.constant(1e-7))


SLOW, FAST = performance(1, 1e6, 0.6, 1), performance(4, 4e6, 0.3, 2)


def problem(parents, profiles, kinds=None, budget=1e9, offers=(SLOW, FAST)):
    tasks = len(parents)
    prices = 1e-3 * 3.0 ** np.arange(len(offers))
    given = np.zeros(tasks) if kinds is None else kinds
    return Problem(dag_of(parents), given, profiles, offers, prices, np.full(tasks, 0.25), budget)


def evaluation(given, techniques=EXACT, times=None, groups=None, **options):
    return Evaluation(
        given,
        Distributions(given.performances) if times is None else times,
        preprocess(given.dag, **options),
        by_task(given) if groups is None else groups,
        techniques,
    )


CHAIN = [[], [0], [1], [2], [3]]
FORK = [[], [0], [0], [1], [2], [3, 4]]
MIXED = [Profile(5 * SECOND, 10**7 * (task + 1), 10**6) for task in range(6)]


def test_a_chain_takes_the_sum_of_its_tasks():
    given = problem(CHAIN, MIXED[:5])
    found = evaluation(given)
    state = (0, 1, 0, 1, 1)
    times = [time_on(MIXED[task], (SLOW, FAST)[offer]) for task, offer in enumerate(state)]
    exact = reduce(Histogram.__add__, times)
    np.testing.assert_allclose(found.makespan(state).values, exact.values, rtol=0.01)
    assert found.makespan(state).mean == pytest.approx(sum(one.mean for one in times))
    assert found.cost(state) == pytest.approx(
        sum(one.mean * (1e-3, 3e-3)[offer] + 0.25 for one, offer in zip(times, state, strict=True))
    )


def test_the_published_operations_are_those_that_are_done():
    given = problem(FORK, MIXED)
    found = evaluation(given)
    found.makespan((0,) * 6)
    expected = preprocess(given.dag).bound
    tally = found.times.tally
    assert (tally.adds, tally.maxima) == (expected.adds, expected.maxima) == (3, 2)
    assert (tally.generated, tally.evaluated_fully) == (6, 1)
    found.makespan((0,) * 6)
    assert tally.evaluated_fully == 1


def test_bundling_saves_distributions_and_keeps_the_mean():
    given = problem(CHAIN, MIXED[:5])
    plain, bundled = evaluation(given), evaluation(given, Techniques(cluster=1))
    state = (0, 0, 1, 1, 1)
    assert bundled.makespan(state).mean == pytest.approx(plain.makespan(state).mean)
    assert (plain.times.tally.generated, plain.times.tally.adds) == (5, 4)
    assert (bundled.times.tally.generated, bundled.times.tally.adds) == (2, 1)
    assert bundled.times.tally.bundled == 3
    assert bundled.makespan(state).quantile(0.99) > plain.makespan(state).quantile(0.99)


def test_clustering_makes_wide_levels_longer():
    parents = [[], *[[0]] * 8, list(range(1, 9))]
    given = problem(parents, [Profile(10 * SECOND)] * 10, kinds=[0, *[1] * 8, 2])
    alone, by_two = evaluation(given), evaluation(given, Techniques(bundle=False, cluster=2))
    state = (0,) * 10
    assert alone.makespan(state).mean == pytest.approx(30)
    assert by_two.makespan(state).mean == pytest.approx(40)
    assert by_two.times.tally.clustered == 4
    assert by_two.makespan((0, 0, 1, 1, 1, 1, 1, 1, 1, 0)).mean == pytest.approx(30)


def test_paths_that_share_tasks_are_not_independent_so_the_makespan_is_too_long():
    """The shared task varies most; both ways behind it are alike."""
    shared, way = Profile(SECOND, 10**8), Profile(SECOND, 10**7)
    given = problem([[], [0], [0]], [shared, way, way])
    found = evaluation(given).makespan((0, 0, 0)).mean
    times = [[time_on(one, SLOW)] for one in (shared, way, way)]
    sampled = WorkflowTimes(given.dag, times).makespan((0, 0, 0), 20_000).mean
    assert found > 1.2 * sampled


def test_a_bound_path_is_too_long_even_where_nothing_varies():
    """Its longest first task and its longest second task are on no path together."""
    parents = [[], [], [0], [1], [2, 3], [4]]
    work = [10, 1, 1, 10, 1, 1]
    given = problem(parents, [Profile(seconds * SECOND) for seconds in work])
    assert evaluation(given, binding=False).makespan((0,) * 6).mean == pytest.approx(13)
    assert evaluation(given).makespan((0,) * 6).mean == pytest.approx(22)


def test_prob_finds_a_montage_longer_than_it_is():
    parents, kinds = montage(6)
    profiles = [Profile(SECOND, 10**6 * (1 + kind)) for kind in kinds]
    given = problem(parents, profiles, kinds)
    groups = by_level_and_kind(given)
    found = evaluation(given, Techniques(cluster=1), groups=groups).makespan((0,) * 6)
    times = [[time_on(one, SLOW)] for one in profiles]
    sampled = WorkflowTimes(given.dag, times).makespan([0] * len(parents), 4000)
    assert 1.02 * sampled.mean < found.mean < 1.6 * sampled.mean


# --- part by part --------------------------------------------------------------------------------


def test_only_what_differs_is_evaluated():
    given = problem(CHAIN, MIXED[:5])
    found = evaluation(given, Techniques(bundle=False, cluster=1))
    one, other = found.partial_eval((0, 0, 0, 0, 0), (0, 1, 0, 0, 1))
    first, second = (time_on(MIXED[1], perf) + time_on(MIXED[4], perf) for perf in (SLOW, FAST))
    np.testing.assert_allclose(one.values, first.values, rtol=0.01)
    np.testing.assert_allclose(other.values, second.values, rtol=0.01)
    assert (found.times.tally.evaluated_partly, found.times.tally.evaluated_fully) == (2, 0)
    assert found.times.tally.adds == 2


def test_what_is_left_of_a_path_is_not_bundled_where_tasks_lay_between():
    found = evaluation(problem(CHAIN, MIXED[:5]), Techniques(cluster=1))
    found.partial_eval((0, 0, 0, 0, 0), (0, 1, 0, 0, 1))
    assert (found.times.tally.bundled, found.times.tally.adds) == (0, 2)


def test_everything_is_evaluated_where_half_differs():
    given = problem(CHAIN, MIXED[:5])
    found = evaluation(given, PUBLISHED)
    found.partial_eval((0, 0, 0, 0, 0), (1, 1, 1, 0, 0))
    assert (found.times.tally.evaluated_partly, found.times.tally.evaluated_fully) == (0, 2)


def test_parts_of_a_path_tell_which_of_two_is_longer():
    given = problem(CHAIN, MIXED[:5])
    partly, fully = evaluation(given, Techniques(cluster=1)), evaluation(given)
    cheap = (0, 0, 0, 0, 0)
    for other in ((0, 1, 0, 0, 0), (0, 0, 0, 1, 1)):
        assert partly.is_longer(cheap, other)
        assert fully.is_longer(cheap, other)
        assert not partly.is_longer(other, cheap)
        assert not fully.is_longer(other, cheap)


def test_parts_may_mislead_where_another_path_is_the_critical_one():
    """The short way becomes shorter; the makespan stays what it is (against Lemma 2)."""
    parents = [[], [0], [0], [1], [2]]
    profiles = [Profile(seconds * SECOND) for seconds in (1, 100, 4, 1, 1)]
    given = problem(parents, profiles)
    before, after = (0, 0, 0, 0, 0), (0, 0, 1, 0, 0)
    partly, fully = evaluation(given, Techniques()), evaluation(given, EXACT)
    assert partly.is_longer(before, after)
    assert not fully.is_longer(before, after)


def test_the_bound_is_never_above_the_expected_makespan():
    given = problem(FORK, MIXED, kinds=[0, 1, 1, 2, 2, 3])
    rng = np.random.default_rng(5)
    for techniques in (EXACT, PUBLISHED, Techniques(cluster=3)):
        found = evaluation(given, techniques)
        bound = found.bound()
        for _ in range(10):
            state = tuple(rng.integers(0, 2, 6).tolist())
            least = bound.lengths(np.array(state)[None, :, None] == np.arange(2))
            assert least[0] <= found.makespan(state).mean * (1 + 1e-9)


def test_the_bound_is_exact_for_a_chain():
    given = problem(CHAIN, MIXED[:5])
    for times in (Distributions((SLOW, FAST)), Scalars.average((SLOW, FAST))):
        found = evaluation(given, times=times)
        state = (0, 1, 1, 0, 1)
        least = found.bound().lengths(np.array(state)[None, :, None] == np.arange(2))
        assert least[0] == pytest.approx(times.mean(found.makespan(state)))
