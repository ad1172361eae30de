"""The estimator's kernel and the plain description of the process find the same, draw by draw."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bursar.model.errors import InputError
from bursar.model.money import Money
from bursar.model.strategy import Kind, Strategy
from bursar.model.time import HOUR, LONGEST, SECOND
from bursar.plan.bag.executions import compiled as other_kernels
from bursar.plan.pools.estimator import Conditions, Price, estimate
from bursar.plan.pools.strategies import default_deadline, sampled_strategies, static_strategies

_spec = spec_from_file_location("reference", Path(__file__).with_name("estimator_reference.py"))
reference = module_from_spec(_spec)
_spec.loader.exec_module(reference)

TIMES = st.lists(st.integers(1, 60), min_size=1, max_size=12)


def conditions(tasks=60, unreliable=20, reliability=0.8, times=None, **changes):
    given = {
        "reliable_time": 2066 * SECOND,
        "unreliable_price": Price(Money.parse("0.000002778")),
        "reliable_price": Price(Money.parse("0.000094444")),
    }
    if times is None:
        times = np.random.default_rng(1).gamma(4, 516 * SECOND, 300).astype(np.int64)
    known = np.sort(np.asarray(times, dtype=np.int64))
    return Conditions(tasks, unreliable, reliability, known, **{**given, **changes})


def agree(known, strategies, repetitions, seed):
    found = estimate(known, strategies, repetitions, seed=seed, threads=2)
    for number, strategy in enumerate(strategies):
        for repetition in range(repetitions):
            ours = (
                found.makespans[number, repetition],
                found.tails[number, repetition],
                found.unreliable_periods[number, repetition],
                found.reliable_periods[number, repetition],
            )
            plain = reference.Execution(known, strategy, seed, repetition).run()
            assert ours == plain, f"{strategy}, repetition {repetition}"


@st.composite
def tried(draw, mean):
    deadline = draw(st.integers(1, 5 * mean))
    timeout = draw(st.integers(0, deadline))
    copies = draw(st.integers(0, 4))
    return Strategy(copies, timeout, deadline, draw(st.sampled_from([0.02, 0.1, 0.34, 1.0])))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_kernel_and_description_agree_on_small_bags_where_much_happens_at_once(data):
    unreliable = data.draw(st.integers(1, 9))
    known = conditions(
        tasks=data.draw(st.integers(1, 25)),
        unreliable=unreliable,
        tail_tasks=data.draw(st.sampled_from([None, *range(1, unreliable)])),
        reliability=data.draw(st.sampled_from([0.2, 0.5, 0.8, 1.0])),
        times=data.draw(TIMES),
        reliable_time=data.draw(st.integers(1, 60)),
        unreliable_price=Price(Money(3), data.draw(st.integers(1, 7))),
        reliable_price=Price(Money(40), data.draw(st.integers(1, 30))),
    )
    ratio = data.draw(st.sampled_from([0.02, 0.3, 1.0]))
    limit = default_deadline(known.mean)
    budget = Money(data.draw(st.integers(0, 3000)))
    strategies = [
        *static_strategies(known.mean, ratio, known.tasks),
        Strategy(None, limit, limit, ratio, "", Kind.BUDGET, budget),
        *(data.draw(tried(known.mean)) for _ in range(3)),
    ]
    agree(known, strategies, 2, data.draw(st.integers(0, WORD)))


WORD = (1 << 64) - 1


def test_kernel_and_description_agree_on_the_grid_of_the_paper():
    known = conditions()
    grid = sampled_strategies(known.mean, 0.3, known.unreliable)
    agree(known, [*grid[::7], *static_strategies(known.mean, 0.3, known.tasks)], 2, seed=5)


def test_the_other_kernels_may_be_compiled_in_the_same_process():
    other_kernels()
    known = conditions(tasks=10)
    agree(known, static_strategies(known.mean, 0.1, 10), 1, seed=9)


def test_threads_and_company_change_no_estimate():
    known = conditions()
    grid = sampled_strategies(known.mean, 0.2, known.unreliable)[::9]
    both = estimate(known, grid, 8, seed=3, threads=2)
    assert np.array_equal(both.makespans, estimate(known, grid, 8, seed=3, threads=1).makespans)
    alone = estimate(known, grid[4:5], 8, seed=3)
    assert np.array_equal(both.makespans[4], alone.makespans[0])
    assert not np.array_equal(both.makespans, estimate(known, grid, 8, seed=4).makespans)


def test_failures_are_free_and_results_are_paid_by_the_period():
    known = conditions(
        tasks=40,
        unreliable=10,
        reliability=0.5,
        times=[50 * SECOND],
        unreliable_price=Price(Money.parse("0.01"), 40 * SECOND),
    )
    only_unreliable = static_strategies(known.mean, 0.1, 40)[3]
    found = estimate(known, [only_unreliable], 20)
    assert np.all(found.unreliable_periods == 2 * 40), "one result a task, two periods each"
    assert np.all(found.reliable_periods == 0)
    assert np.allclose(found.costs, 0.02)


def test_all_on_reliable_machines_is_what_arithmetic_says():
    known = conditions(tasks=21, unreliable=20, reliable_price=Price(Money.parse("0.34"), HOUR))
    every = static_strategies(known.mean, 0.5, 21)[0]
    found = estimate(known, [every], 1)
    assert found.makespans[0, 0] == 3 * 2066 * SECOND
    assert found.costs[0, 0] == pytest.approx(0.34)


def test_replication_on_reliable_machines_shortens_the_tail_and_costs_more():
    known = conditions(tasks=150, unreliable=50)
    names = [one.name for one in static_strategies(known.mean, 0.5, 150)]
    found = estimate(known, static_strategies(known.mean, 0.5, 150), 50)
    tail = dict(zip(names, found.tails.mean(axis=1), strict=True))
    cost = dict(zip(names, found.costs.mean(axis=1), strict=True))
    assert tail["TRR"] < tail["TR"] < tail["AUR"]
    assert cost["TRR"] > cost["TR"] > cost["AUR"]
    assert cost["AUR"] == min(cost.values())
    assert cost["AR"] == max(cost.values())


@pytest.mark.parametrize(
    ("changes", "reported"),
    [
        ({"reliability": 0.0}, "reliability of 0"),
        ({"reliability": 1.5}, "reliability of 1.5"),
        ({"reliability": float("nan")}, "reliability of nan"),
        ({"times": []}, "no turnaround time"),
        ({"times": [0, 5]}, "at least 1 us"),
        ({"tasks": 0}, "at least 1 task"),
        ({"unreliable": 0}, "1 unreliable machine"),
        ({"tail_tasks": 20}, "fewer than unreliable machines"),
        ({"tail_tasks": 0}, "at least 1 task"),
        ({"reliable_time": 0}, "between 1 us and 100 years"),
        ({"reliable_price": Price(Money(-1))}, "must not be negative"),
    ],
)
def test_conditions_that_cannot_be_are_reported_in_one_line(changes, reported):
    with pytest.raises(InputError, match=reported):
        conditions(**changes)


def test_what_never_ends_or_overflows_is_refused():
    known = conditions(times=[50, 50])
    with pytest.raises(InputError, match="would never end"):
        estimate(known, [Strategy(None, 20, 20, 0.0)])
    with pytest.raises(InputError, match="takes too long for 64-bit"):
        estimate(conditions(tasks=10**6, reliable_time=LONGEST), [Strategy(0, 1, 1, 0.1)])
    with pytest.raises(InputError, match="takes too long for 64-bit"):
        estimate(conditions(tasks=10**6, times=[LONGEST]), [Strategy(0, 1, 1, 0.1)])
    with pytest.raises(InputError, match="prices are too high for 64-bit"):
        estimate(conditions(reliable_price=Price(Money.parse("8e9"))), [Strategy(0, 1, 1, 0.1)])
