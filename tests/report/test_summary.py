from __future__ import annotations

import json
from typing import get_args

import msgspec
import pytest

from bursar.model.goal import Account, Budget, Goal
from bursar.model.market import Market, Offer
from bursar.model.money import ZERO, Money
from bursar.model.options import RunOptions
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import make_bag
from bursar.report.summary import (
    EXIT_CODES,
    Spending,
    Summary,
    Tasks,
    budget_shown,
    money_line,
    prices_text,
    summarise,
    tell,
)
from bursar.state import events as ev
from bursar.state.appliers import tasks
from bursar.state.digest import digest_of
from bursar.testing import Scene

SMALL = Offer("small", Money.parse("0.10"))


def scene_of(commands=("a", "b", "c"), **conditions):
    bag = make_bag(["fit"], [[command] for command in commands])
    return Scene(SMALL, tasks=bag, **{"budget": "2.50", **conditions})


def test_a_run_in_figures():
    scene = scene_of()
    machine = scene.machine(stay=2 * HOUR)
    scene.pass_time(1500)
    scene.end(scene.start(1, machine))
    scene.pass_time(SECOND)
    scene.end(scene.start(2, machine), "failed")
    scene.tell(ev.RunEnded(scene.at, "interrupted", "Ctrl-C"))
    assert json.loads(msgspec.json.encode(summarise(scene.state))) == {
        "run": "scene",
        "status": "interrupted",
        "why": "Ctrl-C",
        "tasks": {"total": 3, "done": 1, "failed": 1},
        "money": {"budget": "2.50", "committed": "0.20", "currency": "USD"},
        "makespan_s": 1.0015,
    }


def test_a_run_that_goes_on_has_no_status_yet():
    summary = summarise(scene_of().state)
    assert summary.status is None
    assert summary.why == ""


def test_the_makespan_ends_with_the_last_task_not_with_the_last_machine():
    scene = scene_of()
    machine = scene.machine()
    scene.pass_time(MINUTE)
    scene.end(scene.start(1, machine))
    scene.pass_time(HOUR)
    scene.down(machine)
    assert summarise(scene.state).makespan_s == 60


def test_the_makespan_of_a_plan_begins_with_its_choice():
    scene = scene_of()
    machine = scene.machine()
    scene.pass_time(MINUTE)
    scene.end(scene.start(1, machine))
    scene.pass_time(HOUR)
    scene.tell(ev.PlanChosen(scene.at, "knee", {"small": 1}, HOUR, 2 * HOUR, ZERO, ZERO))
    assert summarise(scene.state).makespan_s == 0
    scene.pass_time(MINUTE)
    scene.end(scene.start(2, machine))
    assert summarise(scene.state).makespan_s == 60


def test_time_in_which_nobody_executed_the_run_is_not_counted():
    scene = scene_of()
    machine = scene.machine()
    scene.pass_time(MINUTE)
    scene.end(scene.start(1, machine))
    scene.pass_time(HOUR)
    scene.tell(ev.RunResumed(scene.at))
    assert summarise(scene.state).makespan_s == 60
    assert "done in 1.0 min of running time, " in next(iter(tell(scene.state)))
    scene.pass_time(MINUTE)
    scene.end(scene.start(2, machine))
    assert summarise(scene.state).makespan_s == 120
    assert "done in 2.0 min of running time" in next(iter(tell(scene.state)))


@pytest.mark.parametrize(
    ("offer", "date", "reported"),
    [
        (SMALL, "2012-09-21", "Prices of 2012-09-21, USD; storage and transfer are not included"),
        (SMALL, "undated", "Undated prices, USD; storage and transfer are not included"),
        (Offer("free", ZERO), "2012-09-21", "Free of charge"),
    ],
)
def test_prices_are_reported_with_their_date_and_what_they_leave_out(offer, date, reported):
    assert prices_text(Market("USD", date, (offer,))) == reported


def test_every_status_has_an_exit_code_of_its_own_unless_all_is_well():
    assert set(EXIT_CODES) == set(get_args(ev.Status))
    bad = [code for code in EXIT_CODES.values() if code]
    assert len(bad) == len(set(bad)) == 4
    assert {1, 2}.isdisjoint(bad), "these are for mistakes and bugs"


