"""With unreliable machines in the market, a goal holds that would hold without them."""

from __future__ import annotations

import msgspec
import pytest

from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import Bag
from bursar.policies.provision.bats import Bats
from bursar.policies.provision.frontier import Frontier
from bursar.policies.provision.hedged import AGAIN, FIRST_TRIED, Hedged
from bursar.reproduce.spot_added import (
    BUDGET,
    DEADLINE,
    LASTING,
    NEVER,
    SCARCE,
    SHORT,
    SpotCase,
    SpotFate,
    outcome,
)
from bursar.runs.faults import Faults
from bursar.runs.request import Request
from bursar.runs.study import Subject, bag_subject, study
from bursar.simulate.faults import given
from bursar.simulate.spot_trace import SpotTrace
from bursar.testing import Scene, check_provisioner


def offer(name, hourly, *, billing=SECOND, pool="reliable", boot=30, limit=10):
    price = Money.parse(f"{hourly * billing / HOUR:.9f}")
    minimum = MINUTE if billing == SECOND else 0
    return Offer(name, price, billing, minimum, limit, boot * SECOND, pool=pool)


SURE = offer("sure", 0.10)
MARKET = Market("USD", "undated", (SURE, offer("other", 0.11)))
SPOT = offer("spot", 0.04, pool="unreliable")
BUDGET_ONLY = Goal(budget=Money.parse("1.5"))


def case(fate, *, spot=SPOT, market=MARKET, budget="1.2", deadline=HOUR):
    """A hundred tasks of five minutes: 0.83 where they cost least."""
    life = SpotFate(0.0, 1.0, None, 0, (), kind=fate, life=6 * MINUTE)
    money = Money.parse(budget)
    return SpotCase("a", "", market, spot, life, 100, 5 * MINUTE, 0.2, money, deadline)


def test_without_a_deadline_it_keeps_the_contract_of_a_provisioner():
    check_provisioner(lambda market: Hedged(market, BUDGET_ONLY), worlds=8)


@pytest.mark.parametrize("fate", [LASTING, SHORT, SCARCE, NEVER])
@pytest.mark.parametrize("kind", [BUDGET, DEADLINE])
def test_a_goal_holds_as_often_whatever_becomes_of_spot_machines(fate, kind):
    found = outcome(case(fate), kind, 3)
    assert found.held[1] >= found.held[0] == 3


@pytest.mark.parametrize("kind", [BUDGET, DEADLINE])
def test_spot_machines_that_last_save_money(kind):
    found = outcome(case(LASTING), kind, 3)
    assert found.cost[1] < found.cost[0]


def test_a_spot_offer_that_saves_nothing_changes_nothing():
    poor = offer("spot", 0.095, pool="unreliable")
    for kind in (BUDGET, DEADLINE):
        found = outcome(case(LASTING, spot=poor), kind, 2)
        assert found.cost[0] == found.cost[1]
        assert found.time[0] == found.time[1]


def test_hourly_machines_that_are_soon_lost_do_not_eat_the_budget():
    market = Market("USD", "undated", (offer("sure", 0.10, billing=HOUR, boot=0),))
    spot = offer("spot", 0.05, billing=HOUR, pool="unreliable", boot=0, limit=20)
    found = outcome(case(SHORT, spot=spot, market=market, budget="1.5"), BUDGET, 4)
    assert found.held == (4, 4)


def test_an_hourly_spot_machine_is_rented_only_where_its_hour_may_be_lost():
    market = Market("USD", "undated", (offer("sure", 0.10, billing=HOUR, boot=0),))
    spot = offer("spot", 0.05, billing=HOUR, pool="unreliable", boot=0, limit=20)
    tight = outcome(case(LASTING, spot=spot, market=market, budget="0.9"), BUDGET, 2)
    assert tight.time[0] == tight.time[1], "all money may be needed for reliable machines"
    rich = outcome(case(LASTING, spot=spot, market=market, budget="3"), BUDGET, 2)
    assert rich.time[1] != rich.time[0]


