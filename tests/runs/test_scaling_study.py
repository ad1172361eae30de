"""Studies of autoscalers: what is read off their runs, and what is refused."""

from __future__ import annotations

from functools import cache

import msgspec
import pytest

from bursar.formats.workload import parse_workload_lines
from bursar.model.errors import InputError
from bursar.model.goal import Account, Budget, Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.runs.scaling_input import market_of_machines, read_users
from bursar.runs.scaling_study import ScalingSetting, study_scaling
from bursar.runs.workload_study import StudySetting, study_workload
from bursar.simulate.estimate_errors import EstimateError
from bursar.simulate.workloads.generate import generate
from bursar.simulate.workloads.spec import Poisson, SizeClass, WorkloadSpec

SMALL = Offer("small", Money.parse("1"), MINUTE, limit=10, boot=5 * SECOND)
LARGE = Offer("large", Money.parse("3"), MINUTE, limit=5, boot=5 * SECOND, slots=2, speed=1.5)
MARKET = Market("USD", "undated", (SMALL, LARGE))


@cache
def workload(owners=()):
    spec = WorkloadSpec(
        kinds=(("montage", 1.0), ("ligo", 1.0)),
        count=8,
        seed=11,
        classes=(SizeClass(1.0, 24, 40),),
        totals=200.0,
        arrivals=Poisson(rate=0.03),
        owners=owners,
        priorities=(0, 9),
    )
    return generate(spec)


def study(*provisioners, owners=(), **options):
    setting = ScalingSetting(market=MARKET, provisioners=provisioners, **options)
    return study_scaling(workload(owners), setting)


def test_machines_that_are_always_up_are_what_others_are_compared_with():
    found = study("react", "hist")
    react, hist, base = found.runs
    assert found.size == 20, "ten slots of each offer"
    assert (base.name, base.elastic.mean, base.elasticity.under) == ("always-up", 1.0, 0.0)
    assert base.elasticity.supply == 20
    assert react.elastic.mean > 1 and react.hours < base.hours
    assert hist.elasticity.under < react.elasticity.under
    scores = found.scores()
    assert scores["always-up"].overall == 1
    assert set(scores) == {"react/backfill", "hist/backfill", "always-up"}


def test_every_pair_of_autoscaler_and_placer_is_tried_or_the_placer_that_suits():
    names = [run.name for run in study("token", "plf").runs]
    assert names == ["token/backfill", "plf/follow", "always-up"]
    names = [run.name for run in study("token", placers=("cpp", "stretch")).runs]
    assert names == ["token/cpp", "token/stretch", "always-up"]


@pytest.mark.parametrize("provisioner", ["react", "plan", "pfa", "plf", "scf"])
def test_two_users_keep_their_budgets(provisioner):
    goal = Goal(
        accounts=(
            Account("ann", Budget(Money.parse("9"), MINUTE)),
            Account("bob", Budget(Money.parse("6"), MINUTE)),
        )
    )
    run, _ = study(provisioner, owners=("ann", "bob"), goal=goal).runs
    assert run.ended == "done"
    assert [one.name for one in run.accounts] == ["ann", "bob"]
    assert all(0 < one.most_of_budget <= 1 for one in run.accounts)
    assert sum(Money.recall(one.cost).nanos for one in run.accounts) == Money.recall(run.cost).nanos


def test_a_machine_is_charged_in_whole_units_from_renting_on():
    hourly = Market("USD", "undated", (Offer("one", Money.parse("1"), HOUR, limit=4),))
    setting = ScalingSetting(market=hourly, provisioners=("react", "react:release=at-once"))
    paid, at_once, base = study_scaling(workload(), setting).runs
    assert Money.recall(paid.cost).nanos == round(4 * paid.charged_hours) * 10**9
    assert paid.charged_hours < at_once.charged_hours
    assert at_once.hours < paid.hours <= base.hours
    assert base.charged_hours == 1


def test_estimates_may_be_wrong_learned_or_unknown():
    right = study("plan").runs[0]
    wrong = study("plan", error=EstimateError("static", 20.0)).runs[0]
    learned = study("plan", error=EstimateError("learned")).runs[0]
    unknown = study("plan", error=EstimateError("unknown")).runs[0]
    found = (right.elasticity, wrong.elasticity, learned.elasticity, unknown.elasticity)
    assert len(set(found)) == 4


def test_a_work_of_somebody_without_a_budget_is_refused():
    goal = Goal(accounts=(Account("ann", Budget(Money.parse("9"), MINUTE)), Account("eve", None)))
    with pytest.raises(InputError, match="work 2 of workload belongs to 'bob', who has no budget"):
        study("react", owners=("ann", "bob"), goal=goal)


