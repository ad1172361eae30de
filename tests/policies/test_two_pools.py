"""The estimator and the engine agree, instance by instance, on what a strategy does."""

import math
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bursar.beliefs.reliability import Reliability
from bursar.engine.roles import Policy
from bursar.model.errors import InputError
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.strategy import Strategy
from bursar.model.time import SECOND
from bursar.model.work import Bag
from bursar.plan.pools.estimator import Conditions, Price, estimate
from bursar.plan.pools.strategies import default_deadline, sampled_strategies, static_strategies
from bursar.policies.place.pooled import PooledPlacer
from bursar.policies.provision.mixed import Mixed
from bursar.policies.replicate.ntdmr import Ntdmr
from bursar.policies.two_pools import TwoPools
from bursar.simulate.run import simulate
from bursar.state.events import AttemptStarted

_where = Path(__file__).parents[1] / "plan" / "pools" / "estimator_reference.py"
_spec = spec_from_file_location("reference", _where)
reference = module_from_spec(_spec)
_spec.loader.exec_module(reference)


class KernelLuck:
    """Attempts meet the luck that the estimator draws for them; a failed one stays silent."""

    def __init__(self, conditions, repetition, seed=0):
        self.conditions, self.draw = conditions, (seed, repetition)
        self.instances = {}
        self.takes = {}
        """by attempt on the unreliable pool that would return a result, how long it takes"""

    def attempt(self, task, attempt, machine, now):
        if self.conditions.has_own_times:
            return self.own_attempt(task, attempt, machine)
        if machine.offer.pool == "reliable":
            return self.conditions.reliable_time, "success"
        number = self.instances[task] = self.instances.get(task, -1) + 1
        chance = reference.uniform(*self.draw, task - 1, number)
        gamma = self.conditions.gamma.at(now)
        if chance < gamma:
            self.takes[attempt] = quantile(self.conditions.turnarounds, chance / gamma)
            return self.takes[attempt], "success"
        if len(self.conditions.losses) == 0:
            return None, "lost"
        return quantile(self.conditions.losses, (chance - gamma) / (1 - gamma)), "lost"

    def own_attempt(self, task, attempt, machine):
        """A long task is long again, on whichever pool, and lost more often."""
        known = self.conditions
        own = quantile(known.turnarounds, reference.uniform(*self.draw, task - 1, -1))
        if machine.offer.pool == "reliable":
            return max(1, int(known.reliable_time * own / known.mean)), "success"
        number = self.instances[task] = self.instances.get(task, -1) + 1
        chance = reference.uniform(*self.draw, task - 1, number)
        lives = 1 + int(-math.log(1.0 - chance) * known.life)
        if known.life and own > lives:
            return lives + known.replacing, "lost"
        if not known.life and chance >= known.gamma.after:
            return None, "lost"
        self.takes[attempt] = own
        return own, "success"

    def boot(self, machine):
        return 0

    def life(self, machine):
        return None

    def notice(self, machine):
        return 0


def quantile(values, share):
    return int(values[min(int(share * len(values)), len(values) - 1)])


