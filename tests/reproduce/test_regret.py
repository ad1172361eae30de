"""The cases of `regret` are many and drawn by chance; its rival is as good as it claims to be."""

from __future__ import annotations

from statistics import fmean

import numpy as np
import pytest
from msgspec import structs

from bursar.model.goal import Goal
from bursar.reproduce import regret, regret_cases
from bursar.reproduce.regret_cases import HOURS, KNOWN, MINUTES, NOTHING, SECONDS, cases
from bursar.reproduce.regret_rival import FleetRunner, Rival, plain_fleets
from bursar.runs.study import study

EVERY = [case for known in KNOWN for case in cases(known, regret.CASES)]


def test_there_are_at_least_sixty_cases_on_all_kinds_of_markets() -> None:
    assert len(EVERY) >= 60
    assert {case.billing for case in EVERY} == {SECONDS, MINUTES, HOURS}
    offers = [offer for case in EVERY for offer in case.market.offers]
    assert {offer.slots for offer in offers} == {1, 2, 4, 8, 16, 32, 64}
    assert min(offer.boot for offer in offers) == 0
    assert {len(case.market.offers) for case in EVERY} == set(range(2, 9))
    assert min(case.tasks for case in EVERY) < 100
    assert max(case.tasks for case in EVERY) > 4000


@pytest.mark.parametrize("case", EVERY, ids=lambda case: case.name)
def test_run_times_have_the_mean_that_the_budget_is_made_of(case: regret.RegretCase) -> None:
    drawn = [case.runtimes(run).mean() for run in range(200)]
    assert fmean(drawn) == pytest.approx(case.mean, rel=0.1)


def test_what_is_not_known_is_not_shown() -> None:
    for case in EVERY:
        if case.known == NOTHING:
            assert {offer.speed for offer in regret.shown_market(case).offers} == {1.0}


def test_the_rival_finishes_every_bag_within_the_budget_when_its_fleet_is_given() -> None:
    case = cases(NOTHING, 1)[0]
    budget = case.budget(1.6)
    best = Rival(case.market, [case.runtimes(run) for run in range(5)]).best(float(budget))
    assert best is not None
    fleet = {
        offer.name: count
        for offer, count in zip(case.market.offers, best.counts, strict=True)
        if count
    }
    subject = regret.subject(case, Goal(budget=budget))
    subject = structs.replace(subject, request=structs.replace(subject.request, fleet=fleet))
    runs = study(subject, regret.NO_FAULTS, range(5)).runs
    assert [one.tasks.done for one in runs] == [case.tasks] * 5


def test_no_plain_fleet_that_fits_is_much_faster_than_the_rival() -> None:
    case = cases(NOTHING, 4)[3]
    bags = [case.runtimes(run) for run in range(4)]
    budget = float(case.budget(3.0))
    best = Rival(case.market, bags).best(budget)
    assert best is not None
    runner = FleetRunner(case.market)
    rows = [runner.runtimes(bag) for bag in bags]
    for counts in plain_fleets(case.market):
        outcomes = [runner.run(counts, row) for row in rows]
        if all(cost <= budget for _, cost in outcomes):
            assert best.p90 <= max(end for end, _ in outcomes)


def test_a_budget_that_is_not_enough_for_any_fleet_has_no_rival() -> None:
    case = cases(NOTHING, 2)[1]
    assert Rival(case.market, [case.runtimes(0)]).best(float(case.budget(0.9))) is None


def test_a_budget_that_buys_no_machine_is_refused_and_spends_nothing() -> None:
    found = [
        regret.outcome(case, 0.01, 1, None)
        for case in EVERY
        if case.budget(0.01) < case.market.cheapest_entry
    ]
    assert found
    assert all(one.spent == 0 for one in found)


@pytest.mark.parametrize("case", EVERY, ids=lambda case: case.name)
def test_the_deviation_that_is_known_is_the_true_one(case: regret.RegretCase) -> None:
    drawn = case.spread.draw(np.random.default_rng(1), 200_000)
    share = 0.25 if case.spread.shape == regret_cases.PARETO else 0.1  # of a heavy tail, a sample's
    assert drawn.std() / drawn.mean() == pytest.approx(case.spread.deviation, rel=share)


def test_the_quick_form_has_some_cases_of_each_thing_known_and_each_billing() -> None:
    found = [case for known in KNOWN for case in cases(known, regret.QUICK_CASES)]
    assert {(case.known, case.billing) for case in found} == {
        (known, billing) for known in KNOWN for billing in (SECONDS, MINUTES, HOURS)
    }
    assert [factor for factor, _ in regret.outcomes_of(_smallest(found), runs=2)] == [
        *regret.FACTORS,
        regret.HOPELESS,
    ]


def _smallest(found: list[regret.RegretCase]) -> regret.RegretCase:
    return min(found, key=lambda case: case.tasks)
