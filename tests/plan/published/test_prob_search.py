"""The search: the optimum of small problems, budgets kept, and static methods that go wrong."""

from __future__ import annotations

import time
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.plan.published.shapes import montage

from bursar.beliefs.histogram import Histogram
from bursar.beliefs.performance import Performance, Profile
from bursar.model.dag import dag_of
from bursar.model.errors import InputError
from bursar.model.time import SECOND
from bursar.plan.published.prob_evaluation import Evaluation
from bursar.plan.published.prob_operations import EXACT, PUBLISHED, Techniques
from bursar.plan.published.prob_paths import preprocess
from bursar.plan.published.prob_problem import Problem, by_level_and_kind
from bursar.plan.published.prob_search import Method, search
from bursar.plan.published.prob_times import Distributions, Samples, Scalars


def performance(speed, disk, spread, seed):
    rng = np.random.default_rng(seed)
    bandwidths = disk * rng.lognormal(0, spread, 2000)
    return Performance(speed, Histogram.from_bandwidths(bandwidths), Histogram.constant(0.0))


OFFERS = [
    performance(1, 1e6, 0.8, 1),
    performance(2, 2e6, 0.6, 2),
    performance(4, 3e6, 0.4, 3),
    performance(8, 4e6, 0.2, 4),
]
PRICES = np.array([1.0, 2.2, 4.6, 9.8])


def problem(parents, profiles, budget, kinds=None, network=0.0):
    tasks = len(parents)
    given = np.zeros(tasks) if kinds is None else kinds
    costs = np.full(tasks, network)
    return Problem(dag_of(parents), given, profiles, OFFERS, PRICES, costs, budget)


def spending(given, share):
    """The problem with a budget between that of the cheapest and of the dearest offer for all."""
    expected = Distributions(OFFERS).expected(given.rows()) * PRICES
    least, most = expected[:, 0].sum(), expected[:, -1].sum()
    return given.with_budget(least + share * (most - least) + given.network_costs.sum())


def true_cost(given, offers):
    expected = Distributions(OFFERS).expected(given.rows())
    return (expected[by_task(given), offers] * PRICES[offers]).sum()


def by_task(given):
    """Every task for itself, as published."""
    return np.arange(given.tasks)


DIAMOND = [[], [0], [0], [1, 2], [3]]


@st.composite
def diamonds(draw):
    works = draw(st.lists(st.integers(1, 100), min_size=5, max_size=5))
    volumes = draw(st.lists(st.integers(0, 10**8), min_size=5, max_size=5))
    profiles = [Profile(w * SECOND, v) for w, v in zip(works, volumes, strict=True)]
    return spending(problem(DIAMOND, profiles, 0.0), draw(st.floats(0, 1)))


@settings(max_examples=15, deadline=None)
@given(diamonds())
def test_the_static_search_finds_the_optimum_of_small_problems(given):
    times, paths = Scalars.worst(OFFERS, 0.6), preprocess(given.dag)
    evaluation = Evaluation(given, times, paths, by_task(given), EXACT)
    affordable = [
        evaluation.makespan(state)
        for state in product(range(4), repeat=5)
        if evaluation.cost(state) <= given.budget
    ]
    for method in Method:
        found = search(
            given,
            times,
            groups=by_task(given),
            method=method,
            techniques=EXACT,
            iterations=4**5,
        )
        assert (found is None) == (not affordable)
        if found is not None:
            assert found.expected_time == pytest.approx(min(affordable))
            assert found.expected_cost <= given.budget


CHAIN = spending(
    problem(
        [[], [0], [1], [2]],
        [Profile(w * SECOND, v * 10**7) for w, v in ((10, 9), (50, 1), (20, 5), (5, 20))],
        0.0,
        network=0.5,
    ),
    0.4,
)


def test_prob_finds_nearly_the_least_expected_makespan():
    times = Distributions(OFFERS)
    paths, groups = preprocess(CHAIN.dag), by_task(CHAIN)
    evaluation = Evaluation(CHAIN, times, paths, groups, EXACT)
    least = min(
        evaluation.makespan(state).mean
        for state in product(range(4), repeat=4)
        if evaluation.cost(state) <= CHAIN.budget
    )
    for techniques in (EXACT, PUBLISHED):
        for method in Method:
            found = search(
                CHAIN, times, groups=groups, method=method, techniques=techniques, iterations=4**4
            )
            assert least * (1 - 1e-9) <= found.expected_time <= 1.03 * least
            assert found.expected_cost <= CHAIN.budget
            assert found.expected_cost == pytest.approx(true_cost(CHAIN, found.offers) + 4 * 0.5)
            assert found.distribution.mean == pytest.approx(found.expected_time)


def test_a_star_looks_at_fewer_states_than_the_generic_search():
    generic, a_star = (
        search(CHAIN, Distributions(OFFERS), groups=by_task(CHAIN), method=m, iterations=4**4)
        for m in (Method.GENERIC, Method.A_STAR)
    )
    assert generic.tally.states == 4**4
    assert a_star.tally.states < 4**4 / 2


def test_the_average_breaks_the_budget():
    average, prob = (
        search(CHAIN, times, groups=by_task(CHAIN), techniques=EXACT)
        for times in (Scalars.average(OFFERS), Distributions(OFFERS))
    )
    moving = CHAIN.network_costs.sum()
    assert average.expected_cost <= CHAIN.budget < true_cost(CHAIN, average.offers) + moving
    assert true_cost(CHAIN, prob.offers) + moving <= CHAIN.budget


