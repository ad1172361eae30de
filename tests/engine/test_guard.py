"""The guard lets attempts and wishes pass, or refuses them with a reason."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from tests.engine.guarded import HOURLY, GuardedScene

from bursar.model.money import ZERO
from bursar.model.time import SECOND
from bursar.state import actions as act
from bursar.state import events as ev

# --- attempts ------------------------------------------------------------------------------------


def test_an_attempt_gets_the_next_number():
    stage = GuardedScene(HOURLY, budget="1", tasks=2)
    machine = stage.rent()
    stage.scene.end(stage.ask(act.Start(2, machine)).attempt)
    assert stage.ask(act.Start(1, machine, "next")) == ev.AttemptStarted(0, 2, 1, machine, "next")


def test_an_attempt_needs_a_machine_that_is_up_and_has_a_free_slot():
    stage = GuardedScene(HOURLY, budget="1", tasks=2)
    booting, machine = stage.rent(up=False), stage.rent()
    assert stage.refusal(act.Start(1, booting)) == "the machine has no free slot"
    stage.ask(act.Start(2, machine))
    stage.scene.pass_time(1)
    assert stage.refusal(act.Start(2, machine)) == "the machine has no free slot"


@pytest.mark.parametrize("task", [0, -1, 3, 10**9])
def test_there_are_only_the_tasks_there_are(task):
    stage = GuardedScene(HOURLY, budget="1", tasks=2)
    assert stage.refusal(act.Start(task, stage.rent())) == "there is no such task"


def test_what_is_settled_is_not_started_again_except_to_measure():
    stage = GuardedScene(HOURLY, budget="1", tasks=2)
    machine = stage.rent()
    stage.scene.end(stage.scene.start(1, machine))
    stage.scene.end(stage.scene.start(2, machine), "failed")
    assert stage.refusal(act.Start(1, machine)) == "the task is done"
    assert stage.refusal(act.Start(2, machine)) == "the task is failed"
    measured = stage.ask(act.Start(1, machine, measure=True))
    assert isinstance(measured, ev.AttemptStarted)
    assert measured.measure


def test_a_running_task_may_get_another_attempt():
    stage = GuardedScene(HOURLY, budget="1", tasks=1)
    first, second = stage.rent(), stage.rent()
    stage.ask(act.Start(1, first))
    assert stage.ask(act.Start(1, second)).attempt == 2


def test_the_only_attempt_of_a_task_is_never_cancelled():
    stage = GuardedScene(HOURLY, budget="1", tasks=1)
    first, second = stage.rent(), stage.rent()
    one, two = stage.ask(act.Start(1, first)).attempt, stage.ask(act.Start(1, second)).attempt
    assert stage.ask(act.Cancel(one, "slow")) == ev.CancelOrdered(0, one, "slow")
    assert stage.refusal(act.Cancel(two)) == "it is the only attempt of its task"


def test_an_attempt_of_a_task_that_is_done_may_be_cancelled():
    stage = GuardedScene(HOURLY, budget="1", tasks=1)
    first, second = stage.rent(), stage.rent()
    one, two = stage.ask(act.Start(1, first)).attempt, stage.ask(act.Start(1, second)).attempt
    stage.scene.end(one)
    assert isinstance(stage.ask(act.Cancel(two)), ev.CancelOrdered)
    assert stage.refusal(act.Cancel(two)) == "the attempt has ended"
    assert stage.refusal(act.Cancel(one)) == "the attempt has ended"


# --- refusing ------------------------------------------------------------------------------------


def test_a_refusal_is_reported_once_until_its_reason_changes():
    stage = GuardedScene(HOURLY, budget="0.10")
    assert stage.refusal(act.Rent("gold")) == "the market has no such offer"
    assert stage.ask(act.Rent("gold")) is None
    assert stage.refusal(act.Rent("silver")) == "the market has no such offer"
    stage.scene.tell(ev.StopRequested(0, "interrupted", "Ctrl-C"))
    assert stage.refusal(act.Rent("gold")) == "the run is stopping"
    assert stage.ask(act.Rent("gold")) is None


@pytest.mark.parametrize(
    ("action", "about"),
    [
        (act.Rent("gold"), "offer gold"),
        (act.Extend(7), "machine 7"),
        (act.Release(7), "machine 7"),
        (act.Start(5, 7), "task 5"),
        (act.Cancel(3), "attempt 3"),
        (act.Wake(-90 * SECOND), "-90.0 s"),
    ],
)
def test_a_refusal_names_what_it_is_about(action, about):
    assert GuardedScene(HOURLY).review(action).about == about


def test_what_is_no_action_is_refused():
    assert GuardedScene(HOURLY).review(act.Action()).why == "this is not an action"


def test_reviewing_changes_nothing_by_itself():
    stage = GuardedScene(HOURLY, budget="1", tasks=1)
    machine = stage.rent()
    before = len(stage.scene.events)
    for action in (act.Rent("hourly"), act.Start(1, machine), act.Release(machine)):
        assert stage.review(action) == stage.review(action)
    assert len(stage.scene.events) == before
    assert len(stage.scene.state.machines) == 1


# --- starting ahead ------------------------------------------------------------------------------


def test_a_start_ahead_waits_at_a_busy_machine_only():
    stage = GuardedScene(HOURLY, tasks=3, budget="5")
    booting, machine = stage.rent(up=False), stage.rent()
    assert stage.refusal(act.Start(1, booting, ahead=True)) == "the machine has no free slot"
    assert isinstance(stage.ask(act.Start(1, machine)), ev.AttemptStarted)
    assert stage.refusal(act.Start(2, machine)) == "the machine has no free slot"
    assert isinstance(stage.ask(act.Start(2, machine, ahead=True)), ev.AttemptStarted)


def test_the_only_attempt_of_a_task_is_cancelled_only_to_give_it_up():
    stage = GuardedScene(HOURLY, tasks=1, budget="5")
    attempt = stage.ask(act.Start(1, stage.rent())).attempt
    assert stage.refusal(act.Cancel(attempt)) == "it is the only attempt of its task"
    verdict = stage.ask(act.Cancel(attempt, "too late", give_up=True))
    assert verdict == ev.CancelOrdered(0, attempt, "too late", give_up=True)


# --- retries -------------------------------------------------------------------------------------


def test_replicas_do_not_multiply_the_retries_of_a_task_that_fails():
    stage = GuardedScene(HOURLY, tasks=1, budget="5", retries=1)
    first, second, third = (stage.rent() for _ in range(3))
    one = stage.ask(act.Start(1, first)).attempt
    two = stage.ask(act.Start(1, second)).attempt
    stage.scene.end(one, "failed")
    reported = "the task has failed, and its retries are under way or used up"
    assert stage.refusal(act.Start(1, third)) == reported, "the other attempt is its retry"
    stage.scene.end(two, "failed")
    assert stage.scene.state.failed == 1


def test_a_retry_that_was_lost_is_made_up_for():
    stage = GuardedScene(HOURLY, tasks=1, budget="5", retries=1)
    first, second = stage.rent(), stage.rent()
    stage.scene.end(stage.ask(act.Start(1, first)).attempt, "failed")
    stage.ask(act.Start(1, first))
    stage.scene.down(first, "lost")
    assert isinstance(stage.ask(act.Start(1, second)), ev.AttemptStarted)


def test_a_task_that_may_fail_more_often_may_have_replicas_within_its_retries():
    stage = GuardedScene(HOURLY, tasks=1, budget="5", retries=3)
    first, second, third = (stage.rent() for _ in range(3))
    one = stage.ask(act.Start(1, first)).attempt
    stage.ask(act.Start(1, second))
    stage.scene.end(one, "failed")
    assert isinstance(stage.ask(act.Start(1, third)), ev.AttemptStarted)


# --- scaling -------------------------------------------------------------------------------------


def test_a_fleet_that_is_wanted_is_reported_and_moves_no_money():
    stage = GuardedScene(HOURLY, tasks=3, budget="9")
    reported = stage.ask(act.Scale({"hourly": 2}, 3, 1, "", {"load": 3.0}, "the load"))
    assert reported == ev.ScaleDecided(0, {"hourly": 2}, 3, 1, "", {"load": 3.0}, "the load")
    assert stage.scene.state.machines == {}
    assert stage.scene.state.ledger.committed == ZERO


def test_what_is_reported_of_a_fleet_can_be_journaled_whatever_it_was_made_of():
    stage = GuardedScene(HOURLY, tasks=3, budget="9")
    mine = {"hourly": np.int64(2)}
    reported = stage.ask(act.Scale(mine, np.int32(3), 1, "", {"load": np.float32(2.5)}, "a\nb"))
    mine["hourly"] = "changed later"
    assert msgspec.json.decode(msgspec.json.encode(reported), type=ev.AnyEvent) == reported
    assert reported.fleet == {"hourly": 2}


@pytest.mark.parametrize(
    ("action", "why"),
    [
        (act.Scale({"moon": 1}, 0, 0), "its fleet must have offers of the market"),
        (act.Scale({"hourly": -1}, 0, 0), "no count below 0"),
        (act.Scale({"hourly": 1.5}, 0, 0), "a whole number of machines by offer"),
        (act.Scale({7: 1}, 0, 0), "a whole number of machines by offer"),
        (act.Scale([], 0, 0), "its fleet must be a table, not list"),
        (act.Scale({}, "many", 0), "its demand must be a whole number"),
        (act.Scale({}, 0, 0, "ann"), "there is no account 'ann'"),
        (act.Scale({}, 0, 0, "", {"load": float("nan")}), "finite numbers by name"),
        (act.Scale({}, 0, 0, "", {str(n): 1.0 for n in range(51)}), "at most 50 finite numbers"),
    ],
)
def test_a_wish_that_makes_no_sense_is_refused(action, why):
    assert why in GuardedScene(HOURLY, tasks=3).refusal(action)
