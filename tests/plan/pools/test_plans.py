"""Plans with unreliable machines: their strategies, and bounds that hold as often as they say."""

import math
from random import Random

import msgspec
import numpy as np
import pytest

from bursar.beliefs.reliability import History, Instance
from bursar.engine.roles import Policy
from bursar.model.errors import InputError
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.strategy import Strategy
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import Bag
from bursar.plan.bag.plans import known_runtimes, make_plans
from bursar.plan.pools import plans
from bursar.plan.pools.plans import (
    PoolKnowledge,
    known_unreliable,
    mean_life,
    mixed_candidates,
    pooled_runtimes,
)
from bursar.policies.place.pooled import PooledPlacer
from bursar.policies.provision.mixed import Mixed
from bursar.policies.replicate.ntdmr import Ntdmr
from bursar.simulate.faults import ModelledBehaviour, drawn
from bursar.simulate.run import simulate
from bursar.simulate.unreliable import MortalMachines, UnreliablePool, exponential

SPOT = Offer("spot", Money.parse("0.01"), billing=MINUTE, limit=8, pool="unreliable")
SURE = Offer("sure", Money.parse("0.05"), billing=MINUTE, limit=2)
MARKET = Market("USD", "undated", (SPOT, SURE))
TIMES = known_runtimes(10 * MINUTE, 2 * MINUTE)
SAMPLES = {"spot": TIMES, "sure": TIMES}
KNOWN = PoolKnowledge(TIMES, reliability=0.8)


def candidates(market=MARKET, samples=SAMPLES, known=KNOWN, tasks=60, **options):
    return mixed_candidates(market, samples, known, tasks, **options)


# --- which plans ---------------------------------------------------------------------------------


def test_the_ends_and_the_knee_of_the_frontier_are_plans_from_cheapest_to_fastest():
    found = candidates()
    assert [one.choice.name for one in found] == ["mixed-cheapest", "mixed-knee", "mixed-fastest"]
    assert len({one.strategy for one in found}) == 3
    assert found[0].bound.cost() < found[-1].bound.cost()
    assert found[0].bound.makespan() > found[-1].bound.makespan()
    for one in found:
        sure = one.strategy.reliable_machines(8)
        assert one.choice.fleet == {"spot": 8, "sure": sure}
        assert 1 <= sure <= 2


def test_more_plans_between_are_given_if_asked_for_and_each_is_another():
    found = candidates(between=4)
    assert 4 <= len(found) <= 7
    assert len({one.strategy for one in found}) == len({one.choice.name for one in found})
    assert len(found) == len({one.strategy for one in found})


def test_without_a_reliable_machine_there_is_no_end_of_copies():
    for market, samples in (
        (Market("USD", "undated", (SPOT,)), SAMPLES),
        (MARKET, {"spot": TIMES}),
    ):
        for one in candidates(market, samples):
            assert one.strategy.copies is None
            assert one.choice.fleet == {"spot": 8}


def test_tasks_that_are_all_alike_are_given_the_time_they_take():
    alike = known_runtimes(10 * MINUTE)
    alone = Market("USD", "undated", (SPOT,))
    for one in candidates(alone, {"spot": alike}, PoolKnowledge(alike, reliability=0.9)):
        assert one.strategy.deadline > 10 * MINUTE


@pytest.mark.parametrize("market", [MARKET, Market("USD", "undated", (SPOT,))])
def test_the_longest_task_seen_is_waited_for(market):
    times = np.array([5, 6, 7, 8, 9, 10, 25] * 5) * MINUTE
    samples = {"spot": times, "sure": times}
    for one in candidates(market, samples, PoolKnowledge(times, 35, 3)):
        assert one.strategy.deadline > 25 * MINUTE


@pytest.mark.parametrize("times", [[60], [60, 61], [1, 10_000], [60, 60, 60], range(1, 40)])
@pytest.mark.parametrize("market", [MARKET, Market("USD", "undated", (SPOT,))])
def test_any_sample_gives_plans(times, market):
    sample = np.array(times, dtype=np.int64) * SECOND
    known = PoolKnowledge(sample, len(sample), 1, np.array([SECOND]))
    found = candidates(market, {"spot": sample, "sure": sample}, known, 20)
    assert found
    for one in found:
        assert 0 < one.bound.makespan(0.5) <= one.bound.makespan(0.9)


def test_no_more_machines_are_planned_than_there_are_tasks_and_the_cheapest_come_first():
    dear = Offer("dear", Money.parse("0.02"), MINUTE, pool="unreliable", slots=2)
    market = Market("USD", "undated", (dear, SPOT, SURE))
    fleet = known_unreliable(market, {**SAMPLES, "dear": TIMES}, 13)
    assert [(one.name, one.limit) for one in fleet] == [("spot", 8), ("dear", 3)]
    assert [one.name for one in known_unreliable(market, SAMPLES, 5)] == ["spot"]


