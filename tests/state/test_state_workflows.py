"""Workflows in a run's state: what waits, what becomes ready, and what never can."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bursar.engine.guard import Guard
from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.work import Work
from bursar.model.workflow import Workflow
from bursar.model.workflow_builder import WorkflowBuilder
from bursar.state import events as ev
from bursar.state.actions import Start
from bursar.state.task_status import BLOCKED, DONE, FAILED, READY, WAITING
from bursar.testing import Scene

MANY = Offer("many", Money.parse("0.10"), slots=50)


def flow_of(*needs):
    work = WorkflowBuilder("flow")
    for task, needed in enumerate(needs):
        work.task(f"t{task + 1}", needs=[f"t{one}" for one in needed])
    return Workflow.of(work.build())


@pytest.fixture
def scene():
    """1 -> 2, 3; 2 and 3 -> 4; 5 alone -> 6."""
    made = Scene(MANY, budget="10", arrivals_open=True)
    made.tell(ev.WorkArrived(0, Work(flow_of((), (1,), (1,), (2, 3), (), (5,)))))
    made.machine()
    return made


def perform(scene, task, outcome="success"):
    scene.end(scene.start(task, 1), outcome)


def statuses(scene):
    return list(scene.state.status[1:])


def test_only_tasks_without_needs_are_ready_at_first(scene):
    assert sorted(scene.state.ready) == [1, 5]
    assert scene.state.waiting == 4
    assert scene.state.settled == 0


def test_a_task_is_ready_when_all_that_it_needs_is_done(scene):
    perform(scene, 1)
    assert sorted(scene.state.ready) == [2, 3, 5]
    perform(scene, 2)
    assert sorted(scene.state.ready) == [3, 5]
    perform(scene, 3)
    assert sorted(scene.state.ready) == [4, 5]


def test_a_failure_stops_only_what_needs_it(scene):
    perform(scene, 1)
    perform(scene, 2, "failed")
    assert statuses(scene) == [DONE, FAILED, READY, BLOCKED, READY, WAITING]
    assert scene.state.blocked == 1
    assert scene.state.settled == 3
    perform(scene, 3)
    assert scene.state.status[4] == BLOCKED


def test_what_was_blocked_waits_again_when_the_failed_task_is_tried_again(scene):
    perform(scene, 1, "failed")
    perform(scene, 5, "failed")
    assert statuses(scene) == [FAILED, BLOCKED, BLOCKED, BLOCKED, FAILED, BLOCKED]
    scene.tell(ev.RetryRequested(0, (1,)))
    assert statuses(scene) == [READY, WAITING, WAITING, WAITING, FAILED, BLOCKED]
    for task in (1, 2, 3, 4):
        perform(scene, task)
    assert statuses(scene) == [DONE, DONE, DONE, DONE, FAILED, BLOCKED]


def test_what_needs_two_failed_tasks_stays_blocked_when_one_is_tried_again():
    scene = Scene(MANY, budget="10", arrivals_open=True)
    scene.tell(ev.WorkArrived(0, Work(flow_of((), (), (1, 2), (3,)))))
    scene.machine()
    perform(scene, 1, "failed")
    perform(scene, 2, "failed")
    scene.tell(ev.RetryRequested(0, (2,)))
    assert statuses(scene) == [FAILED, READY, BLOCKED, BLOCKED]
    assert scene.state.blocked == 2


def test_the_guard_starts_no_task_that_waits_not_even_to_measure(scene):
    guard = Guard(scene.state)
    for measure in (False, True):
        answer = guard.review(Start(4, 1, measure=measure), 0)
        assert answer is None or "needs others" in answer.why


def test_workflows_and_bags_share_one_numbering(scene):
    scene.tell(ev.WorkArrived(0, Work(flow_of((), (1,)))))
    assert scene.state.total == 8
    assert scene.state.describe(8) == "t2"
    perform(scene, 7)
    assert 8 in scene.state.ready


@settings(max_examples=60)
@given(st.data())
def test_any_order_of_successes_and_failures_keeps_every_invariant(data):
    count = data.draw(st.integers(1, 12))
    needs = [
        data.draw(st.sets(st.integers(1, task), max_size=3)) if task else ()
        for task in range(count)
    ]
    scene = Scene(MANY, budget="10", arrivals_open=True)
    scene.tell(ev.WorkArrived(0, Work(flow_of(*needs))))
    scene.machine()
    while scene.state.ready:
        task = data.draw(st.sampled_from(sorted(scene.state.ready)))
        perform(scene, task, data.draw(st.sampled_from(["success", "success", "failed", "lost"])))
        if scene.state.failed_tasks and data.draw(st.integers(0, 9)) == 0:
            scene.tell(ev.RetryRequested(0, tuple(scene.state.failed_tasks)))
    assert scene.state.settled == count
    assert scene.state.waiting == 0
