"""`bursar plan` on a market with unreliable machines."""

import json

import pytest

from bursar.model.strategy import read_strategy

MIXED = """
currency = "USD"
date = "2026-01-01"
[[offer]]
name = "spot"
price = "0.01"
billing = "1s"
limit = 3
pool = "unreliable"
[[offer]]
name = "sure"
price = "0.03"
billing = "1s"
limit = 2
"""
ALONE = MIXED.split('[[offer]]\nname = "sure"', maxsplit=1)[0]
NONE = MIXED.replace("limit = 3", "limit = 0")
KNOWN = ("--tasks", "60", "--assume", "spot=10s~2s,sure=10s~2s")
KNOWN_ALONE = ("--tasks", "60", "--assume", "spot=10s~2s")
HEADER = "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n"


@pytest.fixture
def mixed(place):
    place.write("mixed.toml", MIXED)
    place.write("alone.toml", ALONE)
    place.write("none.toml", NONE)
    return place


def joblog(place, rows):
    """Rows are host, run time and exit value."""
    lines = [
        f"{number}\t{host}\t{number}\t{runtime}\t0\t0\t{code}\t0\twork\n"
        for number, (host, runtime, code) in enumerate(rows, 1)
    ]
    place.write("old.log", HEADER + "".join(lines))
    return ("--tasks", "60", "--joblog", "old.log")


def test_mixed_fleets_come_in_between_with_a_strategy(mixed):
    words = ("plan", "-m", "mixed.toml", *KNOWN, "--reliability", "0.8")
    found = mixed.json(*words)
    plans = {plan["name"]: plan for plan in found["plans"]}
    assert "mixed-cheapest" in plans
    assert "fastest" in found["plans"][-1]["names"]
    costs = [float(plan["cost_upper"]) for plan in found["plans"]]
    assert costs == sorted(costs)
    for name, plan in plans.items():
        span = plan["makespan_s"]
        assert span["p50"] <= span["p90"] <= span["upper"]
        assert ("spot" in plan["fleet"]) == name.startswith("mixed") == bool(plan["strategy"])
    chosen = plans["mixed-cheapest"]
    strategy = read_strategy(chosen["strategy"])
    assert chosen["fleet"] == {"spot": 3, "sure": strategy.reliable_machines(3)}
    out, err = mixed.bursar(*words)
    assert f"3 spot + {chosen['fleet']['sure']} sure" in out
    assert f"N={strategy.copies} T=" in out
    assert "N T D: " in err


def test_a_pool_that_loses_more_takes_longer(mixed):
    def slowest(share):
        found = mixed.json("plan", "-m", "alone.toml", *KNOWN_ALONE, "--reliability", share)
        assert all(read_strategy(plan["strategy"]).copies is None for plan in found["plans"])
        return max(plan["makespan_s"]["p50"] for plan in found["plans"])

    assert slowest("0.5") > 1.5 * slowest("0.95")


def test_more_choices_are_between_and_a_goal_marks_all_plans(mixed):
    words = ("plan", "-m", "mixed.toml", *KNOWN, "--reliability", "0.9")
    few, many = mixed.json(*words), mixed.json(*words, "--choices", "9")
    assert len(many["plans"]) > len(few["plans"])
    more = {plan["name"] for plan in many["plans"]} - {plan["name"] for plan in few["plans"]}
    assert all(name.startswith("mixed-") for name in more), "between the ends of both pools"
    tight = mixed.json(*words, "--budget", "12")
    fitting = {plan["name"] for plan in tight["plans"] if plan["fits"]}
    assert fitting
    assert all(name.startswith("mixed") for name in fitting), "reliable machines cost 18"


def test_a_job_log_tells_how_many_attempts_were_lost(mixed):
    sure = [("sure-9", 10, 0)] * 20

    def slowest(lost):
        words = joblog(mixed, [("spot-1", 9 + number % 3, 0) for number in range(30)] + lost + sure)
        plans = mixed.json("plan", "-m", "mixed.toml", *words)["plans"]
        return max(plan["makespan_s"]["p50"] for plan in plans if plan["strategy"])

    assert slowest([("spot-2", 5, 1)] * 30) > 1.2 * slowest([])


def test_an_offer_that_never_returned_a_result_is_in_no_plan(mixed):
    words = joblog(mixed, [("spot-1", 5, 1)] * 9 + [("sure", 10, 0)] * 9)
    found = mixed.json("plan", "-m", "mixed.toml", *words)
    assert all(set(plan["fleet"]) == {"sure"} for plan in found["plans"])
    assert "nothing is known of spot: left out of all plans" in found["cautions"]


def test_unreliable_offers_with_the_limit_0_are_in_no_plan(mixed):
    found = mixed.json("plan", "-m", "none.toml", *KNOWN)
    assert all(set(plan["fleet"]) == {"sure"} for plan in found["plans"])


def test_a_real_sample_of_a_mixed_market_is_planned_chosen_and_run_within_its_budget(mixed):
    mixed.script("work.sh", "sleep 0.1$1")
    words = ("./work.sh {}", ":::", *(str(number) for number in range(10, 80)))
    out, _ = mixed.bursar("plan", "-m", "mixed.toml", "--name", "p", "--json", *words)
    found = json.loads(out)
    assert mixed.json("plan", "p") == found, "a saved plan is shown again"
    names = [plan["name"] for plan in found["plans"] if plan["strategy"]]
    assert names
    _, err = mixed.bursar("run", "p", "--choose", "dearest", code=2)
    assert names[-1] in err
    out, err = mixed.bursar("run", "p", "--choose", names[-1], "--json")
    result = json.loads(out)
    assert result["tasks"] == {"total": 70, "done": 70, "failed": 0}
    assert float(result["money"]["committed"]) <= float(result["money"]["budget"])
    assert f"plan '{names[-1]}': predicted " in err
    mixed.bursar("export", "p", "--events", "p.jsonl")
    events = [json.loads(line) for line in (mixed.path / "p.jsonl").read_text().splitlines()]
    [chosen] = [event for event in events if event["type"] == "PlanChosen"]
    assert chosen["strategy"]["deadline"] > 0
    assert "StrategyChosen" not in {event["type"] for event in events}


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (("-m", "mixed.toml", *KNOWN), "--reliability 0.9"),
        (
            ("-m", "mixed.toml", *KNOWN, "--reliability", "1.5"),
            "'1.5' is not a number from 0.01",
        ),
        (
            ("-m", "mixed.toml", *KNOWN, "--reliability", "nan"),
            "'nan' is not a number from 0.01",
        ),
        (("-m", "none.toml", *KNOWN_ALONE), "has the limit 0: no machine can be rented"),
        (("-m", "none.toml", *KNOWN, "--reliability", "0.9"), "no offer of this market is unrel"),
        (("-m", "mixed.toml", "--reliability", "0.9", "true", ":::", "1"), "a sample measures it"),
        (("-m", "mixed.toml", *KNOWN, "--reliability", "0.9", "-b", "0.1"), "give at least $"),
    ],
)
def test_mistakes_are_reported_in_one_line(mixed, words, reported):
    _, err = mixed.bursar("plan", *words, code=2)
    assert reported in err
    said = [line for line in err.strip().splitlines() if "compiling" not in line]
    assert len(said) == 1
