"""Plans for workflows on the screen and as JSON, and simulations of them."""

from __future__ import annotations

import json

import pytest

FAN = """
name: fan
defaults: {runtime: 60s}
tasks:
  begin: {run: 'true'}
  work-1: {run: 'true', needs: begin}
  work-2: {run: 'true', needs: begin}
  work-3: {run: 'true', needs: begin}
  end: {run: 'true', needs: [work-1, work-2, work-3]}
"""


@pytest.fixture
def fan(place):
    place.write("fan.yaml", FAN)
    return place


def test_the_plan_screen_shows_choices_and_who_goes_where(fan):
    out, err = fan.bursar("plan", "fan.yaml", "-m", "market.toml", "-b", "5")
    lines = out.splitlines()
    assert lines[0].startswith("fan: 5 tasks. Prices of 2026-01-01, USD")
    assert lines[1].split()[:3] == ["#", "choice,", "machines"]
    assert "cheapest" in lines[2]
    assert sum("<- default" in line for line in lines) == 1
    assert any(line.split()[:2] == ["work", "3"] for line in lines)
    assert "Caution: run times are assumed to vary by 20%" in err


def test_json_has_an_offer_for_each_task_and_the_distribution_of_the_makespan(fan):
    reported = fan.json("plan", "fan.yaml", "-m", "market.toml", "-b", "5", "--deviation", "30%")
    assert set(reported["offers"]) == {"begin", "work-1", "work-2", "work-3", "end"}
    best = reported["plans"][reported["chosen"] - 1]
    assert best["fits"]
    assert best["chance_within_budget"] >= 0.9
    spans = best["distribution_s"]
    assert spans["p1"] < spans["p50"] < spans["p90"] < spans["p99"]
    assert best["makespan_s"]["p50"] == spans["p50"]
    assert [caution for caution in reported["cautions"] if "processor" not in caution] == []
    assert json.dumps(reported)


def test_a_budget_that_buys_no_plan_is_reported_and_nothing_is_run(fan):
    out, err = fan.bursar("plan", "fan.yaml", "-m", "market.toml", "-b", "0.05", code=4)
    assert "does not fit" in out
    assert "No plan stays within a budget of $0.05" in err
    _, err = fan.bursar("run", "fan.yaml", "-m", "market.toml", "-b", "0.05", code=2)
    assert "no plan stays within" in err
    assert not (fan.path / ".bursar").exists()


def test_tasks_without_run_times_are_named_with_what_to_do(place):
    place.write("bare.yaml", "tasks: {a: {run: 'true'}, b: {run: 'true'}}")
    err = place.bursar("plan", "bare.yaml", "-m", "market.toml", "-b", "5", code=2)[1]
    assert "'a'" in err
    assert "runtime" in err
    reported = place.json("run", "bare.yaml", "-m", "market.toml", "-b", "5", "--fleet", "small=1")
    assert reported["tasks"]["done"] == 2


def test_a_plan_by_name_is_run_and_its_promise_reported(fan):
    words = ("run", "fan.yaml", "-m", "market.toml", "-b", "5", "--name", "chosen")
    _, err = fan.bursar(*words, "--choose", "cheapest")
    assert "plan 'cheapest': predicted" in err
    assert "small-1" in fan.bursar("why", "chosen")[0]
    err = fan.bursar(*words[:-1], "other", "--choose", "slowest", code=2)[1]
    assert "no choice 'slowest'; write cheapest" in err


def test_a_planned_run_that_was_cut_goes_on_with_its_plan(fan):
    fan.write("fan.yaml", FAN.replace("'true'", "sleep 0.5"))
    process = fan.popen("run", "fan.yaml", "-m", "market.toml", "-b", "5", "--name", "cut")
    while not list((fan.path / ".bursar").glob("cut/outputs/.attempts/*")):
        assert process.poll() is None
    process.kill()
    process.communicate(timeout=30)
    reported = fan.json("resume", "cut")
    assert reported["tasks"] == {"total": 5, "done": 5, "failed": 0}


