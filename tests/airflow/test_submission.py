"""What a task instance becomes for the service, and what its work says of it."""

import pytest

from bursar.airflow.submission import (
    MOST_PRIORITY,
    Fate,
    account_of,
    command_of,
    fate_of,
    priority_of,
    waiting_line,
)
from bursar.model.errors import InputError


def test_the_owner_pays():
    assert account_of(None, "ann") == "ann"
    assert account_of({}, "ann") == "ann"
    assert account_of({"other": {"account": "eve"}}, "ann") == "ann"


def test_a_task_may_name_its_account():
    assert account_of({"bursar": {"account": "bob"}}, "ann") == "bob"


@pytest.mark.parametrize(
    "config",
    [{"bursar": "bob"}, {"bursar": {"acount": "bob"}}, {"bursar": {"account": 7}}],
)
def test_a_wrong_account_is_reported(config):
    with pytest.raises(InputError, match="account"):
        account_of(config, "ann")


def test_a_task_that_nobody_owns_is_reported():
    with pytest.raises(InputError, match="name of a user"):
        account_of(None, "")


def test_the_priority_is_airflows_within_what_the_service_takes():
    assert priority_of(7) == 7
    assert priority_of(2**40) == MOST_PRIORITY
    assert priority_of(-(2**40)) == -MOST_PRIORITY


def test_the_command_names_a_file():
    assert command_of("/py", "/f/1.json") == ("/py", "-m", "bursar.airflow.execute", "/f/1.json")


def fate(status, state, *, was_running=False, is_overdue=False):
    return fate_of(status, state, was_running=was_running, is_overdue=is_overdue)[0]


@pytest.mark.parametrize("state", ["queued", "running"])
def test_a_work_that_goes_on_is_left_alone(state):
    assert fate("waiting", "queued") is Fate.GOES_ON
    assert fate("running", state, was_running=True) is Fate.GOES_ON


@pytest.mark.parametrize(
    "state", ["success", "failed", "running", "deferred", "up_for_retry", None]
)
def test_the_end_of_a_process_is_reported_whatever_airflow_has(state):
    assert fate("done", state) is Fate.ENDED
    assert fate("failed", state) is Fate.BROKEN
    assert fate("cancelled", state) is Fate.BROKEN
    assert fate(None, state) is Fate.BROKEN


def test_a_task_that_was_cleared_while_it_ran_has_ended_as_it_should():
    assert fate("failed", "restarting", was_running=True) is Fate.ENDED


def test_a_try_whose_machine_is_gone_has_failed_at_once():
    assert fate("waiting", "running", was_running=True) is Fate.BROKEN


def test_a_machine_that_is_lost_before_the_task_has_begun_costs_no_try():
    assert fate("waiting", "queued", was_running=True) is Fate.GOES_ON


@pytest.mark.parametrize("state", ["failed", "success", "removed", "scheduled", None])
def test_what_waits_and_is_not_wanted_any_more_is_cancelled(state):
    assert fate("waiting", state) is Fate.UNWANTED


@pytest.mark.parametrize("state", ["failed", "success", "restarting", "deferred", None])
def test_what_runs_and_is_not_wanted_any_more_may_end_itself(state):
    assert fate("running", state, was_running=True) is Fate.GOES_ON
    assert fate("running", state, was_running=True, is_overdue=True) is Fate.UNWANTED


USER = {
    "name": "ann",
    "currency": "USD",
    "budget": "$0.10/min",
    "left": "0.02",
    "refill_s": 31.7,
    "demand": 3,
    "supply": 1,
}


def test_a_work_that_waits_says_how_much_money_is_left_and_when_there_is_more():
    line = waiting_line(7, USER)
    assert line.startswith("work 7 waits for money or a machine: 0.02 USD is left of $0.10/min")
    assert "more in 32 s" in line
    assert "ann has 1 of the 3 slots" in line


def test_without_a_budget_nothing_is_said_of_money():
    line = waiting_line(7, {**USER, "budget": None, "left": None, "refill_s": None})
    assert "no budget" in line
    assert "left" not in line