def test_a_budget_that_buys_no_machine_is_refused():
    goal = Goal(Money.parse("0.99"), every=MINUTE)
    with pytest.raises(InputError, match=r"buys no machine: the cheapest costs 1\.00; raise it"):
        study("react", goal=goal)


def test_budgets_of_users_are_read_with_what_is_wrong():
    market = market_of_machines(3)
    goal = read_users(["ann=5/h", "bob=2"], market)
    assert goal.budgets()["ann"] == Budget(Money.parse("5"), HOUR)
    for users, why in (
        (["ann"], "write for example ann=5/h"),
        (["ann=x"], "ann: 'x' is not an amount"),
        (["ann=5/h", "ann=6/h"], "same name"),
    ):
        with pytest.raises(InputError, match=why):
            read_users(users, market)


@pytest.mark.parametrize("provisioner", ["react", "plan", "pfa"])
def test_slow_files_take_machines_longer_and_cost_more(provisioner):
    setting = ScalingSetting(market=MARKET, provisioners=(provisioner,))
    found = []
    for bandwidth in (None, 5e6):
        works = msgspec.structs.replace(workload(), bandwidth=bandwidth)
        found.append(study_scaling(works, setting).runs[0])
    without, slow = found
    assert slow.hours > 1.1 * without.hours
    assert Money.parse(slow.cost) > Money.parse(without.cost)


def by_offer(times=None):
    """Two works of one task each, which arrive together; only the first tells times by offer."""
    pair = b'{"kind": "one", "name": ["a"], "runtime": [40], "parents": [[]]}'
    told = b'{"small": [100], "large": [20]}' if times is None else times
    lines = b'{"at": 0, "workflow": %s, "times": %s}\n{"at": 0, "workflow": %s}' % (
        pair,
        told,
        pair,
    )
    return parse_workload_lines(lines, "w.jsonl")


def test_tasks_take_what_a_workload_file_says_of_each_offer():
    market = Market("USD", "undated", (msgspec.structs.replace(SMALL, boot=0),))
    told = by_offer(b'{"small": [100]}')
    react, base = study_scaling(told, ScalingSetting(market=market, provisioners=("react",))).runs
    for run in (react, base):
        assert run.slowdown.mean == pytest.approx((100 / 40 + 40 / 40) / 2)


@pytest.mark.parametrize(("billing", "charged"), [(HOUR, (1 + 1) / 2), (MINUTE, (2 + 1) / 60 / 2)])
def test_hours_and_charged_hours_are_by_machine_of_the_system(billing, charged):
    """Equations 4.11 to 4.14: two machines of two, up for 100 and 60 s, in whole units."""
    offer = msgspec.structs.replace(SMALL, boot=0, limit=2, billing=billing)
    market = Market("USD", "undated", (offer,))
    setting = ScalingSetting(market=market, provisioners=("adapt:damping=0.5:release=at-once",))
    follows, base = study_scaling(by_offer(b'{"small": [100]}'), setting).runs
    assert follows.hours == pytest.approx((100 + 60) / 3600 / 2)
    assert follows.charged_hours == pytest.approx(charged)
    assert base.hours == pytest.approx(100 / 3600)
    assert follows.saved == pytest.approx(200 / 160)
    assert follows.charged_saved == pytest.approx(base.charged_hours / charged)


def test_run_times_by_offer_are_for_all_offers_of_the_market():
    assert by_offer().times_on(MARKET) == {
        "small": [100 * SECOND, 40 * SECOND],
        "large": [20 * SECOND, round(40 * SECOND / 1.5)],
    }
    other = Market("USD", "undated", (SMALL, msgspec.structs.replace(LARGE, name="huge")))
    with pytest.raises(InputError, match=r"work 1 of 'w' tells run times .* not of 'huge'"):
        study_scaling(by_offer(), ScalingSetting(market=other, provisioners=("react",)))
    assert workload().times_on(MARKET) is None


def test_run_times_by_offer_have_no_errors_of_estimates():
    setting = ScalingSetting(
        market=MARKET, provisioners=("react",), error=EstimateError("static", 2.0)
    )
    with pytest.raises(InputError, match="ask for no errors of estimates"):
        study_scaling(by_offer(), setting)


def test_run_times_by_offer_need_offers():
    lines = [b'{"at": 0, "workflow": {"kind": "one", "name": ["a"], "runtime": [1],'
             b' "parents": [[]]}, "times": {"small": [2]}}'] * 40  # fmt: skip
    told = parse_workload_lines(b"\n".join(lines))
    with pytest.raises(InputError, match="with a provisioner and a market"):
        study_workload(told, StudySetting(placers=("backfill",)))
