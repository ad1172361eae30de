"""The cases of `regret` are many and drawn by chance; its rival is as good as it claims to be."""

from __future__ import annotations

from statistics import fmean

import numpy as np
import pytest
from msgspec import structs

from bursar.model.goal import Goal
from bursar.reproduce import regret, regret_bound, regret_cases
from bursar.reproduce.regret_bound import oracle_time, without_hindsight
from bursar.reproduce.regret_cases import (
    ALL,
    HOURS,
    KNOWN,
    MINUTES,
    MOMENTS,
    NOTHING,
    SECONDS,
    SPEEDS,
    cases,
)
from bursar.reproduce.regret_rival import FleetRunner, PlainFleet, Rival, plain_fleets
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


def test_mean_and_deviation_alone_are_known_of_the_same_bags_as_all_run_times() -> None:
    for one, other in zip(cases(ALL, 4), cases(MOMENTS, 4), strict=True):
        assert structs.replace(other, known=ALL) == one
        asked = [regret.subject(case, Goal()).request for case in (one, other)]
        assert asked[0].history is not None and asked[1].history is None
        assert asked[0].runtime == pytest.approx(asked[1].runtime, rel=0.2)


def test_the_history_has_no_run_time_of_any_execution() -> None:
    case = cases(ALL, 1)[0]
    executed = {time for run in range(regret.RUNS) for time in case.runtimes(run).tolist()}
    shared = len(executed.intersection(case.history().tolist())) / case.history().size
    assert shared < 0.01


def test_machines_that_are_rented_later_work_and_cost_from_then_on() -> None:
    case = cases(NOTHING, 1)[0]
    runner, row = FleetRunner(case.market), FleetRunner(case.market).runtimes(case.runtimes(0))
    first = tuple(int(place == 0) for place in range(len(case.market.offers)))
    whole = runner.run(tuple(2 * count for count in first), row)
    assert runner.run_later(first, first, 0, row) == whole
    alone = runner.run(first, row)
    later = runner.run_later(first, first, alone[0] // 4, row)
    assert whole[0] < later[0] < alone[0]
    begun = [runner.results_at(first, row, share) for share in (0.0, 0.5, 1.0)]
    assert begun == sorted(begun)
    assert begun[0] < begun[2] < alone[0]
    assert begun[0] < alone[0] / 10


def test_the_oracle_is_bound_by_a_first_fleet_that_is_safe() -> None:
    """No slower than a plain fleet that is safe itself; no faster than the best with hindsight.

    By a little, since what it adds later may be of more than two offers.
    """
    case = min(cases(SPEEDS, 8), key=lambda one: one.tasks)
    best = Rival(case.market, [case.runtimes(run) for run in range(4)])
    for factor in (1.25, 3.0):
        rival, time = best.best(float(case.budget(factor))), oracle_time(case, factor, 4)
        if rival is not None and time is not None:
            assert time > 0.95 * rival.p90


def test_an_oracle_that_learns_late_is_no_faster_than_one_that_learns_early() -> None:
    """With one first fleet: which of several is best may be another where more is known."""
    case = next(one for one in cases(SPEEDS, 8) if one.tasks < 300)
    runner = FleetRunner(case.market)
    rows = [runner.runtimes(case.runtimes(run)) for run in range(4)]
    first = tuple(int(place == 0) for place in range(len(case.market.offers)))
    fleets, budget = plain_fleets(case.market), float(case.budget(3.0))
    early, late = (
        regret_bound._fastest(case, runner, first, fleets, rows, budget, after)
        for after in (0.0, 1.0)
    )
    assert early is not None
    assert late is not None
    assert early < late


def test_a_plain_fleet_without_hindsight_is_chosen_by_other_executions() -> None:
    """It finishes most of those that it has not seen, and is hardly ever faster than the rival."""
    runs = range(20)
    assert max(runs) < regret_bound.AMONG_OTHERS
    found = []
    for case in cases(ALL, 6):
        best = Rival(case.market, [case.runtimes(run) for run in runs]).best(
            float(case.budget(1.6))
        )
        unaided = None if best is None else without_hindsight(case, 1.6, len(runs), best)
        if unaided is not None:
            found.append(unaided)
    assert len(found) >= 3
    assert all(one.done >= 0.9 for one in found)
    assert all(one.ratio >= 1.0 for one in found if one.done == 1.0)


def test_bags_with_fewer_and_more_tasks_a_slot_have_rows_of_their_own() -> None:
    few = regret.CaseOutcome("few", PlainFleet((1,), 1.0), 1.0, 0.0, 1.5, 0.9, 0.5, 1.4, 1.6)
    many = structs.replace(few, case="many", ratio=1.05, tasks_a_slot=7.0, bound=1.2)
    rows = {row.what: row.ours for row in regret._split(1.25, [few, many])}
    where = "speeds from the market, 1.25 x least"
    small = f"{where}, fewer than 3 tasks a slot of the market"
    assert rows[f"{small}: time, median"] == 1.5
    assert rows[f"{small}: time of an oracle, median"] == 1.4
    assert rows[f"{small}: time of a late oracle, median"] == 1.6
    assert rows[f"{where}, 3 or more tasks a slot of the market: time, median"] == 1.05
    assert rows[f"{where}: time of an oracle, median"] == pytest.approx(1.3)


def test_what_a_plain_fleet_does_without_hindsight_is_shown_where_run_times_are_known() -> None:
    one = regret.CaseOutcome("one", PlainFleet((1,), 1.0), 1.0, 0.0, 1.0, 0.9)
    fast = structs.replace(one, case="fast", unaided=regret_bound.Unaided(0.9, 1.1))
    slow = structs.replace(one, case="slow", unaided=regret_bound.Unaided(1.0, 1.5))
    rows = {
        row.what: row for row in regret._without_hindsight(1.6, {(ALL, 1.6): [one, fast, slow]})
    }
    where = "run times and speeds, 1.6 x least, a plain fleet without hindsight"
    finished = rows[f"{where}: finished"]
    assert (finished.ours, finished.note) == (0.95, "there is one in 2 cases of 3")
    assert rows[f"{where}: time, median"].ours == pytest.approx(1.3)
    assert rows[f"{where}: time, worst"].ours == 1.5


def _smallest(found: list[regret.RegretCase]) -> regret.RegretCase:
    return min((one for one in found if one.known != MOMENTS), key=lambda case: case.tasks)
