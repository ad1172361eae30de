"""What another goal would have done, and what a run would do: nothing is rented to tell it."""

from __future__ import annotations

import json
import time

import pytest

from bursar.journal.replay import load_state
from bursar.journal.runs import Home

BAG = ("--tasks", "60", "--runtime", "2s", "--deviation", "0.5s", "--runs", "4")
SIMULATE = ("simulate", "-m", "market.toml", *BAG)
FLOW = """
name: two
defaults: {runtime: 2s}
tasks:
  first: {run: 'true'}
  second: {run: 'true', needs: first}
"""


# --- sweeps --------------------------------------------------------------------------------------


def test_each_budget_with_each_deadline_is_a_row(place):
    found = place.json(*SIMULATE, "--budget", "0.5,2,4", "--deadline", "40s,10m")["rows"]
    assert [(row["budget"], row["deadline_s"]) for row in found] == [
        (budget, deadline) for budget in ("0.50", "2.00", "4.00") for deadline in (40, 600)
    ]
    assert found[0]["finished"] == 0
    assert found[0]["makespan_s"] is None
    assert found[0]["why"]
    assert found[-1]["finished"] == 1
    assert found[-1]["cost"]["p90"] <= 4


def test_a_row_is_what_the_goal_alone_would_have_given(place):
    alone = place.json(*SIMULATE, "--budget", "2")
    [row] = [
        one for one in place.json(*SIMULATE, "--budget", "1,2")["rows"] if one["budget"] == "2.00"
    ]
    assert row["makespan_s"] == alone["makespan_s"]
    assert row["cost"] == alone["cost"]


def test_the_table_has_the_goals_and_says_why_runs_did_not_finish(place):
    out, err = place.bursar(*SIMULATE, "--budget", "0.5,4")
    assert out.splitlines()[0].split() == [
        "budget", "finished", "time-P50", "time-P90", "cost-P50", "cost-P90",
    ]  # fmt: skip
    assert out.splitlines()[1].split()[:4] == ["$0.50", "0%", "-", "-"]
    assert "not finished: " in err


def test_a_plot_is_drawn_of_several_goals_only(place):
    place.bursar(*SIMULATE, "--budget", "1,4", "--plot", "out.svg")
    drawn = (place.path / "out.svg").read_text()
    assert drawn.startswith("<svg")
    assert "$4.00" in drawn
    _, err = place.bursar(*SIMULATE, "--budget", "4", "--plot", "other.svg", code=2)
    assert "give several budgets or deadlines" in err
    _, err = place.bursar(*SIMULATE, "--budget", "4,5", "--plot", "no/such.svg", code=2)
    assert "cannot write the plot" in err


def test_provisioners_are_compared_with_the_same_luck(place):
    words = (*SIMULATE, "--budget", "2,4", "--provisioner", "frontier,bats")
    found = place.json(*words)["rows"]
    assert [(row["budget"], row["provisioner"]) for row in found] == [
        (budget, name) for budget in ("2.00", "4.00") for name in ("frontier", "bats")
    ]
    [alone] = place.json(*SIMULATE, "--budget", "1,4", "--provisioner", "bats")["rows"][1:]
    assert {**alone, "budget": "4.00"} == found[-1]
    _, err = place.bursar(*SIMULATE, "--provisioner", "bats,bats", code=2)
    assert "the same provisioner is given twice" in err


def test_a_comparison_is_written_as_a_page(place):
    words = (*SIMULATE, "--budget", "0.5,4", "--provisioner", "frontier,bats")
    place.bursar(*words, "--html", "out.html")
    page = (place.path / "out.html").read_text()
    assert page.count("<svg") == 2
    assert "4 ways to run the same work, side by side" in page
    for text in ("$0.50", "frontier", "bats", "time-P90", "share that finishes"):
        assert text in page
    assert "<script" not in page
    _, err = place.bursar(*SIMULATE, "--budget", "4", "--html", "other.html", code=2)
    assert "--html compares" in err


def test_a_workflow_is_planned_for_each_goal(place):
    (place.path / "flow.yaml").write_text(FLOW)
    words = ("simulate", "flow.yaml", "-m", "market.toml", "--runs", "3", "--budget", "0.2,1")
    found = place.json(*words)["rows"]
    assert [row["finished"] for row in found] == [1, 1]


def test_the_same_goal_twice_is_refused(place):
    _, err = place.bursar(*SIMULATE, "--budget", "1,1.00", code=2)
    assert "given twice" in err


def test_failed_runs_say_why(place):
    _, err = place.bursar(*SIMULATE, "--budget", "4", "--failing", "0.9")
    assert "tasks failed" in err


# --- nothing is run ------------------------------------------------------------------------------


def test_a_dry_run_of_a_bag_shows_the_fleet_and_how_to_know_more(place):
    words = ("run", "-m", "market.toml", "-b", "2", "--dry-run", "sleep", ":::", "1", "2")
    out, err = place.bursar(*words)
    assert out.splitlines() == ["sleep 1", "sleep 2"]
    assert "fleet: up to 2 small + 1 large" in err
    assert "--history JOBLOG" in err
    assert not (place.path / ".bursar").exists()