def test_a_large_pool_gets_no_more_reliable_machines_than_there_are():
    offers = (msgspec.structs.replace(SPOT, limit=None), msgspec.structs.replace(SURE, limit=5))
    for one in candidates(Market("USD", "undated", offers), tasks=1_500):
        assert one.choice.fleet["spot"] == 1_500
        assert 1 <= one.choice.fleet["sure"] <= 5


def test_a_pool_of_several_offers_is_sampled_by_the_results_of_each():
    offers = [SPOT, Offer("slow", Money.parse("0.01"), MINUTE, limit=8, pool="unreliable")]
    samples = {"spot": np.full(900, 1), "slow": np.full(900, 2)}
    times = pooled_runtimes(offers, samples)
    assert len(times) == 900
    assert (times == 1).sum() == pytest.approx(600, abs=3)


def test_the_same_seed_gives_the_same_plans():
    assert candidates(seed=3) == candidates(seed=3)


def test_a_large_bag_takes_in_proportion():
    small, large = (candidates(tasks=tasks)[0] for tasks in (2_000, 200_000))
    for of in (lambda one: one.bound.makespan(), lambda one: float(one.bound.cost())):
        assert of(large) == pytest.approx(100 * of(small), rel=0.1)


def test_each_machine_is_paid_to_the_end_of_an_hour_if_it_is_rented_by_the_hour():
    spot = Offer("spot", Money.parse("1"), billing=HOUR, limit=8, pool="unreliable")
    market = Market("USD", "undated", (spot,))
    [one, *_] = candidates(market, tasks=8, known=PoolKnowledge(TIMES, reliability=1.0))
    assert one.bound.cost(0.01) == Money.parse("8")


# --- what is known -------------------------------------------------------------------------------


def test_what_came_back_and_what_was_lost_tell_the_reliability():
    results = [Instance(number * MINUTE, turnaround=MINUTE) for number in range(15)]
    losses = [Instance(number * MINUTE, until=number * MINUTE + 7 * SECOND) for number in range(5)]
    called_back = [Instance(0, until=SECOND, is_withdrawn=True)]
    history = History.of([*results, *losses, *called_back])
    known = PoolKnowledge.learned(history)
    assert (known.results, known.lost) == (15, 5)
    assert list(known.losses) == [7 * SECOND] * 5
    assert known.likely_reliability == pytest.approx(15.5 / 21)
    drawn_ones = known.possible_reliabilities(np.random.default_rng(1))
    assert 0.4 < drawn_ones.min() < 0.6 < 0.85 < drawn_ones.max() < 1
    reported = PoolKnowledge.learned(history, reliability=0.5)
    assert set(reported.possible_reliabilities(np.random.default_rng(1))) == {0.5}


def test_less_knowledge_makes_wider_bounds():
    def width(results, lost):
        known = PoolKnowledge(TIMES, results, lost)
        one = candidates(known=known)[0].bound
        return one.makespan(0.9) / one.makespan(0.5)

    assert width(8, 2) > 1.1 * width(800, 200)


@pytest.mark.parametrize("share", [0, -1, 1.1, math.nan])
def test_a_reliability_out_of_range_is_refused(share):
    with pytest.raises(InputError, match=r"a reliability of .*; use 0.01 to 1"):
        PoolKnowledge(TIMES, reliability=share)


# --- promises kept -------------------------------------------------------------------------------

STRATEGIES = (Strategy(2, 12 * MINUTE, 25 * MINUTE, 0.125), Strategy(0, 0, 40 * MINUTE, 0.25))
BAGS = 60
TASKS = 40
SEEN = 30


def gamma(rng):
    """Ten minutes on average, with a deviation of three."""
    return max(1, round(rng.gammavariate(11, 10 * MINUTE / 11)))


def silent(seed):
    return UnreliablePool(ModelledBehaviour(drawn(gamma, seed)), reliability=0.8, seed=seed)


def mortal(seed):
    lives = {"spot": exponential(40 * MINUTE)}
    return MortalMachines(ModelledBehaviour(drawn(gamma, seed)), lives, seed=seed)


def sampled(rng, behaviour):
    """What a sample of 30 results tells: attempts that are lost are sent again."""
    times, losses, lost = [gamma(rng) for _ in range(SEEN)], [], 0
    for time in times:
        while behaviour is silent and rng.random() > 0.8:
            lost += 1
        while behaviour is mortal and (life := exponential(40 * MINUTE)(rng)) < time:
            losses.append(life)
            lost += 1
    known = np.array(sorted(losses), dtype=np.int64)
    return PoolKnowledge(np.array(times), SEEN, lost, known)


