"""Advisors think beside the loop; what they propose passes the guard."""

from __future__ import annotations

import threading

import msgspec
import pytest
from tests.engine.stage import SMALL, Stage

from bursar.engine.guard import Guard
from bursar.engine.roles import Advisor, Policy
from bursar.model.assigned import Assigned
from bursar.model.errors import InputError, PolicyError
from bursar.model.strategy import Strategy
from bursar.model.time import MINUTE
from bursar.model.work import Bag, Work
from bursar.state import events as ev
from bursar.testing import Scene

PATIENT = Strategy(None, MINUTE, MINUTE, 0.0)
CHANGED = ev.AssignmentChanged(0, Assigned(("small",), (0,)), {"small": 1}, "better")


class Question(msgspec.Struct, frozen=True):
    asked_at: int


class Once(Advisor):
    """Asks once something has begun, and proposes what a test gives it."""

    def __init__(self, proposal):
        self.proposal, self.asked, self.threads = proposal, 0, []

    def question(self, view, now):
        if self.asked or not view.attempts:
            return None
        self.asked += 1
        return Question(now)

    def answer(self, question):
        self.threads.append(threading.get_ident())
        if isinstance(self.proposal, Exception):
            raise self.proposal
        return self.proposal


def advised(proposal, **options):
    advisor = Once(proposal)
    return Stage(advisors=(advisor,), **options), advisor


def test_a_proposal_becomes_an_event_at_the_time_the_loop_gets_it():
    stage, advisor = advised(CHANGED)
    assert stage.run().status == "done"
    (event,) = stage.events(ev.AssignmentChanged)
    assert advisor.asked == 1
    assert event.at == stage.events(ev.AttemptStarted)[0].at
    assert stage.state.plans_of(1).assignment == event


def test_an_answer_may_come_from_another_thread_and_late():
    stage, advisor = advised(CHANGED, think=lambda work: threading.Thread(target=work).start())
    stage.engine.step(())
    while not advisor.threads:
        stage.engine.step(stage.world.wait(stage.engine.next_look()))
    assert advisor.threads != [threading.get_ident()]


def test_nothing_is_asked_again_while_an_answer_is_awaited():
    work = []
    stage, advisor = advised(None, think=work.append, tasks=3)
    advisor.question = lambda view, now: Question(now) if view.attempts else None
    assert stage.run().status == "done"
    assert len(work) == 1


@pytest.mark.parametrize(
    ("proposal", "why"),
    [
        ("another plan", "this is no proposal"),
        (msgspec.structs.replace(CHANGED, fleet={"small": "1"}), "not made of what it must be"),
        (msgspec.structs.replace(CHANGED, fleet={"small": -1}), "less than no machine"),
        (msgspec.structs.replace(CHANGED, fleet={"huge": 1}), "the market has no offer huge"),
        (msgspec.structs.replace(CHANGED, why=7), "not made of what it must be"),
        (msgspec.structs.replace(CHANGED, assigned=Assigned(("small",), (0,) * 9)), "not there"),
        (msgspec.structs.replace(CHANGED, assigned=Assigned(("small",), (3,))), "does not name"),
        (msgspec.structs.replace(CHANGED, work=2), "a work that is not there"),
        (msgspec.structs.replace(CHANGED, work=0), "a work that is not there"),
    ],
)
def test_a_proposal_that_cannot_be_followed_is_refused(proposal, why):
    stage, _ = advised(proposal)
    assert stage.run().status == "done"
    assert stage.events(ev.AssignmentChanged) == []
    (refused,) = stage.events(ev.ActionRefused)
    assert why in refused.why
    assert refused.action == type(proposal).__name__


@pytest.mark.parametrize("proposal", [CHANGED, ev.StrategyChosen(0, PATIENT, "better")])
def test_a_proposal_about_work_that_is_over_is_refused(proposal):
    scene = Scene(SMALL, tasks=1)
    attempt = scene.start(1, scene.machine())
    guard = Guard(scene.state, lambda offer: 0)
    assert isinstance(guard.review_proposal(proposal, scene.at), type(proposal))
    scene.end(attempt)
    assert guard.review_proposal(proposal, scene.at).why == "the work is over"


def test_a_proposal_is_about_the_tasks_of_its_own_work():
    scene = Scene(SMALL, tasks=1, arrivals_open=True)
    scene.tell(ev.WorkArrived(0, Work(Bag(3))))
    guard = Guard(scene.state, lambda offer: 0)
    wide = msgspec.structs.replace(CHANGED, assigned=Assigned(("small",), (0,) * 3))
    assert "tasks that are not there" in guard.review_proposal(wide, scene.at).why
    second = guard.review_proposal(msgspec.structs.replace(wide, work=2), scene.at)
    assert isinstance(second, ev.AssignmentChanged)
    scene.end(scene.start(1, scene.machine()))
    assert guard.review_proposal(CHANGED, scene.at).why == "the work is over"
    second = guard.review_proposal(msgspec.structs.replace(wide, work=2), scene.at)
    assert isinstance(second, ev.AssignmentChanged)


def test_a_strategy_that_ends_on_reliable_machines_needs_some():
    spot = msgspec.structs.replace(SMALL, pool="unreliable")
    guard = Guard(Scene(spot, tasks=1).state, lambda offer: 0)
    chosen = ev.StrategyChosen(0, Strategy(0, MINUTE, MINUTE, 1.0), "better")
    assert "the market has none" in guard.review_proposal(chosen, 0).why


@pytest.mark.parametrize("where", ["question", "answer"])
def test_an_advisor_that_fails_stops_the_run_and_is_named(where):
    stage, advisor = advised(ValueError("no idea"), tasks=9)
    if where == "question":
        advisor.question = lambda view, now: 1 / 0
    with pytest.raises(PolicyError, match="the advisor Once is faulty"):
        stage.run()
    assert stage.state.ended.status == "failed"


def test_what_is_due_when_a_run_is_resumed_is_answered_before_money_is_spent():
    stage, advisor = advised(CHANGED)
    advisor.question = lambda view, now: None if advisor.threads else Question(now)
    stage.run()
    kinds = [type(event) for event in stage.events()]
    assert kinds.index(ev.AssignmentChanged) < kinds.index(ev.MachineRented)


def test_an_entry_that_is_no_advisor_is_refused():
    policy = Stage().policy
    with pytest.raises(InputError, match="object is no advisor"):
        Policy(policy.provisioner, policy.placer, policy.replicator, (object(),))
