"""The list of plans against all fleets there are, on small markets of today."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from msgspec import structs

from bursar.beliefs.prediction import FleetPart, predict
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.plan.bag import fleet_frontier
from bursar.plan.bag.fleet_candidates import QuickEstimate
from bursar.plan.bag.fleet_frontier import FrontierSearch, is_unbeaten
from bursar.plan.bag.fleet_judge import SampledBag
from bursar.plan.bag.frontier_plans import ROWS
from bursar.plan.bag.plans import known_runtimes, make_plans

CONFIDENCE = 0.9
NEAR = 1.02


def random_offer(rng: Random, number: int, billing: int, limit: int) -> Offer:
    slots = rng.choice([1, 2, 4, 8, 16, 32, 64])
    hourly = 0.05 * slots * rng.uniform(0.8, 1.3)
    return Offer(
        f"o{number}",
        Money(max(1, round(hourly * 1e9 * billing / HOUR))),
        billing,
        minimum=rng.choice([0, 60 * SECOND]) if billing == SECOND else 0,
        limit=limit,
        boot=rng.choice([0, 40, 50, 90, 120]) * SECOND,
        slots=slots,
    )


def random_case(seed: int) -> tuple[Market, dict, int]:
    """A market with some thousand fleets, run times on each offer, and a bag."""
    rng = Random(seed)
    billing = rng.choice([SECOND, SECOND, SECOND, MINUTE, HOUR])
    count = rng.choice([2, 3, 4])
    limit = {2: 40, 3: 12, 4: 6}[count]
    offers = tuple(random_offer(rng, n, billing, rng.randint(2, limit)) for n in range(count))
    mean = rng.choice([60, 90, 180, 600]) * SECOND
    share = rng.choice([0.1, 0.25, 0.7])
    samples = {}
    for offer in offers:
        here = round(mean / rng.uniform(0.8, 1.25))
        samples[offer.name] = known_runtimes(here, round(here * share))
    return Market("USD", "2026-07-01", offers), samples, rng.choice([20, 60, 200, 600, 2000])


def exhaustive(market: Market, samples: dict, tasks: int):
    """Times and costs of all fleets, by the same executions that the list is made of."""
    sampled = SampledBag(market.offers, tuple(samples[one.name] for one in market.offers), tasks)
    search = FrontierSearch(sampled, CONFIDENCE)
    quick = QuickEstimate(sampled, search.judge.bag)
    grid = np.indices([int(most) + 1 for most in quick.most]).reshape(len(market.offers), -1).T
    counts = grid[quick.is_needed(grid)]
    return counts, search.judge.bounds(counts, CONFIDENCE)


def missed(found, points) -> list[float]:
    """For each point that no fleet beats, by how much the nearest row is worse in time or cost."""
    rows = np.array([(one.makespan_s.upper * SECOND, one.cost_upper.nanos) for one in found.plans])
    front = points[is_unbeaten(points)]
    worse = (rows[None] / np.maximum(front[:, None], 1.0)).max(axis=2)
    return list(worse.min(axis=1))


@pytest.mark.parametrize("seed", range(7000, 7012))
def test_every_fleet_that_no_other_beats_has_a_row_within_two_per_cent(seed, monkeypatch):
    market, samples, tasks = random_case(seed)
    _, points = exhaustive(market, samples, tasks)
    found = make_plans(market, samples, tasks, Goal(), between=1000)
    assert max(missed(found, points)) <= NEAR
    check_list(found)
    monkeypatch.setattr(fleet_frontier, "MOST_ENUMERATED", 0)  # where there are too many to try all
    found = make_plans(market, samples, tasks, Goal(), between=1000)
    assert np.quantile(missed(found, points), 0.9) <= NEAR
    assert max(missed(found, points)) <= 1.08


def check_list(found):
    """Cheapest first, each faster than all before it, no fleet twice, the ends named."""
    times = [plan.makespan_s.upper for plan in found.plans]
    costs = [plan.cost_upper for plan in found.plans]
    assert times == sorted(set(times), reverse=True)
    assert costs == sorted(set(costs))
    fleets = [tuple(sorted(plan.fleet.items())) for plan in found.plans]
    assert len(set(fleets)) == len(fleets)
    assert "cheapest" in found.plans[0].names
    assert "fastest" in found.plans[-1].names
    assert sum(plan.is_knee for plan in found.plans) == 1


@pytest.mark.parametrize("seed", range(9100, 9106))
def test_where_any_fleet_fits_a_budget_or_a_deadline_a_row_fits(seed):
    market, samples, tasks = random_case(seed)
    _, points = exhaustive(market, samples, tasks)
    low, high = points.min(axis=0), points.max(axis=0)
    for share in (0.05, 0.3, 0.9):
        time, cost = (low * NEAR + share * np.maximum(high - low * NEAR, 0.0)).astype(int)
        found = make_plans(market, samples, tasks, Goal(Money(int(cost))))
        [row] = [plan for plan in found.plans if "budget" in plan.names]
        assert row.cost_upper.nanos <= cost
        assert row.makespan_s.upper * SECOND <= NEAR * points[points[:, 1] <= cost, 0].min()
        found = make_plans(market, samples, tasks, Goal(deadline=int(time)))
        [row] = [plan for plan in found.plans if "deadline" in plan.names]
        assert row.makespan_s.upper * SECOND <= time
        assert row.cost_upper.nanos <= NEAR * points[points[:, 0] <= time, 1].min()
        assert len(found.plans) <= ROWS
        check_list(found)


def small_case(seed: int) -> tuple[Market, dict, int]:
    """A bag of 3 to 80 tasks, on 2 to 5 offers without limits or with large ones."""
    rng = Random(seed)
    billing = rng.choice([SECOND, SECOND, MINUTE, HOUR])
    offers = [random_offer(rng, n, billing, rng.randint(1, 50)) for n in range(rng.randint(2, 5))]
    if rng.random() < 0.5:
        offers = [structs.replace(offer, limit=None) for offer in offers]
    mean, share = rng.choice([20, 60, 180, 900]) * SECOND, rng.choice([0.0, 0.2, 0.8])
    samples = {}
    for offer in offers:
        here = round(mean / rng.uniform(0.7, 1.4))
        samples[offer.name] = known_runtimes(here, round(here * share))
    return Market("USD", "2026-07-01", tuple(offers)), samples, rng.randint(3, 80)


@pytest.mark.parametrize("part", range(2))
def test_a_small_bag_is_never_planned_dearer_than_a_single_machine_that_does_it(part):
    ratios = []
    for seed in range(9500 + 50 * part, 9550 + 50 * part):
        market, samples, tasks = small_case(seed)
        found = make_plans(market, samples, tasks, Goal())
        check_list(found)
        seen = tuple(samples[offer.name] for offer in market.offers)
        search = FrontierSearch(SampledBag(market.offers, seen, tasks), CONFIDENCE)
        alone = search.judge.bounds(np.eye(len(market.offers), dtype=np.int64), CONFIDENCE)
        assert found.plans[0].cost_upper.nanos <= alone[:, 1].min() + 1
        ratios.append(found.plans[0].cost_upper.nanos / other_bound(market, samples, tasks, seed))
    assert np.median(ratios) <= 1.005
    # Other draws, the same laws: now and then a bound is a whole unit more.
    assert np.quantile(ratios, 0.95) <= 1.05


def other_bound(market, samples, tasks, seed) -> float:
    """What the cheapest single machine costs at most, by other executions."""
    parts = ([FleetPart(offer, 1, samples[offer.name])] for offer in market.offers)
    rng = np.random.default_rng(seed)
    return min(predict(part, tasks, rng, 300).cost(CONFIDENCE).nanos for part in parts)