class Executed:
    """What the engine makes of a strategy; it watches its own run."""

    def __init__(self, conditions, strategy, repetition):
        self.tail_attempts, self.reliable_attempts = set(), 0
        offers = (
            Offer("spot", Money.parse("0.01"), limit=conditions.unreliable, pool="unreliable"),
            Offer("sure", Money.parse("0.34"), limit=conditions.unreliable),
        )
        market = Market("USD", "2026-01-01", offers)
        fleet = {offer.name: conditions.unreliable for offer in offers}
        patience = default_deadline(conditions.mean)
        guide = Mixed(market, fleet, strategy, patience)
        guide.pools = TwoPools(
            fleet,
            conditions.unreliable,
            strategy,
            patience,
            in_order=True,
            runs_on=not conditions.is_real,
        )
        luck = KernelLuck(conditions, repetition)
        policy = Policy(guide, PooledPlacer(), Ntdmr(guide))
        bag = Bag(count=conditions.tasks)
        self.state = simulate(market, Goal(), bag, policy, luck, observers=[self])
        self.makespan = self.state.last_settled
        opened = guide.pools.tails.last_opened
        self.tail = 0 if opened is None else self.makespan - opened
        log = self.state.log
        self.time = {"spot": 0, "sure": 0}
        """that attempts were under way"""
        offers = {charge.machine: charge.offer.name for charge in self.state.ledger.charges()}
        for attempt in range(1, len(log) + 1):
            self.time[offers[log.machine[attempt]]] += log.ended[attempt] - log.started[attempt]
        self.unreliable_periods = sum(
            -(-takes // conditions.unreliable_price.period)
            for attempt, takes in luck.takes.items()
            if takes < (strategy.deadline if attempt in self.tail_attempts else patience)
        )
        each = -(-conditions.reliable_time // conditions.reliable_price.period)
        self.reliable_periods = self.reliable_attempts * each

    def saw(self, event, state):
        if isinstance(event, AttemptStarted):
            if state.machines[event.machine].offer.pool == "reliable":
                self.reliable_attempts += 1
            elif "of the tail" in event.reason:
                self.tail_attempts.add(event.attempt)


def conditions(tasks, unreliable, reliability, turnarounds, reliable_time, **more):
    return Conditions(
        tasks=tasks,
        unreliable=unreliable,
        reliability=reliability,
        turnarounds=np.sort(np.array(turnarounds, dtype=np.int64)),
        reliable_time=reliable_time,
        unreliable_price=Price(Money.parse("0.01"), SECOND),
        reliable_price=Price(Money.parse("0.34"), SECOND),
        **more,
    )


def apart(seconds, grain):
    """Times of which no two sums are equal: what happens at one moment may happen in any order."""
    return [SECOND * one + grain * (place + 1) ** 3 for place, one in enumerate(seconds)]


def pick_strategy(known, pick):
    choice = [
        *sampled_strategies(known.mean, 0.5, known.unreliable),
        *(one for one in static_strategies(known.mean, 0.5, known.tasks) if one.budget is None),
    ]
    strategy = choice[pick % len(choice)]
    # A result at the very moment of its deadline: the paper gives it up, the engine takes it.
    assume(strategy.deadline not in known.turnarounds)
    # With no timeout, what is queued anew at one moment has the order in which slots get free.
    assume(strategy.timeout > 0 or strategy.copies == 0)
    return strategy


@settings(max_examples=200, deadline=None)
@given(
    tasks=st.integers(1, 40),
    unreliable=st.integers(1, 12),
    reliability=st.floats(0.3, 1.0),
    turnarounds=st.lists(st.integers(1, 40), min_size=1, max_size=8),
    reliable_time=st.integers(1, 60),
    pick=st.integers(0, 10_000),
    repetition=st.integers(0, 50),
)
def test_the_engine_does_what_the_estimator_foresees(
    tasks, unreliable, reliability, turnarounds, reliable_time, pick, repetition
):
    known = conditions(
        tasks,
        unreliable,
        reliability,
        apart(turnarounds, 101),
        SECOND * reliable_time + 97,
    )
    strategy = pick_strategy(known, pick)
    foreseen = estimate(known, [strategy], repetition + 1)
    done = Executed(known, strategy, repetition)
    assert done.state.ended.status == "done"
    assert done.makespan == foreseen.makespans[0, repetition]
    assert done.tail == foreseen.tails[0, repetition]
    assert done.unreliable_periods == foreseen.unreliable_periods[0, repetition]
    assert done.reliable_periods == foreseen.reliable_periods[0, repetition]


def executed_as_foreseen(known, strategy, repetition):
    """The engine takes as long as the estimator says, and as much of unreliable machines."""
    foreseen = estimate(known, [strategy], repetition + 1)
    done = Executed(known, strategy, repetition)
    assert done.state.ended.status == "done"
    assert done.makespan == foreseen.makespans[0, repetition]
    assert done.tail == foreseen.tails[0, repetition]
    rounded = min(known.tasks, known.unreliable) / 2
    assert done.time["spot"] / SECOND + rounded == pytest.approx(
        foreseen.unreliable_periods[0, repetition]
    )
    return done, foreseen


@settings(max_examples=200, deadline=None)
@given(
    tasks=st.integers(1, 40),
    unreliable=st.integers(1, 12),
    gammas=st.lists(st.floats(0.3, 0.99), min_size=1, max_size=4),
    turnarounds=st.lists(st.integers(1, 40), min_size=1, max_size=8),
    losses=st.lists(st.integers(1, 60), max_size=5),
    reliable_time=st.integers(1, 60),
    pick=st.integers(0, 10_000),
    repetition=st.integers(0, 50),
)
def test_the_engine_does_so_where_rivals_are_called_back_and_losses_are_known(
    tasks, unreliable, gammas, turnarounds, losses, reliable_time, pick, repetition
):
    boundaries = tuple(SECOND * 37 * (place + 1) for place in range(len(gammas) - 1))
    known = conditions(
        tasks,
        unreliable,
        Reliability(boundaries, tuple(gammas[:-1]), gammas[-1]),
        apart(turnarounds, 101),
        SECOND * reliable_time + 97,
        is_real=True,
        losses=np.sort(np.array(apart(losses, 103), dtype=np.int64)),
    )
    strategy = pick_strategy(known, pick)
    done, foreseen = executed_as_foreseen(known, strategy, repetition)
    rounded = min(tasks, foreseen.reliable_used[0, repetition]) / 2
    assert done.time["sure"] / SECOND + rounded == pytest.approx(
        foreseen.reliable_periods[0, repetition]
    )


@settings(max_examples=200, deadline=None)
@given(
    tasks=st.integers(1, 40),
    unreliable=st.integers(1, 12),
    reliability=st.floats(0.3, 0.99),
    turnarounds=st.lists(st.integers(10, 35), min_size=1, max_size=8),
    life=st.sampled_from([0, 30, 100]),
    reliable_time=st.integers(1, 60),
    pick=st.integers(0, 10_000),
    repetition=st.integers(0, 50),
)
def test_the_engine_does_so_where_a_task_has_a_time_of_its_own(
    tasks, unreliable, reliability, turnarounds, life, reliable_time, pick, repetition
):
    known = conditions(
        tasks,
        unreliable,
        reliability,
        apart(turnarounds, 101),
        SECOND * reliable_time + 97,
        is_real=True,
        has_own_times=True,
        life=life * SECOND,
        replacing=SECOND,
    )
    strategy = pick_strategy(known, pick)
    # A task that is longer than its deadline is never done without reliable machines.
    assume(strategy.copies is not None or strategy.deadline > known.turnarounds[-1])
    executed_as_foreseen(known, strategy, repetition)


def test_a_task_that_is_given_up_as_too_long_is_waited_for_the_next_time():
    known = conditions(
        4,
        1,
        1.0,
        [SECOND] * 99 + [100 * SECOND],
        SECOND,
        has_own_times=True,
        is_real=True,
    )
    patience = default_deadline(known.mean)
    spans = estimate(known, [Strategy(None, patience, patience, 0.0)], 300).makespans[0]
    long = {3 * SECOND + patience + 100 * SECOND}
    assert set(map(int, spans)) & long
    assert min(spans) == 4 * SECOND


def test_times_of_their_own_are_for_whole_bags():
    with pytest.raises(InputError, match="no times of its own"):
        conditions(
            1, 1, 1.0, [SECOND], SECOND, has_own_times=True, ages=np.array([5], dtype=np.int64)
        )
