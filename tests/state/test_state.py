from __future__ import annotations

import re

import pytest
from msgspec.structs import force_setattr

from bursar.model.errors import InvariantError
from bursar.model.goal import Goal
from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import Bag, Work, make_bag
from bursar.state import events as ev
from bursar.state.attempts import OUTCOMES
from bursar.state.charges import Charge
from bursar.state.state import RunState, fold
from bursar.state.task_status import CANCELLED, DONE, FAILED, READY, RUNNING
from bursar.state.time_series import TimeSeries
from bursar.testing import Scene

SMALL = Offer("small", Money.parse("0.10"))
LARGE = Offer("large", Money.parse("0.30"), slots=2)


@pytest.fixture
def scene():
    return Scene(SMALL, LARGE, tasks=3, budget="10")


# --- the run -------------------------------------------------------------------------------------


def test_a_run_begins_with_what_it_was_created_with(scene):
    state = scene.state
    assert state.run == "scene"
    assert state.market.offers == (SMALL, LARGE)
    assert state.ledger.budget == Money.parse("10")
    assert state.created is scene.events[0]
    assert state.ended is None


def test_tasks_are_numbered_from_one_through_all_bags():
    scene = Scene(SMALL, tasks=make_bag(["echo"], [["a"], ["b"]]), arrivals_open=True)
    scene.tell(ev.WorkArrived(5, Work(make_bag(["cat"], [["c"]]))))
    state = scene.state
    assert state.total == 3
    assert list(state.ready) == [1, 2, 3]
    assert [state.command(task) for task in (1, 2, 3)] == [
        ("echo", "a"),
        ("echo", "b"),
        ("cat", "c"),
    ]
    assert state.describe(3) == "cat c"
    assert state.locate(3) == (state.work[1][1].tasks, 0)
    assert [state.work_of(task) for task in (1, 2, 3)] == [1, 1, 2]
    assert state.now == 5


@pytest.mark.parametrize("task", [0, -1])
def test_there_is_no_task_before_the_first(scene, task):
    with pytest.raises(KeyError):
        scene.state.locate(task)


def test_work_may_arrive_until_it_is_said_that_no_more_will():
    scene = Scene(SMALL, arrivals_open=True)
    assert scene.state.arrivals_open
    scene.tell(ev.ArrivalsEnded(0))
    assert not scene.state.arrivals_open


def test_a_new_goal_is_a_new_budget(scene):
    scene.tell(ev.GoalChanged(0, Goal(Money.parse("3"), deadline=HOUR)))
    assert scene.state.goal.deadline == HOUR
    assert scene.state.ledger.left == Money.parse("3")


def test_a_resumed_run_is_neither_stopping_nor_over(scene):
    stop = ev.StopRequested(0, "interrupted", "Ctrl-C")
    scene.tell(stop)
    assert scene.state.stopping is stop
    end = ev.RunEnded(0, "interrupted", "Ctrl-C")
    scene.tell(end)
    assert scene.state.ended is end
    scene.tell(ev.RunResumed(0))
    assert scene.state.stopping is None
    assert scene.state.ended is None


def test_a_refusal_changes_nothing_but_the_time(scene):
    before = (list(scene.state.ready), dict(scene.state.machines), scene.state.ledger.committed)
    scene.tell(ev.ActionRefused(7, "Rent", "offer small", "too dear"))
    after = (list(scene.state.ready), dict(scene.state.machines), scene.state.ledger.committed)
    assert before == after
    assert scene.state.now == 7


def test_time_never_runs_back(scene):
    scene.tell(ev.ArrivalsEnded(10))
    with pytest.raises(InvariantError, match="time ran back from 10 to 9"):
        scene.tell(ev.ArrivalsEnded(9))


# --- attempts ------------------------------------------------------------------------------------


def test_a_task_runs_while_it_has_a_live_attempt_and_is_done_with_a_success(scene):
    machine = scene.machine()
    scene.pass_time(SECOND)
    attempt = scene.start(2, machine)
    assert scene.state.status[2] == RUNNING
    assert list(scene.state.attempts_of(2)) == [attempt]
    assert 2 not in scene.state.ready
    scene.pass_time(4 * SECOND)
    scene.end(attempt)
    state = scene.state
    assert state.status[2] == DONE
    assert (state.done, state.settled, state.winners[2]) == (1, 1, attempt)
    assert state.last_settled == 5 * SECOND
    assert list(state.attempts_of(2)) == []
    assert (state.log.runtime[attempt], state.log.ended[attempt]) == (4 * SECOND, 5 * SECOND)


