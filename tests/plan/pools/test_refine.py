from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bursar.model.money import Money
from bursar.model.strategy import Kind, Strategy
from bursar.model.time import MINUTE
from bursar.plan.pools.estimator import Conditions, Price, estimate
from bursar.plan.pools.refine import (
    MOST_CENTRES,
    MOST_COPIES,
    ROUNDS,
    Space,
    neighbours,
    refine,
    search,
)
from bursar.plan.pools.strategies import (
    POINTS,
    default_deadline,
    sampled_ratios,
    sampled_strategies,
    static_strategies,
)

MEAN = 35 * MINUTE
SPACE = Space(MEAN, 0.1, 50)
UTILITIES = {
    "cheapest": lambda makespan, cost: cost,
    "fastest": lambda makespan, cost: makespan,
    "product": lambda makespan, cost: makespan * cost,
    "in a hurry": lambda makespan, cost: makespan**2 * cost,
    "a sum": lambda makespan, cost: makespan + 2e6 * cost,
}


def smooth(strategies):
    """A landscape whose best points lie between those of the grid."""
    return [
        (
            1000 + (one.timeout / MEAN - 1.13) ** 2 + one.deadline / MEAN / 9,
            1 / (1 + one.copies) + (one.deadline / MEAN - 2.61) ** 2 + one.ratio,
        )
        for one in strategies
    ]


def conditions(seed):
    rng = Random(seed)
    times = np.sort(np.array([round(rng.lognormvariate(21, 0.4)) for _ in range(200)]))
    return Conditions(
        tasks=rng.randint(20, 150),
        unreliable=rng.randint(5, 60),
        reliability=rng.uniform(0.3, 0.99),
        turnarounds=times,
        reliable_time=round(rng.uniform(0.5, 2) * float(times.mean())),
        unreliable_price=Price(Money(rng.randint(0, 5000))),
        reliable_price=Price(Money(rng.randint(5000, 100_000))),
    )


@pytest.mark.parametrize("seed", range(4))
def test_whatever_is_preferred_the_refined_search_is_never_worse_than_the_grid(seed):
    known = conditions(seed)
    space = Space(known.mean, 0.2, known.unreliable)

    def points_of(strategies):
        return estimate(known, strategies, 5, seed=seed).means()

    grid, refined = search(space, points_of, "paper"), search(space, points_of)
    assert refined.strategies[: len(grid.strategies)] == grid.strategies
    assert refined.points[: len(grid.points)] == grid.points, (
        "the same random numbers in all rounds"
    )
    for name, utility in UTILITIES.items():
        best = min(utility(*refined.points[index]) for index in refined.frontier)
        assert best <= min(utility(*point) for point in grid.points), name


def test_it_finds_what_lies_between_the_points_of_the_grid():
    grid, refined = search(SPACE, smooth, "paper"), search(SPACE, smooth)
    for name in ("fastest", "cheapest"):
        utility = UTILITIES[name]
        best = min(utility(*point) for point in refined.points)
        assert best < min(utility(*point) for point in grid.points)
    deadlines = [refined.strategies[index].deadline / MEAN for index in refined.frontier]
    assert min(abs(deadline - 2.61) for deadline in deadlines) < 0.2


def test_the_work_is_bounded_and_each_strategy_is_estimated_once():
    asked = []

    def points_of(strategies):
        asked.extend(strategies)
        return smooth(strategies)

    found = search(SPACE, points_of)
    assert len(asked) == len(set(asked)) == len(found.strategies)
    grid = len(sampled_strategies(MEAN, 0.1, 50))
    assert grid < len(asked) <= grid + ROUNDS * MOST_CENTRES * 8


def test_a_grid_alone_is_estimated_at_once():
    calls = []

    def points_of(strategies):
        calls.append(len(strategies))
        return smooth(strategies)

    search(SPACE, points_of, "paper")
    search(SPACE, points_of, "fine")
    assert len(calls) == 2
    assert calls[1] > 4 * calls[0]


