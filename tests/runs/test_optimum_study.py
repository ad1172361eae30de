"""The best schedule of a small workload, with policies beside it in the same model."""

from __future__ import annotations

import msgspec
import pytest

from bursar.model.errors import InputError
from bursar.model.goal import Budget
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import SECOND
from bursar.model.work import Work
from bursar.model.workflow_builder import WorkflowBuilder
from bursar.model.workload import Arrival, Workload
from bursar.plan.optimum.slotted import problems
from bursar.runs.optimum_study import OptimumSetting, slotted_workload, study_optimum

MARKET = Market(
    "USD",
    "undated",
    (
        Offer("small", Money.parse("1"), 15 * SECOND, limit=2),
        Offer("large", Money.parse("3"), 15 * SECOND, limit=1, speed=2.0),
    ),
)
SETTING = OptimumSetting(market=MARKET, budget=Budget(Money.parse("4"), 15 * SECOND), seconds=20.0)


def flow(*parents):
    """Tasks of 10 s; later ones may be needed by earlier ones."""
    builder = WorkflowBuilder("flow")
    for task, needs in enumerate(parents):
        builder.task(str(task), needs=[str(one) for one in needs], runtime=10)
    return Work.of_dag(builder.build())


def workload():
    fork = flow((1,), (), (1,), (1,))  # the second task comes first
    return Workload((Arrival(0, fork), Arrival(7 * SECOND, flow((), ()))), "two")


def test_times_and_arrivals_are_rounded_up_to_slots_and_parents_come_first():
    small, order = slotted_workload(workload(), SETTING)
    assert small.arrivals == (0, 2)
    assert order[0] == 1
    assert {task.takes for task in small.tasks} == {(2, 1)}
    assert (small.interval, small.budget) == (3, 4)
    assert [offer.price for offer in small.offers] == [1, 3]


@pytest.mark.parametrize("aim", ["lateness", "response"])
def test_no_policy_is_better_than_the_best_nor_the_best_than_its_bound(aim):
    setting = OptimumSetting(
        market=MARKET, budget=SETTING.budget, aim=aim, seconds=20.0, beside=("react", "pfa", "plf")
    )
    found = study_optimum(workload(), setting)
    assert found.is_optimal
    assert found.bound == found.cost
    assert (found.works, found.tasks, found.gap) == (2, 6, 0.0)
    for policy in found.policies:
        assert policy.cost >= found.cost
        assert policy.response_s >= found.response_s - 1e-9 or aim == "lateness"


def test_what_policies_do_is_a_schedule_of_the_model():
    from bursar.runs.optimum_study import _policy_schedule

    small, order = slotted_workload(workload(), SETTING)
    for name in ("react", "pfa", "plf", "scf"):
        schedule = _policy_schedule(name, workload(), SETTING, order)
        assert schedule is not None
        assert [one for one in problems(small, schedule) if "after the last" not in one] == []


@pytest.mark.parametrize(
    ("budget", "why"),
    [
        (Budget(Money.parse("4"), 12 * SECOND), "whole slots of 5.0 s"),
        (Budget(Money.parse("4")), "whole slots"),
        (Budget(Money.parse("0.5"), 15 * SECOND), "pays for no machine"),
    ],
)
def test_a_budget_that_does_not_fit_is_refused(budget, why):
    with pytest.raises(InputError, match=why):
        study_optimum(workload(), OptimumSetting(market=MARKET, budget=budget))


def test_machines_of_several_slots_are_refused():
    offers = (MARKET.offers[0], msgspec.structs.replace(MARKET.offers[1], slots=2))
    market = msgspec.structs.replace(MARKET, offers=offers)
    with pytest.raises(InputError, match="one slot; 'large' has 2"):
        study_optimum(workload(), OptimumSetting(market=market, budget=SETTING.budget))


def test_a_limit_counts_machines():
    small, _ = slotted_workload(workload(), SETTING)
    assert [offer.limit for offer in small.offers] == [2, 1]