def test_a_dry_run_of_a_workflow_shows_its_plan_and_whether_the_goal_will_do(place):
    (place.path / "flow.yaml").write_text(FLOW)
    words = ("-m", "market.toml", "-b", "1", "--deadline", "1m", "--dry-run")
    _, err = place.bursar("run", "flow.yaml", *words)
    assert "plan '" in err
    assert "fleet: " in err
    assert "the budget will do (over 99 %), the deadline will do (over 99 %)" in err
    assert not (place.path / ".bursar").exists()


@pytest.fixture
def planned(place):
    arguments = map(str, range(60))
    place.bursar("plan", "-m", "market.toml", "--name", "p", "sleep 0.1{}", ":::", *arguments)
    return place


def test_a_dry_run_of_a_plan_shows_the_choice_and_changes_nothing(planned):
    before = planned.bursar("export", "p", "--events", "-")[0]
    _, err = planned.bursar("run", "p", "--choose", "fastest", "--dry-run", "-b", "9")
    assert "fastest, budget $9.00" in err
    assert "fleet: " in err
    assert "the budget will do (over 99 %)" in err
    assert planned.bursar("export", "p", "--events", "-")[0] == before


def test_a_plan_says_whether_the_budget_will_do_before_it_is_run(planned):
    _, err = planned.bursar("run", "p", "--choose", "fastest", "-b", "9")
    assert "the budget will do (over 99 %)" in err


def test_a_run_of_a_plan_that_was_killed_is_chosen_again_from_the_list_that_was_offered(planned):
    process = planned.popen("run", "p", "--choose", "cheapest")
    state, end = None, time.monotonic() + 60
    journal = Home(planned.path / ".bursar").find("p").journal
    sampled = load_state(journal).done
    while time.monotonic() < end:
        state = load_state(journal)
        if state.done > sampled + 2:
            break
        time.sleep(0.1)
    process.kill()
    process.communicate()
    planned.bursar("run", "p", "--choose", "fastest", "-b", "9")
    lines = planned.bursar("export", "p", "--events", "-")[0].splitlines()
    assert sum(json.loads(line)["type"] == "PlansOffered" for line in lines) == 1


def test_the_log_of_an_earlier_run_tells_whether_the_budget_will_do(place):
    place.bursar("run", "--name", "r", "sleep 0.1{}", ":::", *map(str, range(6)))
    place.bursar("export", "r", "--joblog", "old.log")
    words = ("run", "-m", "market.toml", "-b", "2", "--history", "old.log", "--dry-run")
    _, err = place.bursar(*words, "sleep 0.1{}", ":::", *map(str, range(10)))
    assert "budget $2.00 (storage and transfer are not included), will do (over 99 %)" in err
    _, err = place.bursar(*words, "--runtime", "3s", "true", ":::", "1", code=2)
    assert "run times are given twice" in err


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (("flow.yaml", "--tasks", "5"), "a workflow has its own tasks"),
        (("--tasks", "5", "--assume", "small=1s", "--name", "x"), "leave out --name"),
        (("--tasks", "5", "true", ":::", "1"), "leave out --tasks"),
        (("--assume", "small=1s", "true", ":::", "1"), "leave out --assume"),
    ],
)
def test_an_option_of_plan_that_would_have_no_effect_is_refused(place, words, reported):
    (place.path / "flow.yaml").write_text(FLOW)
    _, err = place.bursar("plan", "-m", "market.toml", *words, code=2)
    assert reported in err
    assert len(err.strip().splitlines()) == 1


# --- run times of before -------------------------------------------------------------------------


def log_of(place, times):
    """A job log of this computer with these run times, in seconds."""
    head = "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n"
    rows = (f"{one}\t:\t0\t{time}\t0\t0\t0\t0\ttrue\n" for one, time in enumerate(times, 1))
    (place.path / "old.log").write_text(head + "".join(rows))


def test_a_run_keeps_all_run_times_of_its_history(place):
    log_of(place, [0.02] * 9 + [0.5])
    words = ("run", "-m", "market.toml", "-b", "2", "--history", "old.log", "--name", "r")
    place.bursar(*words, "true", ":::", "1", "2", "3")
    made_with = load_state(Home(place.path / ".bursar").find("r").journal).created.made_with
    assert made_with.history.times == (*[20_000] * 9, 500_000)
    assert made_with.runtime == made_with.history.mean


def test_a_bag_can_be_simulated_with_the_run_times_of_a_log(place):
    """Each task takes one second or five: no draw is between."""
    log_of(place, [1.0] * 150 + [5.0] * 50)
    words = ("simulate", "-m", "market.toml", "-b", "9", "--tasks", "20", "--runs", "3")
    found = place.json(*words, "--history", "old.log", "--known")
    assert all(run["tasks"]["done"] == 20 for run in found["runs"])
    for more in (("--runtime", "2s"), ("--deviation", "1s")):
        _, err = place.bursar(*words, "--history", "old.log", *more, code=2)
        assert f"run times are those of the history: leave out {more[0]}" in err
    _, err = place.bursar(*words[:5], "--history", "old.log", code=2)
    assert "add --tasks N" in err
