"""Attempts under way in arrays: one that follows changes sees what a new one sees."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from bursar.engine.roles import Policy
from bursar.model.goal import Goal, Limits
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE
from bursar.model.work import Bag
from bursar.policies.live_attempts import is_live
from bursar.policies.place.random import RandomPlacer
from bursar.policies.provision.fixed import Fixed
from bursar.policies.replicate.stochastic_random import StochasticRandom
from bursar.policies.running_attempts import RunningAttempts
from bursar.simulate.faults import ModelledBehaviour, given
from bursar.simulate.run import simulate

MARKET = Market(
    "USD",
    "undated",
    (
        Offer("slow", Money.parse("0.1"), HOUR, limit=12, slots=2),
        Offer("fast", Money.parse("0.3"), HOUR, limit=8, speed=2.5),
    ),
)


class Following:
    """Looks after so many events, and compares with one that looks for the first time."""

    def __init__(self, every):
        self.every = every
        self.index = RunningAttempts(is_live)
        self.compared = 0

    def saw(self, event, state):
        if state.created is None or state.events % self.every:
            return
        fresh = RunningAttempts(is_live)
        for one in (self.index, fresh):
            one.look(state)
        assert rows_of(self.index, state) == rows_of(fresh, state)
        self.compared += len(fresh)


def rows_of(index, view):
    may = index.may_replicate(view)
    columns = [index.attempts, index.tasks, index.machines, index.started, index.offers]
    rows = np.arange(len(index))
    least, keys = index.least_by_task(-index.attempts), index.keys()
    assert index.least_by_task(-index.attempts, rows).tolist() == least.tolist()
    tasks = index.tasks.tolist()
    rivals = index.with_rivals(rows[:3]).tolist()
    assert rivals == [row for row, task in enumerate(tasks) if task in tasks[:3]]
    one_of_each = [tasks[row] for row in index.one_of_each(rows).tolist()]
    assert sorted(one_of_each) == sorted(set(tasks))
    return (
        [column.tolist() for column in (*columns, index.first, keys, least)],
        sorted(index.run_on),
        [index.rows_of(place) for place in range(len(view.market.offers))],
        index.is_single,
        None if may is None or may.all() else may.tolist(),
    )


@pytest.mark.parametrize("every", [1, 7, 90])
def test_many_changes_at_once_are_followed_as_one_by_one(every):
    rng, following = Random(every), Following(every)
    times = [rng.randrange(MINUTE, 20 * MINUTE) for _ in range(200)]
    policy = Policy(Fixed({"slow": 12, "fast": 8}), RandomPlacer(), StochasticRandom())
    behaviour = ModelledBehaviour(given(times), failing=0.1, seed=every)
    goal, limits = Goal(budget=Money.parse(50)), Limits(retries=3)
    state = simulate(
        MARKET, goal, Bag(200), policy, behaviour, limits=limits, observers=[following]
    )
    assert state.done > 190
    assert following.compared > 50