def test_silent_hosts_are_left_alone_and_the_deadline_holds():
    market = Market("USD", "undated", (*MARKET.offers, SPOT))
    request = Request(market=market, goal=Goal(deadline=2 * HOUR))
    subject = bag_subject(request, 100, 5 * MINUTE, MINUTE)
    runs = study(subject, Faults(0.0, 0.7, None, 0, ()), range(3)).runs
    assert [one.status for one in runs] == ["done"] * 3


def test_the_fleet_is_planned_as_without_unreliable_machines():
    both = Market("USD", "undated", (*MARKET.offers, SPOT))
    assert isinstance(Hedged(both, BUDGET_ONLY).inner, Frontier)
    assert isinstance(Hedged(both, Goal(deadline=HOUR)).inner, Bats)
    hourly = Market("USD", "undated", (offer("sure", 1, billing=HOUR), SPOT))
    assert isinstance(Hedged(hourly, BUDGET_ONLY).inner, Frontier)


def test_it_is_the_default_where_there_is_a_goal_and_a_reliable_machine():
    both = Market("USD", "undated", (*MARKET.offers, SPOT))
    bag = Bag(count=10)

    def provisioner(**asked):
        return Request(bag=bag, **{"market": both, **asked}).all_policies()["provisioner"]

    assert provisioner(goal=BUDGET_ONLY) == "hedged"
    assert provisioner(goal=Goal(deadline=HOUR)) == "hedged"
    assert provisioner(goal=BUDGET_ONLY, prefer="cheapest") == "mixed"
    assert provisioner(goal=BUDGET_ONLY, strategy="AUR") == "mixed"
    alone = Market("USD", "undated", (SPOT,))
    assert provisioner(goal=BUDGET_ONLY, market=alone) == "mixed"


def test_machines_that_were_refused_are_asked_for_one_at_a_time():
    from bursar.beliefs.samples import SampleLog
    from bursar.runs.study import _policy
    from bursar.simulate.run import simulate
    from bursar.state import events as ev

    rented = []

    class Rents:
        def saw(self, event, state):
            if isinstance(event, ev.MachineRented) and event.offer == "spot":
                rented.append((event.at, event.reason))

    one = case(NEVER)
    subject = one.subject(DEADLINE, with_spot=True)
    runtimes = subject.runtimes(0)
    simulate(
        subject.request.market,
        subject.request.goal,
        subject.request.arrivals(),
        _policy(subject, runtimes, SampleLog(), 0),
        one.fate.behaviour(subject.request.market, runtimes, 0),
        observers=[Rents()],
    )
    again = [at for at, reason in rented if reason == AGAIN]
    assert len(rented) - len(again) == 1, "only the first plan counted on them"
    assert len(again) == len(set(again)) > 2