def test_attempts_on_a_machine_that_is_gone_are_lost_and_their_tasks_go_back_to_the_bag(scene):
    machine = scene.machine("large")
    scene.start(1, machine)
    scene.start(2, machine)
    scene.pass_time(SECOND)
    scene.down(machine, "lost")
    assert sorted(scene.state.ready) == [1, 2, 3]
    assert scene.state.attempts == {}
    assert list(scene.state.failures) == [0, 0, 0, 0]
    assert "attempt 1 on large-1 from 0 ms: lost at 1.0 s" in "\n".join(scene.state.story(1))


def test_a_task_stays_out_of_the_bag_while_another_attempt_of_it_lives(scene):
    first, second = scene.machine(), scene.machine()
    scene.start(1, first)
    other = scene.start(1, second)
    scene.down(first, "lost")
    assert list(scene.state.attempts_of(1)) == [other]
    assert 1 not in scene.state.ready
    scene.end(other, "cancelled")
    assert 1 in scene.state.ready


def test_the_first_success_is_the_result_and_later_ones_change_nothing(scene):
    first, second = scene.machine(), scene.machine()
    slow, quick = scene.start(1, first), scene.start(1, second)
    scene.pass_time(SECOND)
    scene.end(quick)
    scene.pass_time(SECOND)
    scene.end(slow)
    assert scene.state.winners[1] == quick
    assert scene.state.done == 1
    assert scene.state.last_settled == SECOND


def test_a_failure_after_a_success_does_not_undo_it(scene):
    first, second = scene.machine(), scene.machine()
    slow, quick = scene.start(1, first), scene.start(1, second)
    scene.end(quick)
    scene.end(slow, "failed", 1)
    assert scene.state.status[1] == DONE
    assert scene.state.failed == 0


@pytest.mark.parametrize("outcome", ["failed", "timeout"])
def test_a_task_fails_for_good_when_its_retries_are_used_up(outcome):
    scene = Scene(SMALL, tasks=1, retries=1)
    machine = scene.machine()
    scene.end(scene.start(1, machine), outcome, 1)
    assert scene.state.status[1] == READY
    scene.pass_time(SECOND)
    scene.end(scene.start(1, machine), outcome, 3, "no such file")
    assert scene.state.status[1] == FAILED
    failure = scene.state.failed_tasks[1]
    assert (failure.attempt, failure.exit_code, failure.why) == (2, 3, "no such file")
    assert scene.state.settled == 1
    assert scene.state.last_settled == SECOND
    assert 1 not in scene.state.ready


@pytest.mark.parametrize("outcome", ["cancelled", "lost"])
def test_what_is_not_a_task_s_fault_does_not_count_against_it(scene, outcome):
    machine = scene.machine()
    for _ in range(3):
        scene.end(scene.start(1, machine), outcome)
    assert scene.state.status[1] == READY
    assert scene.state.failures[1] == 0


def test_a_task_is_not_given_up_while_another_attempt_of_it_lives(scene):
    first, second = scene.machine(), scene.machine()
    bad, good = scene.start(1, first), scene.start(1, second)
    scene.end(bad, "failed", 1)
    assert scene.state.status[1] == RUNNING
    scene.end(good)
    assert scene.state.status[1] == DONE


def test_a_task_whose_last_attempt_fails_too_is_given_up(scene):
    first, second = scene.machine(), scene.machine()
    attempts = [scene.start(1, first), scene.start(1, second)]
    for attempt in attempts:
        scene.end(attempt, "failed", 1)
    assert scene.state.status[1] == FAILED
    assert scene.state.failed_tasks[1].attempt == attempts[-1]


def test_failed_tasks_can_be_tried_again_with_all_their_retries():
    scene = Scene(SMALL, tasks=1, retries=1)
    machine = scene.machine()
    for _ in range(2):
        scene.end(scene.start(1, machine), "failed", 1)
    scene.tell(ev.RetryRequested(0, (1,)))
    assert scene.state.status[1] == READY
    assert scene.state.failed == 0
    scene.end(scene.start(1, machine), "failed", 1)
    assert scene.state.status[1] == READY
    scene.end(scene.start(1, machine))
    assert scene.state.done == 1