def predicted(strategies, samples=SAMPLES, known=KNOWN, seed=0):
    """What the planner expects of each strategy, with the same luck."""
    stage, rng = plans._set_stage(MARKET, samples, known, TASKS), np.random.default_rng(seed)
    return plans._predict(stage, plans._possible_worlds(stage, rng), strategies, rng)


def played(behaviour, seed, strategy):
    fleet = {"spot": 8, "sure": strategy.reliable_machines(8)}
    guide = Mixed(MARKET, fleet, strategy)
    policy = Policy(guide, PooledPlacer(), Ntdmr(guide))
    return simulate(MARKET, Goal(), Bag(TASKS), policy, behaviour(seed), seed=seed)


@pytest.mark.parametrize("behaviour", [silent, mortal])
def test_bounds_at_90_per_cent_hold_in_most_bags_that_the_engine_runs(behaviour):
    kept_time, kept_cost = [], []
    for seed in range(BAGS):
        rng = Random(f"sample {seed}")
        known = sampled(rng, behaviour)
        samples = {"spot": known.turnarounds, "sure": np.array([gamma(rng) for _ in range(SEEN)])}
        strategy = STRATEGIES[seed % len(STRATEGIES)]
        (bound,) = predicted([strategy], samples, known, seed)
        state = played(behaviour, seed, strategy)
        assert state.done == TASKS
        kept_time.append(state.last_settled <= bound.makespan(0.9))
        kept_cost.append(state.ledger.committed <= bound.cost(0.9))
    assert np.mean(kept_time) >= 0.85
    assert np.mean(kept_cost) >= 0.85


def test_the_time_of_the_cheapest_plan_holds_where_long_tasks_are_lost_again_and_again():
    def skewed(rng):
        return max(1, round(rng.lognormvariate(math.log(9 * MINUTE), 0.47)))

    def behaviour(seed):
        below = ModelledBehaviour(drawn(skewed, seed))
        return MortalMachines(below, {"spot": exponential(40 * MINUTE)}, seed=seed)

    kept = []
    for seed in range(30):
        rng = Random(f"sample {seed}")
        times = [skewed(rng) for _ in range(SEEN)]
        losses = []
        for time in times:
            while (life := exponential(40 * MINUTE)(rng)) < time:
                losses.append(life)
        known = PoolKnowledge(np.array(times), SEEN, len(losses), np.sort(np.array(losses)))
        samples = {"spot": known.turnarounds, "sure": known.turnarounds}
        cheapest = candidates(MARKET, samples, known, TASKS, seed=seed)[0]
        state = played(behaviour, seed, cheapest.strategy)
        kept.append(state.last_settled <= cheapest.bound.makespan(0.9))
    assert np.mean(kept) >= 0.85


def test_a_life_of_machines_loses_the_share_of_attempts_that_was_seen():
    rng = np.random.default_rng(1)
    times = np.sort(rng.gamma(4, 5 * MINUTE, 1_000)).astype(np.int64)
    for reliability in (0.5, 0.8, 0.99):
        life = mean_life(times, reliability)
        attempts = [1 + (rng.exponential(life, 2_000) < time).cumprod().sum() for time in times]
        assert len(times) / sum(attempts) == pytest.approx(reliability, rel=0.05)
    assert mean_life(times, 0.01) >= times.max() // 5


def test_bounds_are_not_far_from_what_comes_true():
    """A bound that always holds is of no use."""
    bounds = predicted(STRATEGIES)
    for strategy, bound in zip(STRATEGIES, bounds, strict=True):
        runs = [played(silent, seed, strategy) for seed in range(10)]
        makespan = np.median([run.last_settled for run in runs])
        cost = np.median([float(run.ledger.committed) for run in runs])
        assert bound.makespan(0.5) == pytest.approx(makespan, rel=0.15)
        assert float(bound.cost(0.5)) == pytest.approx(cost, rel=0.15)
        assert bound.makespan(0.9) < 1.5 * makespan


def test_plans_of_both_kinds_are_one_list_by_cost():
    found = make_plans(MARKET, SAMPLES, 60, Goal(), mixed=candidates())
    assert "cheapest" in found.plans[0].names
    assert "fastest" in found.plans[-1].names
    assert any(plan.strategy for plan in found.plans)
    costs = [plan.cost_upper for plan in found.plans]
    assert costs == sorted(costs)
    assert sum(plan.is_knee for plan in found.plans) == 1
