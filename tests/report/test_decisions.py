from __future__ import annotations

import pytest

from bursar.model.assigned import Assigned
from bursar.model.goal import Goal
from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, SECOND
from bursar.model.work import Bag, Work
from bursar.report.decisions import clock, decisions, grouped
from bursar.state import events as ev
from bursar.testing import Scene

SMALL = Offer("small", Money.parse("0.10"))
MONEY = Money.parse("0.20"), Money.parse("0.40")


@pytest.fixture
def scene():
    return Scene(SMALL, tasks=3, budget="2.50")


def last(scene):
    *_, made = decisions(scene.events)
    return made.line.what, made.line.why


def test_a_run_begins_with_what_it_was_made_with(scene):
    first, *_ = (made.line for made in decisions(scene.events))
    assert first.what == "run created"
    assert first.why.startswith("$2.50; ")


def test_every_decision_is_reported_with_its_time_and_reason(scene):
    scene.pass_time(90 * SECOND)
    scene.tell(ev.MachineRented(scene.at, 1, "small", HOUR, "to fill the fleet"))
    *_, line = (made.line for made in decisions(scene.events))
    assert line.at_s == 90
    assert line.what == "+1 small (small-1) at $0.10 a unit"
    assert line.why == "to fill the fleet"


@pytest.mark.parametrize(
    ("event", "line"),
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
        (ev.StopRequested(0, "interrupted", "Ctrl-C"), ("stop after the running tasks", "Ctrl-C")),
        (ev.StopRequested(0, "interrupted", "Ctrl-C", now=True), ("stop at once", "Ctrl-C")),
        (ev.RunEnded(0, "budget", "no money"), ("run ended: stopped by its budget", "no money")),
        (ev.RunResumed(0), ("run resumed", "requested")),
        (ev.GoalChanged(0, Goal(Money.parse("5"))), ("budget is now $5.00", "requested")),
        (
            ev.GoalChanged(0, Goal(Money.parse("2.50"), 2 * HOUR)),
            ("deadline is now 2.0 h", "requested"),
        ),
        (
            ev.PlanChosen(0, "knee", {"small": 2}, HOUR, 2 * HOUR, *MONEY),
            ("plan 'knee' chosen: 2 small", "2.0 h and $0.40 at most"),
        ),
    ],
)
def test_what_is_reported_of_each_event(event, line):
    scene = Scene(Offer("small", Money.parse("0.10"), slots=2), tasks=3, budget="2.50")
    scene.start(1, scene.machine())
    scene.tell(event)
    assert last(scene) == line


def test_where_there_are_several_works_a_plan_says_which_it_is_for(scene):
    scene.tell(ev.WorkArrived(0, Work(Bag(1))))
    plan = ev.PlanChosen(0, "knee", {"small": 2}, HOUR, 2 * HOUR, *MONEY, work=2)
    scene.tell(plan)
    assert last(scene) == ("plan 'knee' chosen for work 2: 2 small", "2.0 h and $0.40 at most")
    scene.tell(ev.AssignmentChanged(0, Assigned(("small",), (0,)), {"small": 1}, "slow"))
    assert last(scene) == ("plan changed for work 1: 1 small at most", "slow")


def test_retries_that_were_asked_for_are_counted(scene):
    machine = scene.machine()
    for task in (1, 2):
        scene.end(scene.start(task, machine), "failed")
    scene.tell(ev.RetryRequested(0, (1, 2)))
    assert last(scene) == ("try 2 failed tasks again", "requested")


def test_the_ordinary_course_of_a_run_is_not_reported(scene):
    before = len(list(decisions(scene.events)))
    machine = scene.machine()
    scene.extend(machine, HOUR)
    scene.end(scene.start(1, machine))
    scene.release(machine)
    scene.down(machine)
    lines = [made.line.what for made in decisions(scene.events)][before:]
    assert lines == ["+1 small (small-1) at $0.10 a unit", "-1 small-1"]