def test_a_cancelled_attempt_keeps_its_slot_until_it_ended(scene):
    machine = scene.machine()
    attempt = scene.start(1, machine)
    scene.cancel(attempt)
    assert scene.state.attempts[attempt].cancelling
    assert machine not in scene.state.idle
    scene.end(attempt, "cancelled")
    assert machine in scene.state.idle


def test_an_attempt_that_measures_may_run_though_its_task_is_done(scene):
    machine = scene.machine("large")
    scene.end(scene.start(1, machine))
    measured = scene.start(1, machine, measure=True)
    assert scene.state.status[1] == DONE
    scene.pass_time(SECOND)
    scene.end(measured, "failed", 1)
    assert scene.state.status[1] == DONE
    assert scene.state.winners[1] == 1
    assert scene.state.log.runtime[measured] == SECOND


# --- late news -----------------------------------------------------------------------------------


def test_news_of_what_is_gone_is_not_expected(scene):
    machine = scene.machine()
    attempt = scene.start(1, machine)
    ended = ev.AttemptEnded(0, attempt, "success")
    gone = ev.MachineDown(0, machine, "lost")
    up = ev.MachineUp(0, machine)
    expects = scene.state.expects
    assert expects(ended)
    assert expects(gone)
    assert not expects(up), "it is up already"
    scene.down(machine)
    assert not any(map(expects, [ended, gone, up]))
    assert expects(ev.ArrivalsEnded(0))


def test_a_booting_machine_is_expected_to_come_up(scene):
    assert scene.state.expects(ev.MachineUp(0, scene.rent()))


# --- telling and verifying -----------------------------------------------------------------------


def test_the_story_of_a_task_has_a_line_for_each_attempt():
    scene = Scene(SMALL, tasks=make_bag(["fit"], [["a"], ["b"]]), retries=1)
    machine = scene.machine()
    scene.end(scene.start(1, machine))
    scene.pass_time(SECOND)
    attempt = scene.start(2, machine)
    scene.pass_time(2 * SECOND)
    scene.end(attempt, "timeout")
    scene.start(2, machine)
    assert scene.state.story(2) == [
        "task 2 (fit b): running",
        "  attempt 2 on small-1 from 1.0 s: timeout at 3.0 s",
        "  attempt 3 on small-1 from 3.0 s: runs",
    ]


def test_the_fold_of_a_run_s_events_is_its_state(scene):
    machine = scene.machine("large")
    scene.end(scene.start(2, machine))
    scene.start(1, machine)
    again = fold(scene.events)
    again.check()
    assert list(again.status) == list(scene.state.status)
    assert again.ledger.committed == scene.state.ledger.committed
    assert list(again.attempts) == list(scene.state.attempts)


def make_a_running_task_ready(state):
    state.status[2] = READY
    state.ready.add(2)


def make_a_ready_task_run(state):
    state.status[3] = RUNNING
    state.ready.discard(3)


def cook_the_books(state):
    state.ledger._open[1] = Charge(1, LARGE, 0, 5 * HOUR, is_open=True)


def one_more():
    series = TimeSeries()
    series.change(1, 0)
    return series


CORRUPTIONS = {
    "ready 2 of": lambda state: state.ready.add(1),
    "ready 0 of": lambda state: state.ready.discard(3),
    "done 2 of": lambda state: setattr(state, "done", 2),
    "failed 1 of": lambda state: setattr(state, "failed", 1),
    "failed_tasks differ": lambda state: state.failed_tasks.update({2: None}),
    "a ready task has live attempts": make_a_running_task_ready,
    "running tasks without a live attempt": make_a_ready_task_run,
    "live attempts differ": lambda state: state.attempts.pop(2),
    "open charges differ from machines": lambda state: state.machines.pop(2),
    "demand or supply of '' is 2": lambda state: state.demand.change(1, 0),
    "demand or supply of 'ann' is 0": lambda state: state.supply.series.update(ann=one_more()),
    "fleet or leaving": lambda state: state.fleet.update(large=2),
    "fleet or leaving {'small': 1}": lambda state: state.leaving.update(small=1),
    "runs more attempts than it has slots": lambda state: state.begun_on[1].update(
        {3: None, 4: None}
    ),
    "large-1 idle is not True": lambda state: state.idle.discard(1),
    "large-1 idle is not False": lambda state: force_setattr(state.machines[1], "up", None),
    "attempt 2 is astray": lambda state: force_setattr(state.attempts[2], "machine", None),
    "winner": lambda state: state.winners.__setitem__(2, 2),
    "waits for others": lambda state: state.precedence.missing_of_all.__setitem__(3, 1),
    "committed is 0.40, the charges sum to": cook_the_books,
}