@settings(max_examples=300)
@given(st.data())
def test_neighbours_are_within_the_space_and_differ(data):
    space = Space(
        data.draw(st.integers(1, 10**13)),
        data.draw(st.floats(0.02, 1)),
        data.draw(st.integers(1, 300)),
    )
    centre = data.draw(
        st.sampled_from(sampled_strategies(space.mean, space.ratio, space.unreliable))
    )
    last = Strategy(0, 0, 1, space.ratio).reliable_machines(space.unreliable)
    for halving in range(1, ROUNDS + 1):
        for one in neighbours(centre, space, halving):
            assert 0 <= one.copies <= MOST_COPIES
            assert 0 <= one.timeout <= one.deadline <= 4 * space.mean
            assert 1 <= one.reliable_machines(space.unreliable) <= last


def test_steps_are_halved_from_round_to_round():
    centre = Strategy(2, MEAN, 2 * MEAN, 0.06)
    for halving in (1, 2):
        near = set(neighbours(centre, SPACE, halving))
        step = MEAN >> halving
        assert {one.deadline for one in near} == {2 * MEAN - step, 2 * MEAN, 2 * MEAN + step}
        assert Strategy(2, MEAN + step // 2, 2 * MEAN, 0.06) in near
        assert Strategy(3, MEAN, 2 * MEAN, 0.06) in near
        assert {one.reliable_machines(50) for one in near} == {2, 3, 4}


def test_only_strategies_of_the_sampled_kind_have_neighbours():
    for one in static_strategies(MEAN, 0.1, 150):
        alone = one.kind != Kind.NTDMR or one.copies is None
        assert (not list(neighbours(one, SPACE, 1))) == alone


def test_a_search_may_start_anywhere():
    start = [Strategy(1, MEAN, 2 * MEAN, 0.1)]
    found = refine(SPACE, smooth, start)
    assert found.strategies[0] == start[0]
    assert len(found.strategies) > 10


def test_without_instances_of_its_own_a_strategy_has_the_default_deadline():
    """N = 0: nothing is sent to unreliable machines in the tail, so D means nothing."""
    one = Strategy(1, MEAN, 2 * MEAN, 0.1)
    near = [other for other in neighbours(one, SPACE, 1) if other.copies == 0]
    assert [(other.timeout, other.deadline) for other in near] == [
        (MEAN, default_deadline(MEAN)),
    ]


def test_of_a_long_frontier_the_neighbours_of_both_ends_are_looked_at():
    """A hundred strategies on a line, of which none beats another."""
    start = [Strategy(1, place, 3 * MEAN, 0.1) for place in range(100)]
    asked = []

    def line(strategies):
        asked.append(list(strategies))
        return [(float(one.timeout), -float(one.timeout)) for one in strategies]

    refine(SPACE, line, start, rounds=1)
    parts = (POINTS - 1) << 1
    step = 3 * MEAN // parts
    longer = {one.timeout - step for one in asked[1] if one.timeout >= step}
    assert {0, 99} <= longer
    assert len([place for place in range(100) if place in longer]) == MOST_CENTRES


def test_no_strategy_sends_more_instances_than_are_worth_it():
    near = list(neighbours(Strategy(MOST_COPIES, MEAN, 2 * MEAN, 0.1), SPACE, 1))
    assert {one.copies for one in near} == {MOST_COPIES - 1, MOST_COPIES}


def test_steps_of_the_ratio_are_halved_from_round_to_round():
    """Of 1,000 machines the grid has so many reliable ones; half a step is looked at first."""
    wide = Space(MEAN, 0.5, 1000)
    ratios = [round(ratio * 1000) for ratio in sampled_ratios(0.5, 1000)]
    step = (ratios[-1] - ratios[0]) // (len(ratios) - 1)
    centre = Strategy(1, MEAN, 2 * MEAN, 0.3)
    for halving in (1, 2, 3):
        found = {round(1000 * one.ratio) for one in neighbours(centre, wide, halving)} - {300}
        assert found == {300 - (step >> halving), 300 + (step >> halving)}