def test_what_the_cap_leaves_out_is_said_where_it_is_first_shown():
    scene = scene_of()
    scene.rent()
    first, later = (money_line(digest_of(scene.state), first=first) for first in (True, False))
    assert first == "$0.10 committed of $2.50 (storage and transfer are not included)"
    assert later == "$0.10 committed of $2.50"
    market = scene.state.market
    assert budget_shown(market, Goal(Money.parse("2"))) == (
        "budget $2.00 (storage and transfer are not included)"
    )
    assert prices_text(market, first=False).endswith(", USD")
    assert "storage" not in " ".join(tell(scene.state, first=False))


def test_where_nothing_costs_money_there_is_no_cap_to_show():
    for budget in (None, "2.50"):
        state = Scene(Offer("free", ZERO), budget=budget).state
        assert money_line(digest_of(state)) == "free of charge"


def test_people_are_reported_what_was_done_what_it_cost_and_where_it_is():
    scene = scene_of(["a"])
    scene.pass_time(90 * SECOND)
    scene.end(scene.start(1, scene.machine()))
    scene.tell(ev.RunEnded(scene.at, "done"))
    assert list(tell(scene.state)) == [
        "scene: done. 1 of 1 task done in 90.0 s, "
        "$0.10 committed of $2.50 (storage and transfer are not included)",
        "results: none",
    ]


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        ("budget", "continue with: bursar resume scene --budget MORE"),
        ("deadline", "continue with: bursar resume scene --deadline LATER"),
        ("interrupted", "continue with: bursar resume scene"),
        ("planned", "choose a plan with: bursar run scene --choose knee"),
    ],
)
def test_people_are_reported_how_to_go_on(status, advice):
    scene = scene_of()
    scene.end(scene.start(1, scene.machine()))
    scene.tell(ev.RunEnded(0, status, "so it is"))
    lines = list(tell(scene.state))
    assert lines[-1] == advice
    assert "why: so it is" in lines


def test_an_end_is_reported_in_words():
    scene = scene_of()
    scene.tell(ev.RunEnded(0, "budget", "so it is"))
    assert next(iter(tell(scene.state))).startswith("scene: stopped by its budget. 0 of 3 tasks")


def test_a_run_that_is_done_needs_no_advice():
    scene = Scene(SMALL, budget="1")
    scene.tell(ev.RunEnded(0, "done"))
    assert not any("bursar" in line for line in tell(scene.state))


def test_failures_are_reported_with_their_end_and_how_to_retry_them():
    scene = scene_of()
    machine = scene.machine()
    scene.end(scene.start(2, machine), "failed", 7, "Traceback:\nno such file")
    scene.end(scene.start(3, machine), "timeout", why="timed out after 5.0 s")
    lines = list(tell(scene.state))
    first = lines.index("failed: task 2 (exit code 7): fit b")
    assert lines[first + 1 : first + 5] == [
        "    Traceback:",
        "    no such file",
        "failed: task 3: fit c",
        "    timed out after 5.0 s",
    ]
    assert "retry them with: bursar resume scene --retry-failed" in lines


def test_an_exit_code_is_reported_once():
    scene = scene_of()
    scene.end(scene.start(1, scene.machine()), "failed", 7, "exit code 7")
    assert " ".join(tell(scene.state)).count("exit code 7") == 1


def test_a_signal_is_reported_by_its_name_and_not_as_an_exit_code():
    scene = scene_of()
    scene.end(scene.start(1, scene.machine()), "failed", -9, "killed by SIGKILL")
    lines = list(tell(scene.state))
    assert lines[1:3] == ["failed: task 1: fit a", "    killed by SIGKILL"]


