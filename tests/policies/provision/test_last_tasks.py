"""The last tasks of a bag: when a large machine is let go, and its tasks begin again elsewhere."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from bursar.beliefs.bag_times import learn
from bursar.engine.roles import Policy
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.past_runtimes import PastRuntimes
from bursar.model.time import MINUTE, SECOND
from bursar.model.work import Bag
from bursar.policies.place.kept import KeptPlacer
from bursar.policies.provision.frontier import Frontier
from bursar.policies.provision.frontier_state import BagBelief
from bursar.policies.provision.last_tasks import (
    Held,
    _is_better,
    _likely_cost,
    _luck,
    _rests,
    _total,
)
from bursar.policies.replicate.at_risk import AtRisk
from bursar.simulate.faults import ModelledBehaviour, given
from bursar.simulate.run import simulate
from bursar.state.events import MachineRented, ReleaseOrdered

AGAIN = "the money would not last until its tasks end: they begin again on a smaller machine"


def offer(name, per_hour, slots, unit=SECOND, boot=0, limit=8):
    price = Money(round(Money.parse(per_hour).nanos * unit / (3600 * SECOND)))
    return Offer(name, price, unit, MINUTE, limit, boot * SECOND, slots)


def held(costs):
    alike = np.ones(len(costs))
    return Held(machine=None, tasks=1, works=alike, costs=np.array(costs), stays=alike)


def test_not_all_machines_are_unlucky_at_once():
    """Each of ten costs 100 once in twenty times, and in other draws than the others."""
    draws = 200
    some = [held(np.where(np.arange(draws) % 20 == place, 100.0, 0.0)) for place in range(10)]
    assert _total(some).max() == 100.0
    assert _likely_cost(some) == 100.0 < 10 * 100.0
    assert _likely_cost([]) == 0.0


def two_kinds(rng, tasks):
    """One task in five takes four times as long."""
    return [rng.choice((60, 60, 60, 60, 240)) * rng.gauss(1, 0.08) for _ in range(tasks)]


def test_long_tasks_of_a_kind_that_is_known_end_when_such_tasks_do():
    """They are twice as old as the average task, and so is every fifth of those before."""
    rng = Random("awaited")
    before = PastRuntimes.of(round(one * SECOND) for one in two_kinds(rng, 500))
    told = BagBelief(before.mean, before.deviation, before)
    untold = BagBelief(before.mean, before.deviation)
    for belief in (told, untold):
        belief._prior, belief.speeds = belief._first(None), {"small": 1.0}
        belief.times = learn(belief._prior, {}, {}, belief.speeds)
    old = np.full(20, 2.1 * before.mean / SECOND)
    longest = before.times[-1] / SECOND
    luck = _luck(len(old))
    assert (old + _rests(told, old, luck)).max() < 1.1 * longest
    assert (old + _rests(untold, old, luck)).max() > 1.5 * longest


def told_by(before):
    belief = BagBelief(before.mean, before.deviation, before)
    belief._prior, belief.speeds = belief._first(None), {"small": 1.0}
    belief.times = learn(belief._prior, {}, {}, belief.speeds)
    return belief


@pytest.mark.parametrize("age", [6.0, 9.0, 13.0])
def test_a_task_older_than_nearly_all_before_falls_off_as_the_longest_of_these(age):
    """However close it is to the longest of them: that nobody saw a longer one tells little."""
    shape, least = 2.5, 60.0
    rng = np.random.default_rng([*b"falls off"])
    before = (1 + rng.pareto(shape, 5_000)) * least
    belief = told_by(PastRuntimes.of(round(one * SECOND) for one in before))
    old = np.full(400, age * least)
    rests = _rests(belief, old, np.random.default_rng(1).random((64, 400)))
    assert np.quantile(rests, 0.95) >= 0.75 * age * least * (20 ** (1 / shape) - 1)


def test_where_the_longest_tasks_hardly_differ_an_old_one_ends_soon():
    rng = np.random.default_rng([*b"ends soon"])
    before = rng.normal(400.0, 120.0, 5_000).clip(20.0)
    belief = told_by(PastRuntimes.of(round(one * SECOND) for one in before))
    old = np.full(400, before.max())
    rests = _rests(belief, old, np.random.default_rng(1).random((64, 400)))
    assert np.quantile(rests, 0.95) <= 0.35 * before.max()


def test_tasks_begin_again_only_for_a_chance_that_is_worth_the_time():
    """A chance of 0.94 to end after 1,200 s, or a better one to end after 1,900 s."""
    stay = 0.94, 1200.0
    assert not _is_better((0.95, 1900.0), stay, is_known=True)
    assert _is_better((0.95, 1900.0), stay, is_known=False)  # then the end is not known well
    assert _is_better((0.99, 1900.0), stay, is_known=True)
    assert _is_better((0.5, 1900.0), (0.0, 1200.0), is_known=True)
    assert not _is_better((0.0, 1900.0), stay, is_known=True)
    assert not _is_better((0.94, 1900.0), stay, is_known=True)


@pytest.mark.parametrize("seed", range(4))
def test_no_machine_is_let_go_within_time_that_is_paid_for(seed):
    """Units of a minute: in the middle of one, waiting costs nothing."""
    rng = Random(f"paid/{seed}")
    tasks = [round(40 * rng.paretovariate(2.2) * SECOND) for _ in range(200)]
    offers = (offer("large", "2.4", 48, unit=MINUTE), offer("small", "0.06", 1, unit=MINUTE))
    frontier, rented, early = Frontier(), {}, []

    class Heard:
        def saw(self, event, state):
            if isinstance(event, MachineRented):
                rented[event.machine] = event.at
            if isinstance(event, ReleaseOrdered) and event.reason == AGAIN:
                early.append((event.at - rented[event.machine]) % MINUTE)

    simulate(
        Market("USD", "2026", offers),
        Goal(Money(round(1.35 * sum(tasks) / SECOND * 0.05 / 3600 * 1e9))),
        Bag(200),
        Policy(frontier, KeptPlacer(frontier), AtRisk(frontier)),
        ModelledBehaviour(given(tasks), seed=seed),
        seed=seed,
        observers=[Heard()],
    )
    assert all(into >= MINUTE - 3 * SECOND for into in early)