def test_the_worst_case_finds_nothing_or_something_slow():
    """As in figure 6, for tight and loose budgets; the loose one bears the 90th percentile."""
    assert search(CHAIN, Scalars.worst(OFFERS), groups=by_task(CHAIN)) is None
    loose = spending(CHAIN, 1.0)
    worst, prob = (
        search(loose, times, groups=by_task(loose), techniques=EXACT)
        for times in (Scalars.worst(OFFERS, 0.9), Distributions(OFFERS))
    )
    assert true_cost(loose, worst.offers) < true_cost(loose, prob.offers)
    evaluation = Evaluation(
        loose, Distributions(OFFERS), preprocess(loose.dag), by_task(loose), EXACT
    )
    slow, quick = (evaluation.makespan(tuple(one.offers.tolist())).mean for one in (worst, prob))
    assert slow > 1.05 * quick


def test_samples_lead_to_a_solution_as_good_as_distributions():
    drawn = Samples(OFFERS, np.random.default_rng(6), 5000)
    by_samples, by_bins = (
        search(CHAIN, times, groups=by_task(CHAIN)) for times in (drawn, Distributions(OFFERS))
    )
    assert by_samples.expected_time == pytest.approx(by_bins.expected_time, rel=0.05)
    assert by_samples.expected_cost <= CHAIN.budget


def test_no_solution_is_found_where_the_budget_bears_none():
    for method in Method:
        assert search(CHAIN.with_budget(1.0), Distributions(OFFERS), method=method) is None


def test_a_search_is_limited():
    found = search(CHAIN, Distributions(OFFERS), groups=by_task(CHAIN), iterations=3)
    assert found.tally.states == 3
    with pytest.raises(InputError, match="a search of 0 steps"):
        search(CHAIN, Distributions(OFFERS), iterations=0)


def test_a_dearer_offer_that_costs_less_in_the_end_is_found():
    """The cheapest offer is so slow that no budget bears it, and is where the search begins."""
    slow = Performance(0.01, Histogram.constant(0.0), Histogram.constant(0.0))
    quick = Performance(1.0, Histogram.constant(0.0), Histogram.constant(0.0))
    given = Problem(
        dag_of([[], [0]]), [0, 1], [Profile(SECOND)] * 2, [quick, slow], [2, 1], [0, 0], 10.0
    )
    for method in Method:
        found = search(given, Distributions([quick, slow]), method=method)
        assert found.offers.tolist() == [0, 0]
        assert (found.expected_time, found.expected_cost) == (pytest.approx(2), pytest.approx(4))


def montage_problem(side):
    parents, kinds = montage(side)
    rng = np.random.default_rng(7)
    works, volumes = rng.uniform(1, 20, len(kinds)), rng.integers(10**6, 10**7, len(kinds))
    profiles = [Profile(int(w * SECOND), int(v)) for w, v in zip(works, volumes, strict=True)]
    return spending(problem(parents, profiles, 0.0, kinds), 0.5)


def test_a_large_montage_is_assigned_group_by_group_in_seconds():
    given = montage_problem(30)
    search(montage_problem(3), Distributions(OFFERS))
    begin = time.perf_counter()
    found = search(given, Distributions(OFFERS))
    assert time.perf_counter() - begin < 20
    assert found.expected_cost <= given.budget
    groups = by_level_and_kind(given)
    for group in range(groups.max() + 1):
        assert len(np.unique(found.offers[groups == group])) == 1
    cheap = Evaluation(given, Distributions(OFFERS), preprocess(given.dag), groups, PUBLISHED)
    assert found.expected_time < 0.6 * cheap.makespan((0,) * 6).mean


def test_more_money_does_not_make_it_slower():
    given = montage_problem(8)
    found = [
        search(spending(given, share), Distributions(OFFERS), techniques=EXACT).expected_time
        for share in (0.1, 0.3, 0.5, 0.7, 0.9, 1.2)
    ]
    assert all(after <= 1.01 * before for before, after in pairwise(found))
    paths, groups = preprocess(given.dag), by_level_and_kind(given)
    evaluation = Evaluation(given, Distributions(OFFERS), paths, groups, EXACT)
    assert found[-1] == pytest.approx(evaluation.makespan((3,) * 6).mean)


def test_every_pruning_saves_what_it_is_there_to_save():
    given = montage_problem(8)
    plain = search(given, Distributions(OFFERS), techniques=EXACT).tally
    off = {"bundle": False, "cluster": 1, "partial": False, "bounds": False}
    with_one = {
        name: search(given, Distributions(OFFERS), techniques=Techniques(**{**off, name: on})).tally
        for name, on in (("bundle", True), ("cluster", 2), ("partial", True), ("bounds", True))
    }
    assert plain.bundled == plain.clustered == plain.evaluated_partly == 0
    assert plain.compared_by_bounds == 0
    assert with_one["bundle"].bundled > 0
    assert with_one["cluster"].generated < 0.6 * plain.generated
    assert with_one["partial"].evaluated_fully < plain.evaluated_fully
    assert with_one["bounds"].compared_fully < plain.compared_fully
