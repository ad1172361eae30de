from __future__ import annotations

import pytest

from bursar import events as ev
from bursar.model.goal import Goal
from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, SECOND
from bursar.report.decisions import clock, decisions
from bursar.testing import Scene

SMALL = Offer("small", Money.parse("0.10"))
MONEY = Money.parse("0.20"), Money.parse("0.40")


@pytest.fixture
def scene():
    return Scene(SMALL, tasks=3, budget="2.50")


def last(scene):
    *_, told = decisions(scene.events)
    return told.what, told.why


def test_a_run_begins_with_what_it_was_made_with(scene):
    first, *_ = decisions(scene.events)
    assert first.what == "run created"
    assert first.why.startswith("$2.50; ")


def test_every_decision_is_told_with_its_time_and_reason(scene):
    scene.pass_time(90 * SECOND)
    scene.tell(ev.MachineRented(scene.at, 1, "small", HOUR, "to fill the fleet"))
    *_, told = decisions(scene.events)
    assert told.at_s == 90
    assert told.what == "+1 small (small-1) at $0.10 a unit"
    assert told.why == "to fill the fleet"


@pytest.mark.parametrize(
    ("event", "told"),
    [
        (ev.LeaseExtended(0, 1, 2 * HOUR, "busy"), ("keep small-1", "busy")),
        (ev.ReleaseMarked(0, 1, "slow"), ("release small-1 when its paid time ends", "slow")),
        (ev.ReleaseOrdered(0, 1, "idle"), ("-1 small-1", "idle")),
        (ev.MachineDown(0, 1, "lost", why="gone"), ("small-1 is gone (lost)", "gone")),
        (
            ev.LossAnnounced(0, 1, 120_000_000),
            ("small-1 will be taken away", "announced 2.0 min ahead"),
        ),
        (ev.MachineDown(0, 1, "expired"), ("small-1 is gone (expired)", "")),
        (ev.AttemptStarted(0, 2, 2, 1, "sample"), ("start task 2 on small-1", "sample")),
        (ev.CancelOrdered(0, 1, "slow"), ("cancel attempt 1 of task 1", "slow")),
        (ev.ActionRefused(0, "Rent", "offer x", "none"), ("refused: Rent offer x", "none")),
        (ev.StopRequested(0, "interrupted", "Ctrl-C"), ("stop gently", "Ctrl-C")),
        (ev.StopRequested(0, "interrupted", "Ctrl-C", now=True), ("stop at once", "Ctrl-C")),
        (ev.RunEnded(0, "budget", "no money"), ("run ended: stopped by its budget", "no money")),
        (ev.RunResumed(0), ("run resumed", "asked for")),
        (ev.GoalChanged(0, Goal(Money.parse("5"))), ("budget is now $5.00", "asked for")),
        (
            ev.GoalChanged(0, Goal(Money.parse("2.50"), 2 * HOUR)),
            ("deadline is now 2.0 h", "asked for"),
        ),
        (
            ev.PlanChosen(0, "knee", {"small": 2}, HOUR, 2 * HOUR, *MONEY),
            ("plan 'knee' chosen: 2 small", "2.0 h and $0.40 at most"),
        ),
    ],
)
def test_what_is_told_of_each_event(event, told):
    scene = Scene(Offer("small", Money.parse("0.10"), slots=2), tasks=3, budget="2.50")
    scene.start(1, scene.machine())
    scene.tell(event)
    assert last(scene) == told


def test_retries_that_were_asked_for_are_counted(scene):
    machine = scene.machine()
    for task in (1, 2):
        scene.end(scene.start(task, machine), "failed")
    scene.tell(ev.RetryRequested(0, (1, 2)))
    assert last(scene) == ("try 2 failed tasks again", "asked for")


def test_the_ordinary_course_of_a_run_is_not_told(scene):
    before = len(list(decisions(scene.events)))
    machine = scene.machine()
    scene.extend(machine, HOUR)
    scene.end(scene.start(1, machine))
    scene.release(machine)
    scene.down(machine)
    told = [one.what for one in decisions(scene.events)][before:]
    assert told == ["+1 small (small-1) at $0.10 a unit", "-1 small-1"]


def test_another_attempt_of_a_running_task_is_told_even_without_a_reason(scene):
    scene.start(1, scene.machine())
    scene.start(1, scene.machine())
    assert last(scene) == ("start task 1 on small-2", "")


@pytest.mark.parametrize(
    ("at", "shown"),
    [
        (0, "0.0 s"),
        (340_000, "0.3 s"),
        (60 * SECOND - 1, "59.9 s"),
        (61 * SECOND, "0:01:01"),
        (30 * HOUR + 1, "30:00:00"),
    ],
)
def test_times_are_shown_as_hours_minutes_and_seconds_after_the_first_minute(at, shown):
    assert clock(at) == shown