@pytest.mark.parametrize(
    ("failing", "reported"),
    [([2], "its output: /there/failed/2"), ([1, 2], "their output: /there/failed")],
)
def test_people_are_reported_where_the_output_of_failed_tasks_is(failing, reported):
    scene = scene_of()
    options = RunOptions(outputs="/there")
    scene.state.created = msgspec.structs.replace(scene.state.created, options=options)
    machine = scene.machine()
    for task in failing:
        scene.end(scene.start(task, machine), "failed", 1)
    assert reported in list(tell(scene.state))


def failing(scene, *whys):
    """A failed attempt of each of the first tasks, each for its reason."""
    machine = scene.machine()
    for task, why in enumerate(whys, 1):
        scene.state.apply(ev.AttemptStarted(0, task, task, machine))
        scene.state.apply(ev.AttemptEnded(0, task, "failed", 0, 1, why=why))
    return list(tell(scene.state))


def test_like_failures_are_one_line_with_their_count():
    names = [f"data/{name}.csv" for name in ("red", "blue", "x17")]
    whys = [f"cannot open {name}: error {number}" for number, name in enumerate(names)]
    lines = failing(scene_of(names), *whys)
    assert lines[1:3] == [
        "failed: 3 tasks alike, such as task 1 (exit code 1): fit data/red.csv",
        "    cannot open data/red.csv: error 0",
    ]
    assert not any(line.startswith("failed:") for line in lines[3:])


def test_the_most_frequent_failure_comes_first():
    lines = failing(scene_of(["a", "b", "c", "d"]), "no memory", "bad b", "bad c", "bad d")
    reported = [line for line in lines if line.startswith("failed:")]
    assert reported[0].startswith("failed: 3 tasks alike, such as task 2")
    assert reported[1].startswith("failed: task 1 ")


def test_of_many_unlike_failures_some_are_reported_and_the_rest_counted():
    scene = scene_of([str(n) for n in range(1, 234)])
    lines = failing(scene, *("x" * task for task in range(1, 234)))
    assert sum(line.startswith("failed: task") for line in lines) == 10
    assert "... and 223 more failed" in lines


def test_failures_whose_text_is_in_the_journal_alone_are_counted(monkeypatch):
    monkeypatch.setattr(tasks, "MOST_TEXTS", 3)
    scene = scene_of([str(n) for n in range(1, 21)])
    lines = failing(scene, *["no memory"] * 20)
    assert lines[1].startswith("failed: 3 tasks alike, such as task 1")
    assert "... and 17 more failed" in lines
    assert scene.state.failed == 20
    assert sum(one.why is not None for one in scene.state.failed_tasks.values()) == 3


def test_a_vast_command_and_what_it_printed_are_cut():
    scene = scene_of(["v" * 100_000, "b"])
    lines = failing(scene, "e" * 100_000)
    assert max(map(len, lines)) < 200
    assert "(100,004 characters)" in lines[1]
    assert max(map(len, scene.state.story(1))) < 200


def test_a_plan_is_reported_as_predicted_against_actual():
    scene = scene_of()
    machine = scene.machine()
    scene.end(scene.start(1, machine))
    money = Money.parse("0.20"), Money.parse("0.40")
    scene.tell(ev.PlanChosen(0, "knee", {"small": 2}, HOUR, 2 * HOUR, *money))
    other = scene.machine()
    scene.pass_time(30 * MINUTE)
    scene.end(scene.start(2, other))
    assert (
        "plan 'knee': predicted 1.0 h (at most 2.0 h) and $0.20 (at most $0.40); not finished"
    ) in list(tell(scene.state))
    scene.end(scene.start(3, other))
    assert (
        "plan 'knee': predicted 1.0 h (at most 2.0 h), took 30.0 min;"
        " predicted $0.20 (at most $0.40), cost $0.10"
    ) in list(tell(scene.state))


def test_done_in_is_the_time_that_has_elapsed_with_the_sample_and_to_the_end():
    scene = scene_of()
    machine = scene.machine()
    scene.pass_time(MINUTE)
    scene.end(scene.start(1, machine))
    scene.tell(ev.PlanChosen(scene.at, "knee", {"small": 1}, 1, 1, Money(1), Money(1)))
    scene.pass_time(4 * MINUTE)
    scene.release(machine)
    scene.down(machine)
    scene.tell(ev.RunEnded(scene.at, "budget"))
    assert "1 of" in next(iter(tell(scene.state)))
    assert "done in 5.0 min, " in next(iter(tell(scene.state)))


