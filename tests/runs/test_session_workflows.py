"""Workflows that follow a plan, taken up again."""

from __future__ import annotations

import pytest

from bursar.journal.reader import JournalReader
from bursar.journal.runs import Home
from bursar.journal.writer import JournalWriter
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import SECOND
from bursar.model.work import Work
from bursar.model.workflow_builder import WorkflowBuilder
from bursar.runs.request import Request
from bursar.runs.session import Session, with_plan
from bursar.state import events as ev

TASKS = 24
MARKET = Market(
    "USD",
    "undated",
    (
        Offer("small", Money.parse("0.01"), SECOND, limit=4),
        Offer("large", Money.parse("0.10"), SECOND, limit=4, speed=4.0),
    ),
)


@pytest.fixture
def begun(tmp_path, monkeypatch):
    """A run with the cheapest plan, stopped before anything was rented."""
    monkeypatch.chdir(tmp_path)
    work = WorkflowBuilder("flow")
    for number in range(TASKS):
        work.task(f"task-{number}", run="true", runtime=1.0)
    request = Request(
        market=MARKET, goal=Goal(Money.parse("0.40")), work=Work.of_dag(work.build()), seed=1
    )
    with Session.begin(Home(tmp_path / "home"), with_plan(request)) as session:
        session.stop("not now")
        session.execute()
        assert set(session.state.plans_of(1).chosen.fleet) == {"small"}
        return session.run_dir


def resumed(run, goal=None):
    """What happened since the run was taken up again, and its state."""
    with Session.take_up(run, goal) as session:
        assert session.execute().status == "done"
        state = session.state
    with JournalReader(run.journal) as journal:
        events = list(journal.events())
    taken_up = max(n for n, event in enumerate(events) if isinstance(event, ev.RunResumed))
    return events[taken_up:], state


def first(events, kind):
    return next((n for n, event in enumerate(events) if isinstance(event, kind)), None)


def test_a_run_that_is_resumed_as_it_was_follows_its_plan(begun):
    events, state = resumed(begun)
    rented = {event.offer for event in events if isinstance(event, ev.MachineRented)}
    assert rented == {"small"}
    assert state.done == TASKS


def test_another_goal_is_planned_for_before_anything_is_rented(begun):
    events, _ = resumed(begun, Goal(Money.parse("9")))
    changed = first(events, ev.AssignmentChanged)
    assert changed is not None
    assert events[changed].why == f"the goal was changed: {TASKS} tasks that are left replanned"
    assert changed < first(events, ev.MachineRented)
    rented = {event.offer for event in events if isinstance(event, ev.MachineRented)}
    assert "large" in rented


def test_what_the_past_tells_is_decided_on_once_and_for_what_is_left_now(begun):
    """Tasks took three times as long as predicted, and the process died before it could tell."""
    done, machine = TASKS // 2, 1
    with JournalWriter(begun.journal) as journal:
        at = 60 * SECOND
        journal.append(ev.RunResumed(at))
        journal.append(ev.MachineRented(at, machine, "small", at + 100 * SECOND))
        journal.append(ev.MachineUp(at, machine))
        for task in range(1, done + 1):
            journal.append(ev.AttemptStarted(at, task, task, machine))
            at += 3 * SECOND
            journal.append(ev.AttemptEnded(at, task, "success", 3 * SECOND))
        journal.commit(safely=True)
    events, state = resumed(begun, Goal(Money.parse("3")))
    changes = [event for event in events if isinstance(event, ev.AssignmentChanged)]
    assert first(events, ev.AssignmentChanged) < first(events, ev.MachineRented)
    assert f"{TASKS - done} tasks that are left" in changes[0].why
    assert state.done == TASKS
