"""Plans, strategies and assignments belong to a work, and stay apart from those of others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.model.assigned import Assigned
from bursar.model.codec import ENCODER, decoder
from bursar.model.market import Offer
from bursar.model.money import ZERO, Money
from bursar.model.plan import Assumed
from bursar.model.strategy import Strategy
from bursar.model.time import HOUR, MINUTE
from bursar.model.work import Bag, Work
from bursar.report.summary import tell
from bursar.state import checkpoint
from bursar.state import events as ev
from bursar.state.digest import digest_of
from bursar.state.read_only import view_of
from bursar.state.work_plans import NO_PLANS
from bursar.testing import Scene

SMALL = Offer("small", Money.parse("0.10"))
WORKS = 3


def offered(tag, work):
    return ev.PlansOffered(0, (), Assumed(tasks=tag, date="undated"), work)


def chosen(tag, work, strategy=None):
    fleet, money = {"small": tag}, (Money(tag), Money(tag))
    return ev.PlanChosen(0, str(tag), fleet, tag, tag, *money, strategy=strategy, work=work)


def strategy(tag, work):
    return ev.StrategyChosen(0, Strategy(1, tag * MINUTE, tag * MINUTE, 0.1), work=work)


def assignment(tag, work):
    return ev.AssignmentChanged(0, Assigned(("small",), (0,) * tag), {"small": tag}, work=work)


def works(count=WORKS):
    scene = Scene(SMALL, tasks=0, arrivals_open=True)
    for _ in range(count):
        scene.tell(ev.WorkArrived(0, Work(Bag(2))))
    return scene


KINDS = st.sampled_from([offered, chosen, strategy, assignment])
EVENTS = st.lists(st.tuples(KINDS, st.integers(1, 9), st.integers(1, WORKS)))


@given(EVENTS)
def test_a_work_has_what_its_own_events_say_whatever_is_planned_for_others(made):
    together = works()
    for kind, tag, work in made:
        together.tell(kind(tag, work))
    for work in range(1, WORKS + 1):
        alone = works()
        for kind, tag, other in made:
            if other == work:
                alone.tell(kind(tag, work))
        assert together.state.plans_of(work) == alone.state.plans_of(work)


@given(EVENTS)
def test_a_checkpoint_keeps_the_plans_of_every_work(made):
    scene = works()
    for kind, tag, work in made:
        scene.tell(kind(tag, work))
    arrived = dict(enumerate((event for event in scene.events), 1))
    again = checkpoint.from_bytes(
        checkpoint.to_bytes(scene.state), lambda number: arrived[number].work
    )
    assert again.plans == scene.state.plans


def test_records_of_before_are_about_the_first_work():
    for event in (offered(1, 1), chosen(1, 1), strategy(1, 1), assignment(1, 1)):
        record = ENCODER.encode(event)
        assert b'"work"' not in record
        assert decoder(ev.AnyEvent).decode(record) == event


def test_the_strategy_of_a_plan_counts_before_one_that_an_advisor_chose():
    scene = works()
    scene.tell(strategy(2, 1))
    assert scene.state.plans_of(1).strategy_to_follow == strategy(2, 1).strategy
    scene.tell(chosen(3, 1))
    assert scene.state.plans_of(1).strategy_to_follow == strategy(2, 1).strategy
    scene.tell(chosen(3, 1, strategy(4, 1).strategy))
    assert scene.state.plans_of(1).strategy_to_follow == strategy(4, 1).strategy
    assert scene.state.plans_of(2) == NO_PLANS


def test_entries_see_the_plan_that_each_work_follows_and_cannot_change_it():
    scene = works()
    view = view_of(scene.state)
    assert view.plan_of(1) is None
    scene.tell(chosen(3, 1))
    scene.tell(chosen(5, 2, strategy(4, 2).strategy))
    assert (view.plan_of(1).fleet, view.plan_of(1).strategy) == ({"small": 3}, None)
    assert view.plan_of(2).strategy == strategy(4, 2).strategy
    scene.tell(assignment(2, 1))
    assert view.plan_of(1).fleet == {"small": 2}
    assert view.plan_of(1).assigned == assignment(2, 1).assigned
    assert view.plan_of(2).fleet == {"small": 5}
    with pytest.raises(TypeError):
        view.plan_of(2).fleet["small"] = 0
    with pytest.raises(AttributeError):
        view.plan_of(2).fleet = {}
    assert scene.state.plans_of(2).chosen.fleet == {"small": 5}


def test_a_list_of_plans_is_dropped_when_all_tasks_of_its_work_are_done_and_no_earlier():
    scene = works()
    for work in (1, 2):
        scene.tell(offered(2, work))
        scene.tell(chosen(1, work))
    machine = scene.machine(stay=HOUR)
    scene.end(scene.start(1, machine))
    assert scene.state.plans_of(1).offered is not None
    scene.end(scene.start(2, machine))
    assert scene.state.plans_of(1).offered is None
    assert scene.state.plans_of(1).chosen == chosen(1, 1)
    assert scene.state.plans_of(2).offered is not None


def test_plans_of_later_works_are_forgotten_when_all_their_tasks_are_done():
    scene = works(count=2)
    for work in (1, 2):
        scene.tell(offered(2, work))
        scene.tell(chosen(1, work))
    machine = scene.machine(stay=HOUR)
    for task in range(1, scene.state.total + 1):
        assert scene.state.plans_of(scene.state.work_of(task)).chosen is not None
        scene.end(scene.start(task, machine))
    assert list(scene.state.plans) == [1]
    assert view_of(scene.state).plan_of(2) is None


def test_entries_see_the_last_strategy_of_a_work():
    scene = works()
    view = view_of(scene.state)
    assert view.strategy_of(1) is None
    scene.tell(chosen(5, 1, strategy(4, 1).strategy))
    assert view.strategy_of(1) == strategy(4, 1).strategy
    scene.tell(strategy(3, 1))
    assert view.strategy_of(1) == strategy(3, 1).strategy
    assert view.strategy_of(2) is None


def test_figures_of_a_whole_run_are_compared_with_a_plan_for_all_of_it_only():
    scene = works(count=1)
    scene.tell(chosen(3, 1))
    assert digest_of(scene.state).promise.name == "3"
    scene.tell(ev.WorkArrived(0, Work(Bag(1))))
    assert digest_of(scene.state).promise is None
    assert not any("predicted" in line for line in tell(scene.state))
    assert scene.state.plans_of(1).committed_before == ZERO