@pytest.mark.parametrize(("complaint", "corrupt"), CORRUPTIONS.items(), ids=CORRUPTIONS)
def test_every_corruption_of_the_state_is_caught(scene, complaint, corrupt):
    machine = scene.machine("large")
    scene.rent("small")
    scene.end(scene.start(1, machine))
    scene.start(2, machine)
    scene.state.check()
    corrupt(scene.state)
    with pytest.raises(InvariantError, match=re.escape(complaint)):
        scene.state.check()


def test_an_invariant_of_a_task_is_reported_with_its_story(scene):
    scene.end(scene.start(1, scene.machine()))
    scene.state.winners[1] = 0
    with pytest.raises(InvariantError, match=r"winner\ntask 1 \(task\): done\n  attempt 1 on"):
        scene.state.check()


def test_a_million_tasks_fit():
    state = RunState()
    state.apply(Scene(SMALL).events[0])
    state.apply(ev.WorkArrived(0, Work(Bag(1_000_000))))
    assert state.total == len(state.ready) == 1_000_000
    assert state.ready[999_999] == 1_000_000


# --- attempts that wait at a machine -------------------------------------------------------------


def test_an_attempt_beyond_the_slots_waits_and_begins_when_one_gets_free(scene):
    machine = scene.machine()
    first, second, third = (scene.start(task, machine) for task in (1, 2, 3))
    assert scene.state.machines[machine].waiting == (second, third)
    scene.pass_time(MINUTE)
    scene.end(first)
    assert set(scene.state.machines[machine].attempts) == {second}
    assert scene.state.attempts[second].started == scene.state.log.started[second] == MINUTE
    assert machine not in scene.state.idle
    scene.end(second)
    scene.end(third)
    assert machine in scene.state.idle
    assert scene.state.done == 3


def test_one_that_waits_may_be_cancelled(scene):
    machine = scene.machine()
    first, second = scene.start(1, machine), scene.start(2, machine)
    scene.cancel(second)
    scene.end(second, "cancelled")
    assert 2 in scene.state.ready
    assert set(scene.state.machines[machine].attempts) == {first}
    assert scene.state.machines[machine].waiting == ()


def test_those_that_wait_are_lost_with_their_machine(scene):
    machine = scene.machine()
    scene.start(1, machine)
    scene.start(2, machine)
    scene.down(machine, "lost")
    assert sorted(scene.state.ready) == [1, 2, 3]
    assert not scene.state.attempts


@pytest.mark.parametrize(
    ("cause", "outcome"), [("lost", "lost"), ("released", "released"), ("expired", "released")]
)
def test_what_ran_on_a_machine_that_was_given_back_is_reported_from_what_was_lost(
    scene, cause, outcome
):
    machine = scene.machine()
    attempt = scene.start(1, machine)
    scene.down(machine, cause)
    assert OUTCOMES[scene.state.log.outcome[attempt]] == outcome
    assert f"{outcome} at" in scene.state.story(1)[-1]
    assert 1 in scene.state.ready, "and its task goes back to the bag"


def test_failures_of_a_task_are_counted_however_many_retries_it_has():
    scene = Scene(SMALL, tasks=1, retries=100_000)
    machine = scene.machine()
    scene.state.failures[1] = 65_535
    scene.end(scene.start(1, machine), "failed")
    assert scene.state.failures[1] == 65_536
    assert 1 in scene.state.ready


def test_a_task_that_nobody_wants_any_more_is_cancelled_when_its_attempt_ends(scene):
    attempt = scene.start(1, scene.machine("small"))
    scene.tell(ev.AttemptEnded(scene.at, attempt, "cancelled", unwanted=True))
    assert scene.state.status[1] == CANCELLED
    assert 1 not in scene.state.ready
    assert (scene.state.cancelled, scene.state.done) == (1, 0)
    scene.state.check()
