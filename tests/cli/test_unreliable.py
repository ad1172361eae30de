"""Unreliable machines on the command line: simulated, and emulated on this computer."""

import json

import pytest

MIXED = """
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
limit = 1
"""
BAG = ("--tasks", "30", "--runtime", "5s", "--budget", "9", "--runs", "4")
FLEET = ("--fleet", "spot=3,sure=1")


@pytest.fixture
def mixed(place):
    place.write("mixed.toml", MIXED)
    return place


def study(place, *words):
    return place.json("simulate", "-m", "mixed.toml", *BAG, *FLEET, *words)


def test_silent_attempts_cost_time_and_end_by_their_timeout(mixed):
    calm = study(mixed)
    silent = study(mixed, "--reliability", "0.7", "--timeout", "12s", "--retries", "50")
    assert {run["status"] for run in [*calm["runs"], *silent["runs"]]} == {"done"}
    assert silent["makespan_s"]["p50"] > 1.2 * calm["makespan_s"]["p50"]


def test_spot_traces_say_when_machines_are_available(mixed):
    trace = {"metadata": {"gap_seconds": 20}, "data": [0, 0, 1, 3, 3, 1, 0]}
    mixed.write("trace.json", json.dumps(trace))
    words = ("--spot-trace", "trace.json", "--notice", "5s")
    traced = study(mixed, *words)
    assert {run["status"] for run in traced["runs"]} == {"done"}
    assert traced["makespan_s"]["p50"] > study(mixed)["makespan_s"]["p50"]
    assert len({run["makespan_s"] for run in traced["runs"]}) > 1, "all began at one moment"
    assert study(mixed, *words) == traced


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-m", "market.toml", "--reliability", "0.5"), "no offer of this market is unreliable"),
        (("-m", "mixed.toml", "--spot-trace", "none.json"), "none.json: cannot read"),
        (("-m", "mixed.toml", "--notice", "5s"), "--notice needs"),
        (("-m", "mixed.toml", "--timeout", "0s"), "too short"),
        (("-m", "free.toml", "--reliability", "0.5"), "give --timeout or --deadline"),
    ],
)
def test_what_makes_no_sense_is_reported_in_one_line(mixed, words, message):
    mixed.write("free.toml", '[[offer]]\nname = "a"\nbilling = "free"\npool = "unreliable"\n')
    _, err = mixed.bursar("simulate", *words, *BAG, code=2)
    assert message in err
    assert len(err.strip().splitlines()) == 1


def test_a_real_run_is_done_although_its_machines_are_taken_away(mixed):
    words = ("-m", "mixed.toml", "--budget", "3", *FLEET, "--sabotage", "0.5s", "--seed", "1")
    bag = ("--repeat", "30", "sleep", "0.1")
    out, _ = mixed.bursar("run", *words, "--name", "s", "--json", *bag)
    assert json.loads(out)["tasks"] == {"total": 30, "done": 30, "failed": 0}
    out, _ = mixed.bursar("why", "s")
    assert "the spot machine was taken away" in out
    mixed.bursar("export", "s", "--events", "s.jsonl")
    created = json.loads((mixed.path / "s.jsonl").read_text().splitlines()[0])
    assert created["options"]["sabotage"] == 500_000


def test_sabotage_of_reliable_machines_is_refused(place):
    words = ("-m", "market.toml", "--budget", "1", "--sabotage", "1s")
    _, err = place.bursar("run", *words, "true", ":::", "1", code=2)
    assert "this market has no unreliable machine" in err


def test_a_run_that_is_resumed_is_still_sabotaged(mixed):
    words = ("-m", "mixed.toml", "--budget", "0.15", *FLEET, "--sabotage", "0.3s", "--seed", "1")
    mixed.bursar("run", *words, "--name", "s", "--repeat", "60", "sleep", "0.1", code=4)
    before = mixed.bursar("why", "s")[0].count("was taken away")
    mixed.bursar("resume", "s", "--budget", "9")
    assert mixed.bursar("why", "s")[0].count("was taken away") > before > 0


def test_a_real_bag_survives_a_saboteur_with_every_task_done_once_and_each_loss_reported(mixed):
    market = MIXED.replace("limit = 3", "limit = 6").replace("limit = 1", "limit = 2")
    mixed.write("real.toml", market)
    words = ("--market", "real.toml", "--budget", "7.5", "--prefer", "makespan*cost")
    saboteur = ("--sabotage", "0.8s", "--name", "rough", "--quiet")
    mixed.bursar("run", *words, *saboteur, "--repeat", "60", "sleep", "0.3")
    done = mixed.json("status", "rough")
    assert (done["status"], done["tasks"]["done"]) == ("done", 60)
    assert float(done["money"]["committed"]) <= 7.5
    reported = mixed.bursar("export", "rough", "--events", "-")[0].splitlines()
    events = [json.loads(line) for line in reported]
    sent = [event for event in events if event["type"] == "AttemptStarted"]
    wins = [event for event in events if event.get("outcome") == "success"]
    lost = [event for event in events if event.get("cause") == "lost"]
    assert len(lost) >= 5
    assert all("taken away" in event["why"] for event in lost)
    assert len(wins) == 60
    assert len(sent) > 65, "about three in ten attempts are lost"