def test_wishes_that_make_no_sense_are_refused(fan):
    base = ("plan", "fan.yaml", "-m", "market.toml", "-b", "5")
    for words, reported in (
        (("--deviation", "much"), "must be a share of a run time"),
        (("--budget-as", "guess"), "percentile"),
        (("--performance", "nowhere.json"), "nowhere.json"),
    ):
        assert reported in fan.bursar(*base, *words, code=2)[1]


# --- simulating ----------------------------------------------------------------------------------


def test_a_thousand_simulated_runs_of_a_plan_keep_its_budget(fan):
    words = ("simulate", "fan.yaml", "-m", "market.toml", "-b", "3.5", "--runs", "1000")
    reported = fan.json(*words)
    assert len(reported["runs"]) == 1000
    done = [run for run in reported["runs"] if run["status"] == "done"]
    assert len(done) >= 880
    assert all(float(run["money"]["committed"]) <= 3.5 for run in reported["runs"])


def test_fast_simulation_and_engine_tell_the_same(fan):
    """A deadline far away leaves all to the engine."""
    words = ("simulate", "fan.yaml", "-m", "market.toml", "-b", "50", "--choose", "fastest",
             "--runs", "20")  # fmt: skip
    fast = fan.json(*words)
    by_engine = fan.json(*words, "--timeout", "1000h")
    assert fast == by_engine


def test_slower_run_times_are_planned_for_anew(place):
    tasks = [f"  t-{n}: {{needs: t-{n - 1}}}" for n in range(1, 30)]
    text = "\n".join(["defaults: {runtime: 10s}", "tasks:", "  t-0: {}", *tasks])
    place.write("chain.yaml", text)
    words = ("simulate", "chain.yaml", "-m", "market.toml", "-b", "6", "--runs", "5")
    as_planned = place.json(*words)
    slower = place.json(*words, "--slower", "1.5")
    assert {run["status"] for run in as_planned["runs"]} == {"done"}
    assert {run["status"] for run in slower["runs"]} == {"done"}
    assert slower["makespan_s"]["p50"] > 1.5 * as_planned["makespan_s"]["p50"]


def test_a_workflow_on_machines_that_one_chose_needs_no_plan(fan):
    reported = fan.json(
        "simulate", "fan.yaml", "-m", "market.toml", "-b", "50", "--fleet", "small=2"
    )
    assert {run["status"] for run in reported["runs"]} == {"done"}
    assert reported["fleet"] == {"small": 2}


def test_a_simulation_is_of_a_bag_or_of_a_workflow(fan):
    base = ("simulate", "-m", "market.toml", "-b", "5")
    assert "workflow file, or --tasks" in fan.bursar(*base, code=2)[1]
    assert "leave out --tasks" in fan.bursar(*base, "fan.yaml", "--tasks", "3", code=2)[1]
    assert "--runtime" in fan.bursar(*base, "--tasks", "3", code=2)[1]
    slower = ("--tasks", "3", "--runtime", "1s", "--slower", "2")
    assert "--slower, --choose and --number are for" in fan.bursar(*base, *slower, code=2)[1]


def test_other_planners_are_shown_beside_the_plan(fan):
    words = ("plan", "fan.yaml", "-m", "market.toml", "-b", "5", "--deviation", "0", "--compare")
    out, _ = fan.bursar(*words)
    assert "if every task took its mean time:" in out
    reported = {one["planner"]: one for one in fan.json(*words)["compared"]}
    own = next(one for name, one in reported.items() if name.startswith("bursar, "))
    assert set(reported) >= {"HEFT", "Hybrid.BMCT", "IC-PCP", "SPSS", "DPDS"}
    assert reported["HEFT"]["makespan_s"] == pytest.approx(own["makespan_s"], rel=0.1)
    assert reported["IC-PCP"]["makespan_s"] <= own["makespan_s"] + 1e-6
    for name in ("SPSS", "DPDS"):
        assert reported[name]["cost"] is None or float(reported[name]["cost"]) <= 5