def test_every_replica_has_a_reason_even_if_its_policy_gives_none(scene):
    scene.start(1, scene.machine())
    scene.start(1, scene.machine())
    what, why = last(scene)
    assert what == "start a replica of task 1 on small-2"
    assert why == "by the replicator none, which gives no reason"
    scene.tell(ev.AttemptStarted(scene.at, 3, 1, scene.machine(), "expected to end sooner"))
    assert last(scene) == ("start a replica of task 1 on small-3", "expected to end sooner")


def reported_together(scene):
    return [(one.at_s, one.what, one.why) for one in grouped(list(decisions(scene.events)))][1:]


def test_like_decisions_are_reported_together_with_their_count():
    scene = Scene(SMALL, Offer("large", Money.parse("0.40")), tasks=3, budget="9")
    for machine in range(1, 11):
        offer = "large" if machine % 2 else "small"
        scene.tell(ev.MachineRented(scene.at, machine, offer, HOUR, f"task {machine} is ready"))
        scene.pass_time(SECOND // 100)
    scene.pass_time(5 * SECOND)
    scene.tell(ev.MachineRented(scene.at, 11, "small", HOUR, "task 2 is ready"))
    assert reported_together(scene) == [
        (0, "+5 large (large-1, large-3, large-5 ... large-9) at $0.40 a unit", "task 1 is ready"),
        (0.01, "+5 small (small-2, small-4, small-6 ... small-10) at $0.10 a unit",
         "task 2 is ready"),
        (5.1, "+1 small (small-11) at $0.10 a unit", "task 2 is ready"),
    ]  # fmt: skip


def test_decisions_for_other_reasons_stay_apart():
    scene = Scene(SMALL, tasks=3, budget="9")
    for machine, why in ((1, "to learn"), (2, "to fill the fleet"), (3, "to learn")):
        scene.tell(ev.MachineRented(scene.at, machine, "small", HOUR, why))
    assert [what for _, what, _ in reported_together(scene)] == [
        "+2 small (small-1, small-3) at $0.10 a unit",
        "+1 small (small-2) at $0.10 a unit",
    ]


def test_however_long_a_run_is_its_reasons_fit_some_screens():
    scene = Scene(Offer("small", Money.parse("0.10"), SECOND), tasks=3, budget="9000")
    machine = scene.machine()
    for _ in range(5_000):
        scene.pass_time(SECOND)
        scene.tell(ev.LeaseExtended(scene.at, machine, scene.at + 2 * SECOND, "busy"))
    lines = reported_together(scene)
    assert 40 < len(lines) < 60
    assert lines[1][1].startswith("keep small-1 (")


def test_replicas_and_refusals_are_counted():
    scene = Scene(Offer("small", Money.parse("0.10"), slots=9), tasks=3, budget="9")
    first, second = scene.machine(), scene.machine()
    for task in (1, 2, 3):
        scene.start(task, first)
    for number, task in enumerate((1, 2, 3), 4):
        scene.tell(ev.AttemptStarted(scene.at, number, task, second, "slower there"))
    for _ in range(4):
        scene.tell(ev.ActionRefused(scene.at, "Rent", "offer small", "no money"))
    assert [what for _, what, _ in reported_together(scene)][-2:] == [
        "start 3 replicas of tasks 1, 2, 3",
        "refused 4 times: Rent (offer small)",
    ]


def test_several_replicas_of_one_task_name_it_once():
    scene = Scene(Offer("small", Money.parse("0.10"), slots=9), tasks=3, budget="9")
    machines = [scene.machine(), scene.machine(), scene.machine()]
    scene.start(2, machines[0])
    for number, machine in enumerate(machines[1:], 2):
        scene.tell(ev.AttemptStarted(scene.at, number, 2, machine, "no result so far"))
    assert reported_together(scene)[-1][1] == "start 2 replicas of task 2"


@pytest.mark.parametrize(
    ("at", "shown"),
    [
        (0, "0.0 s"),
        (340_000, "0.3 s"),
        (8_092_000, "8.1 s"),
        (60 * SECOND - 1, "59.9 s"),
        (61 * SECOND, "0:01:01"),
        (30 * HOUR + 1, "30:00:00"),
    ],
)
def test_times_are_shown_as_hours_minutes_and_seconds_after_the_first_minute(at, shown):
    assert clock(at) == shown
