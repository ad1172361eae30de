"""A plan's money: what the sample may cost, what a choice may commit, and that it is said."""

import json
import re
import signal
import time

import pytest

from bursar.model.money import Money

BAG = ("sleep 0.0{}", ":::", *map(str, range(10, 50)))


def money(text):
    return Money.parse(text.replace("$", ""))


def test_a_sample_spends_no_more_than_the_budget_that_was_written(place):
    words = ("plan", "-m", "market.toml", "--name", "p")
    _, err = place.popen(*words, "--budget", "0.02", "--yes", *BAG).communicate(timeout=120)
    assert "for at most $0.02 (" in err
    spent = place.json("status", "p")["money"]
    assert money(spent["budget"]) == money("0.02")
    assert money(spent["committed"]) <= money("0.02")


def test_a_sample_that_may_cost_much_of_the_budget_is_asked_for(place):
    words = ("plan", "-m", "market.toml", "--name", "p", "--budget", "0.30")
    _, err = place.bursar(*words, *BAG, code=2)
    reported = (
        "the sample may cost $0.16 of the budget of $0.30: confirm with --yes, or set a limit"
    )
    assert err == f"bursar: {reported} with --sample-budget\n"
    assert "no runs here yet" in place.bursar("status")[1], "nothing was run"
    place.bursar(*words, "--sample-budget", "0.10", *BAG)
    assert money(place.json("status", "p")["money"]["committed"]) <= money("0.10")


@pytest.mark.parametrize(
    ("options", "reported"),
    [
        (("--budget", "1", "--sample-budget", "2"), "more than the budget of $1.00"),
        (("--budget", "0.001", "--yes"), "buys no machine"),
        (("--sample-budget", "nan"), "--sample-budget: 'nan' is not an amount of money"),
        (("--sample-budget", "-1"), "--sample-budget: -1.00 is negative"),
    ],
)
def test_what_a_sample_may_not_cost_is_reported_in_a_line(place, options, reported):
    _, err = place.bursar("plan", "-m", "market.toml", *options, *BAG, code=2)
    assert reported in err
    assert len(err.splitlines()) == 1


def test_a_cap_is_what_the_screens_say_it_is_made_of(place):
    out, err = place.bursar("plan", "-m", "market.toml", "--name", "p", *BAG)
    caps = dict(re.findall(r"(\d+) (\$[\d.]+)", err[err.index("last tasks:") :]))
    plans = place.json("plan", "p")["plans"]
    assert [money(caps[str(n)]) for n in range(1, len(plans) + 1)] == [
        money(plan["cap"]) for plan in plans
    ]
    sample = money(place.json("status", "p")["money"]["committed"])
    chosen = plans[-1]
    out, err = place.bursar("run", "p", "--choose", str(len(plans)), "--json")
    pattern = r"cap (\S+) = (\S+) of the sample \+ (\S+) bound \+ (\S+) reserve"
    cap, spent, bound, reserve = map(money, re.search(pattern, err).groups())
    assert cap == spent + bound + reserve == money(chosen["cap"])
    assert spent == sample
    assert bound == max(money(chosen["cost_upper"]), money(chosen["cost"]))
    unit = {"small": money("0.01"), "large": money("0.03")}
    least = min(unit[name] for name in chosen["fleet"]) * sum(chosen["fleet"].values())
    assert reserve == money(chosen["cushion"]) + least
    assert money(json.loads(out)["money"]["budget"]) == cap
    assert f"(at most ${bound})" in err, "what was promised is the bound"


def test_a_budget_for_a_plan_counts_what_the_sample_has_cost(place):
    place.bursar("plan", "-m", "market.toml", "--name", "p", *BAG)
    spent = money(place.json("status", "p")["money"]["committed"])
    _, err = place.bursar("plan", "p", "--budget", str(spent), code=2)
    assert f"the sample has cost ${spent}: nothing is left of a budget of ${spent}" in err
    _, err = place.bursar("run", "p", "--choose", "fastest", "--budget", "5", "--json")
    assert "budget $5.00, the sample included (storage" in err


def test_the_deadline_of_a_chosen_plan_counts_from_its_run(place):
    place.bursar("plan", "-m", "market.toml", "--name", "p", *BAG)
    out, _ = place.bursar("run", "p", "--choose", "fastest", "--deadline", "0.2s", "--json", code=5)
    assert json.loads(out)["status"] == "deadline"
    reported = [
        json.loads(line) for line in place.bursar("export", "p", "--events", "-")[0].splitlines()
    ]
    chosen = next(event for event in reported if event["type"] == "PlanChosen")
    (changed,) = [event for event in reported if event["type"] == "GoalChanged"]
    assert changed["goal"]["deadline"] == chosen["at"] + 200_000
    assert "deadline is now 200 ms" in place.bursar("why", "p")[0]
    _, err = place.bursar("resume", "p", "--quiet", code=5)
    _, err = place.bursar("resume", "p", code=5)
    assert re.search(r"run p: \d+ tasks left, .*; its deadline passed .* ago: give --deadline", err)
    _, err = place.bursar("resume", "p", "--deadline", "1h")
    assert re.search(
        r"run p: \d+ tasks left, .*, and (59\.\d|60\.0|1\.0) (min|h) until its deadline", err
    )


MIXED = """
[[offer]]
name = "spot"
price = "0.001"
billing = "1s"
limit = 4
pool = "unreliable"
[[offer]]
name = "sure"
price = "0.003"
billing = "1s"
limit = 1
"""


def taken_away(place):
    """Machines that were, by the journal."""
    return place.bursar("why", "p", "--all")[0].count("was taken away")


def wait_until(holds, timeout=30):
    end = time.monotonic() + timeout
    while not holds():
        assert time.monotonic() < end


def test_a_chosen_plan_can_be_sabotaged_and_still_is_when_it_is_resumed(place):
    place.write("mixed.toml", MIXED)
    words = ("-m", "mixed.toml", "--name", "p", "--repeat", "80", "sleep", "0.2")
    place.bursar("plan", *words)
    run = ("run", "p", "--choose", "1", "--budget", "9", "--sabotage", "0.4s")
    process = place.popen(*run)
    wait_until(lambda: taken_away(place) > 0)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    before = taken_away(place)
    place.bursar("resume", "p")
    assert taken_away(place) > before


def test_what_belongs_to_a_plan_is_not_taken_silently_when_it_is_run(place):
    place.bursar("plan", "-m", "market.toml", "--name", "p", *BAG)
    _, err = place.bursar("run", "p", "--choose", "1", "--retries", "3", code=2)
    assert err.startswith("bursar: --retries cannot be changed when a plan is chosen")
    _, err = place.bursar("run", "p", "--choose", "1", "--sabotage", "1s", code=2)
    assert "this market has no unreliable machine" in err


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 130)])
def test_somebody_is_asked_before_a_large_part_of_the_budget_goes_into_the_sample(
    place, answer, code
):
    words = ("plan", "-m", "market.toml", "--budget", "0.50", "--name", "p", *BAG)
    with place.terminal(*words, columns=100) as terminal:
        asked = terminal.read("[y/N]")
        assert "The sample may cost $0.16 of the budget of $0.50" in asked
        terminal.type(f"{answer}\n")
        terminal.end(code=code)
    assert (place.path / ".bursar" / "p").exists() == (answer == "y")
