"""Run times that somebody knows are told to the policy of a run, real or simulated."""

from __future__ import annotations

import json

import pytest

MARKET = """
currency = "USD"
date = "2026-01-01"
[[offer]]
name = "quad"
price = "0.001"
billing = "1s"
minimum = "1m"
boot = "30s"
slots = 4
limit = 20
"""
SIMULATED = ("simulate", "-m", "market.toml", "--tasks", "60", "--runtime", "1m", "--runs", "3")


@pytest.fixture
def by_second(place):
    place.write("market.toml", MARKET)
    return place


def test_a_run_keeps_what_is_known_of_run_times(place):
    reported = ("--runtime", "100ms", "--deviation", "20%")
    place.bursar(
        "run", "-m", "market.toml", "-b", "2", "--name", "r", *reported, "true", ":::", "1"
    )
    events = place.bursar("export", "r", "--events", "-")[0]
    created = json.loads(events.splitlines()[0])
    assert created["options"]["runtime"] == 100_000
    assert created["options"]["deviation"] == 20_000


def test_a_job_file_holds_run_times(place):
    place.write(
        "job.toml",
        'command = "true"\nrepeat = 2\nmarket = "market.toml"\nbudget = "1"\nruntime = "100ms"\n'
        'deviation = "20ms"\njson = true\nquiet = true\n',
    )
    assert place.json("run", "job.toml")["status"] == "done"


def test_a_simulated_policy_knows_them_if_that_is_wanted(by_second):
    learned = by_second.json(*SIMULATED, "-b", "1.2")
    known = by_second.json(*SIMULATED, "-b", "1.2", "--known")
    assert {run["status"] for run in known["runs"]} == {"done"}
    assert known["makespan_s"] != learned["makespan_s"]


def test_as_many_tasks_as_the_money_buys_are_simulated_if_that_is_wanted(by_second):
    words = (*SIMULATED, "-b", "0.7", "--known")
    stopped = by_second.json(*words)["runs"]
    went_on = by_second.json(*words, "--best-effort")["runs"]
    assert {run["tasks"]["done"] for run in stopped} == {0}
    assert min(run["tasks"]["done"] for run in went_on) > 25


def test_a_run_keeps_that_as_many_tasks_as_possible_are_wanted(place):
    words = ("run", "-m", "market.toml", "-b", "2", "--name", "r", "--best-effort")
    place.bursar(*words, "true", ":::", "1")
    created = json.loads(place.bursar("export", "r", "--events", "-")[0].splitlines()[0])
    assert created["options"]["best_effort"] is True


PAID = ("-m", "market.toml", "-b", "2")
COMMANDS = ("--runtime", "1m", "--deviation", "10s", "true", ":::", *map(str, range(60)))


@pytest.mark.parametrize(
    ("budget", "reported"), [("3", "will do (over 99 %)"), ("0.8", "will not do: about $")]
)
def test_a_dry_run_tells_whether_the_budget_will_do_and_with_which_fleet(
    by_second, budget, reported
):
    out, err = by_second.bursar("run", "-m", "market.toml", "-b", budget, "--dry-run", *COMMANDS)
    assert len(out.splitlines()) == 60
    first, second = err.splitlines()[-2:]
    assert first.startswith(f"60 tasks, budget ${budget}")
    assert reported in first
    assert " quad; time " in second
    assert not (by_second.path / ".bursar").exists()


@pytest.mark.parametrize(
    ("goal", "reported"),
    [
        (("-b", "3"), "add --runtime TIME or --history JOBLOG"),
        (("-b", "3", "--deadline", "1h"), "try bursar simulate --tasks 2 --runtime TIME"),
        (("--deadline", "1h"), "try bursar simulate --tasks 2 --runtime TIME"),
    ],
)
def test_a_dry_run_advises_what_tells_whether_the_goal_will_do(by_second, goal, reported):
    words = ("run", "-m", "market.toml", *goal, "--dry-run", "true", ":::", "1", "2")
    _, err = by_second.bursar(*words)
    assert err.splitlines()[-1].startswith(f"to see whether that will do, {reported}")


def test_a_run_tells_it_in_its_first_line_and_spends_nothing_on_no_chance(by_second):
    words = ("run", "-m", "market.toml", "-b", "0.8", "--name", "r", *COMMANDS)
    _, err = by_second.bursar(*words, code=4)
    first = next(line for line in err.splitlines() if line.startswith("run r: "))
    assert "will not do: about $" in first
    assert "$0.00 committed of $0.80" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run", "--deviation", "30%", "true", ":::", "1"), "or with --runtime"),
        (("run", "--runtime", "0s", "true", ":::", "1"), "--runtime"),
        (("run", "--runtime", "3m", "fan.yaml"), "--runtime is for the tasks of a bag"),
        (("run", "--deviation", "40s", "fan.yaml"), "must be a share of a workflow's run times"),
        (("run", "--best-effort", "fan.yaml"), "--best-effort is for bags"),
        (("run", *PAID, "--best-effort", "fan.yaml"), "--best-effort is for bags"),
        (("run", *PAID, "--prefer", "cheapest", "fan.yaml"), "--prefer is for bags"),
        (("simulate", "--known", "fan.yaml"), "--known is for bags"),
    ],
)
def test_a_mistake_is_reported(place, words, message):
    place.write("fan.yaml", "tasks:\n  one: {run: 'true', runtime: 1s}\n")
    _, err = place.bursar(*words, "-m", "market.toml", "-b", "5", code=2)
    assert message in err