def one_at_a_time(trace, *, slack, boot=6 * MINUTE):
    """Eight hours of work on one spot machine, which is there at times, and one other."""
    sure = offer("sure", 0.30, boot=boot // SECOND, limit=1)
    spot = offer("spot", 0.10, boot=boot // SECOND, limit=1, pool="unreliable")
    request = Request(
        market=Market("USD", "undated", (spot, sure)), goal=Goal(deadline=8 * HOUR + slack)
    )
    subject = bag_subject(request, 160, 3 * MINUTE, 0)
    return study(subject, Faults(traces=(trace,)), range(3)).runs


def test_it_waits_for_spot_machines_while_there_is_time():
    often = SpotTrace(HOUR, (1, 0) * 12)
    long, short = (one_at_a_time(often, slack=slack) for slack in (12 * HOUR, HOUR))
    assert {one.status for one in (*long, *short)} == {"done"}
    costs = [sum(float(one.money.committed) for one in runs) for runs in (long, short)]
    assert costs[0] < 0.75 * costs[1]


def test_it_goes_back_to_spot_machines_close_to_the_deadline():
    late = SpotTrace(HOUR, (0,) * 5 + (1,) * 19)
    for one in one_at_a_time(late, slack=2 * HOUR):
        assert one.status == "done"
        assert float(one.money.committed) < 0.3 * 8, "less than without spot machines"


def test_with_a_budget_few_spot_machines_are_tried_before_any_has_proved():
    hedged = Hedged(Market("USD", "undated", (SURE, SPOT)), BUDGET_ONLY)
    scene = Scene(SURE, SPOT, tasks=50, budget="1.5")
    assert hedged._market(scene.state, 0)["spot"].limit == FIRST_TRIED
    machine = scene.machine("spot", stay=HOUR)
    for task in range(1, 5):
        attempt = scene.start(task, machine)
        scene.pass_time(MINUTE)
        scene.end(attempt)
    later = Hedged(Market("USD", "undated", (SURE, SPOT)), BUDGET_ONLY)
    later.saw_before(scene.state)
    assert later._market(scene.state, scene.at)["spot"].limit > FIRST_TRIED


def bag_of(*offers, budget, seconds, runs=3):
    """Summaries of a bag with these run times, of which nobody tells anything."""
    market = Market("USD", "undated", offers)
    request = Request(
        market=market, goal=Goal(budget=Money.parse(budget)), bag=Bag(count=len(seconds))
    )
    subject = Subject(request, lambda seed: given([round(one * SECOND) for one in seconds]))
    return study(subject, Faults(0.0, 1.0, None, 0, ()), range(runs)).runs


def by_seconds(name, hourly, pool="reliable", least=6):
    price = Money.parse(f"{hourly / 3600:.9f}")
    return Offer(name, price, SECOND, least * SECOND, limit=10, pool=pool)


def test_a_budget_that_only_spot_prices_keep_is_not_spent_on_reliable_machines():
    spot = by_seconds("spot", 0.12, "unreliable")
    runs = bag_of(by_seconds("sure", 0.36), spot, budget="0.0111", seconds=[3] * 100)
    assert [one.status for one in runs] == ["done"] * 3


def test_a_long_task_is_waited_for_where_the_money_buys_no_reliable_machine():
    spot = by_seconds("spot", 0.36, "unreliable", least=2)
    dear = by_seconds("sure", 100, least=2)
    runs = bag_of(dear, spot, budget="0.05", seconds=[0.1] * 60 + [4])
    assert [one.status for one in runs] == ["done"] * 3
    assert max(one.makespan_s for one in runs) < MINUTE / SECOND


def test_money_that_buys_no_reliable_machine_buys_others_though_they_save_nothing():
    sure = offer("sure", 1, billing=HOUR, boot=0)
    spot = offer("spot", 0.99, billing=MINUTE, boot=0, pool="unreliable")
    runs = bag_of(sure, spot, budget="0.5", seconds=[60] * 20)
    assert [one.status for one in runs] == ["done"] * 3


def test_where_spot_machines_are_refused_the_others_begin_as_without_them():
    found = outcome(case(NEVER, budget="2"), BUDGET, 3)
    assert found.time[1] < 1.05 * found.time[0]


def test_known_run_times_do_not_rule_out_a_budget_for_spot_prices():
    market = Market(
        "USD", "undated", (by_seconds("sure", 0.36), by_seconds("spot", 0.12, "unreliable"))
    )
    known = Request(
        market=market,
        goal=Goal(budget=Money.parse("0.0125")),
        bag=Bag(count=100),
        runtime=3 * SECOND,
        deviation=SECOND // 10,
    )
    subject = Subject(known, lambda seed: given([3 * SECOND] * 100))
    runs = study(subject, Faults(0.0, 1.0, None, 0, ()), range(2)).runs
    assert [one.status for one in runs] == ["done"] * 2
    poor = msgspec.structs.replace(known, goal=Goal(budget=Money.parse("0.009")))
    subject = Subject(poor, lambda seed: given([3 * SECOND] * 100))
    run = study(subject, Faults(0.0, 1.0, None, 0, ()), range(1)).runs[0]
    assert (run.status, float(run.money.committed)) == ("budget", 0.0)
    assert "need about $0.0101" in run.why