def test_a_run_that_nobody_executes_is_abandoned_and_not_running():
    scene = scene_of()
    assert ": running." in next(iter(tell(scene.state)))
    assert ": abandoned." in next(iter(tell(scene.state, is_abandoned=True)))
    scene.tell(ev.RunEnded(0, "budget"))
    assert ": stopped by its budget." in next(iter(tell(scene.state, is_abandoned=True)))


def test_the_money_of_an_interval_is_reported_as_such():
    scene = scene_of(budget="5")
    scene.tell(ev.GoalChanged(0, Goal(Money.parse("0.30"), every=HOUR)))
    machine = scene.machine(stay=4 * HOUR)
    scene.pass_time(2 * HOUR + MINUTE)
    scene.end(scene.start(1, machine))
    digest = digest_of(scene.state)
    assert money_line(digest, first=False) == ("$0.40 committed, $0.10 of $0.30/h in this interval")
    assert summarise(scene.state).money.committed_in_interval == "0.10"
    scene.tell(ev.RunEnded(scene.at, "interrupted", "Ctrl-C"))
    assert money_line(digest_of(scene.state), first=False) == "$0.40 committed within $0.30/h"


def test_budgets_of_several_users_for_intervals_of_their_own_have_no_sum():
    """One would be read as a limit that the money of all intervals exceeds."""
    hourly, daily = Budget(Money.parse("0.10"), HOUR), Budget(Money.parse("0.20"), 24 * HOUR)
    scene = scene_of(budget=None)
    scene.tell(ev.GoalChanged(0, Goal(accounts=(Account("ann", hourly), Account("bob", daily)))))
    assert summarise(scene.state).money.budget is None
    assert "of 2 accounts" in money_line(digest_of(scene.state))
    whole = tuple(Account(name, Budget(Money.parse("3"))) for name in ("ann", "bob"))
    scene.tell(ev.GoalChanged(0, Goal(accounts=whole)))
    assert summarise(scene.state).money.budget == "6.00"


@pytest.mark.parametrize(
    ("budget", "every_s", "shown"),
    [
        (None, None, "0.40 USD"),
        ("2.50", None, "0.40 of 2.50 USD"),
        ("0.30", 3600.0, "0.40 within 0.30 USD/h"),
    ],
)
def test_a_notebook_says_what_the_money_was_limited_to(budget, every_s, shown):
    money = Spending(budget, "0.40", "USD", every_s)
    summary = Summary("x", "done", "", Tasks(1, 1, 0), money, 1.0)
    assert summary._repr_html_().endswith(f" 1.0 s, {shown}")


def test_a_run_that_sleeps_until_the_next_interval_says_until_when():
    scene = scene_of(budget="5")
    scene.tell(ev.GoalChanged(0, Goal(Money.parse("0.10"), every=HOUR)))
    machine = scene.machine()
    assert not any("waits" in line for line in tell(scene.state))
    scene.pass_time(MINUTE)
    scene.down(machine)
    assert digest_of(scene.state).refill_awaited == HOUR
    assert any(line.startswith("waits for the next budget at ") for line in tell(scene.state))
    assert not any("waits" in line for line in tell(scene.state, is_abandoned=True))
    scene.tell(ev.StopRequested(scene.at, "interrupted", "Ctrl-C"))
    assert not any("waits" in line for line in tell(scene.state))


def test_the_budgets_of_several_accounts_are_not_added_up():
    scene = scene_of(budget="5")
    accounts = (Account("ann", Budget(Money.parse("5"), HOUR)), Account("bob", None))
    scene.tell(ev.GoalChanged(0, Goal(accounts=accounts)))
    assert money_line(digest_of(scene.state), first=False) == (
        "$0.00 committed within the budgets of 2 accounts"
    )
    market = scene.state.market
    assert budget_shown(market, scene.state.goal).startswith("budget ann $5.00/h, bob no budget (")
