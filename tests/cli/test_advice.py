"""Advice that bursar prints works: each piece is followed here, word by word."""

import re
import shlex
import signal

import pytest
from tests.dask_cluster import eventually

COMMAND = re.compile(r"(bursar (?:run|plan|resume|stop|status) [^\n();]*)")
USAGE = 2


def advised(text):
    """The commands that a text recommends, with figures for words that stand for one."""
    found = [one.strip().rstrip(".") for one in COMMAND.findall(text)]
    return [one.replace("MORE", "50").replace("LATER", "1h") for one in found]


def follow(place, text, code=0):
    """Do what is recommended; it must be one thing."""
    (command,) = advised(text)
    return place.bursar(*shlex.split(command)[1:], code=code)


def test_a_run_without_money_goes_on_as_it_says(place):
    words = ("-m", "market.toml", "-b", "0.02", "--name", "r", "sleep", ":::", *["0.7"] * 6)
    _, err = place.bursar("run", *words, code=4)
    _, err = follow(place, err)
    assert "6 of 6 tasks done" in err


def test_a_run_past_its_deadline_goes_on_as_it_says(place):
    words = ("--deadline", "1s", "--name", "r", "sleep", ":::", *["0.4"] * 12)
    _, err = place.bursar("run", *words, code=5)
    _, err = follow(place, err)
    assert "12 of 12 tasks done" in err


def test_an_interrupted_run_goes_on_as_it_says(place):
    process = place.popen("run", "--name", "r", "sleep", ":::", *["0.5"] * 12)
    assert eventually((place.path / ".bursar/r/outputs/.attempts").exists)
    process.send_signal(signal.SIGINT)
    err = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    follow(place, err)


def test_a_run_that_was_killed_goes_on_as_its_status_says(place):
    process = place.popen("run", "--name", "r", "sleep", ":::", *["0.5"] * 6)
    assert eventually((place.path / ".bursar/r/outputs/.attempts").exists)
    process.kill()
    process.communicate()
    _, err = follow(place, place.bursar("status", "r")[0])
    assert "6 of 6 tasks done" in err


def test_failed_tasks_are_tried_again_as_it_says(place):
    place.script("once.sh", "test -e $1 && exit 0; touch $1; exit 1")
    _, err = place.bursar("run", "--name", "r", "./once.sh", ":::", "a", "b", code=3)
    assert (place.path / re.search(r"output: (.*)", err)[1] / "1" / "stderr").exists()
    _, err = follow(place, err)
    assert "2 of 2 tasks done" in err


def test_a_plan_is_run_as_it_says_and_a_goal_that_fails_says_what_would_do(place):
    words = ("-m", "market.toml", "--name", "p", "sleep 0.02{}", ":::", *map(str, range(60)))
    _, err = place.bursar("plan", *words)
    spent = re.search(r"kept in .*, \$([\d.]+)", err)[1]
    _, reported = place.bursar("plan", "p", "--budget", f"{spent}1", code=USAGE)
    least = re.search(r"\$([\d.]+)", reported.partition("at least")[2])[1]
    place.bursar("plan", "p", "--budget", least)
    _, reported = place.bursar("plan", "p", "--deadline", "1ms", code=USAGE)
    soonest = re.search(r"([\d.]+ (ms|s))", reported.partition("1 ms")[2])[1]
    place.bursar("plan", "p", "--deadline", soonest)
    _, err = follow(place, err)
    assert "60 of 60 tasks done" in err


def test_the_least_budget_that_a_mistake_names_is_enough(place):
    place.write("odd.toml", '[[offer]]\nname = "odd"\nprice = "0.0123456"\nbilling = "9s"')
    words = ("run", "-m", "odd.toml", "--budget")
    _, err = place.bursar(*words, "0.01", "true", ":::", "1", code=USAGE)
    least = re.search(r"costs \$([\d.]+)", err)[1]
    _, err = place.bursar(*words, least, "true", ":::", "1")
    assert "1 of 1 task done" in err


@pytest.mark.parametrize("goal", ["--budget", "--deadline"])
def test_what_a_workflow_would_need_is_enough(place, goal):
    place.write("flow.yaml", "tasks: {a: {runtime: 3s}, b: {runtime: 4s, needs: [a]}}")
    least = {"--budget": "0.001", "--deadline": "1ms"}[goal]
    words = ("plan", "-m", "market.toml", "flow.yaml")
    _, err = place.bursar(*words, goal, least, code={"--budget": 4, "--deadline": 5}[goal])
    if goal == "--budget":
        enough = re.search(r"cheapest costs \$([\d.]+)", err)[1]
    else:
        enough = re.search(r"fastest takes ([\d.]+ s)", err)[1]
    place.bursar(*words, goal, enough)


def test_a_run_that_is_being_executed_is_stopped_as_it_says(place):
    process = place.popen("run", "--name", "r", "sleep", ":::", *["0.5"] * 60)
    assert eventually((place.path / ".bursar/r/outputs/.attempts").exists)
    _, err = place.bursar("resume", "r", code=USAGE)
    follow(place, err)
    process.communicate(timeout=60)
    assert process.returncode == 130
