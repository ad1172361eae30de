"""`--budget 5/h`: every screen says what is limited, how it stands, and what is waited for."""

import pytest
from tests.report.test_progress_line import watched

from bursar.model.goal import Goal
from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE
from bursar.report.forecast import Forecast
from bursar.report.progress_line import line
from bursar.state import events as ev
from bursar.testing import Scene

SHORT = """\
[[offer]]
name = "short"
price = "0.08"
billing = "1s"
limit = 1
"""
SLEEPS = ("sleep", ":::", *["0.6"] * 5)


MARKET = ("--market", "short.toml")
FIXED = (*MARKET, "--provisioner", "fixed")


@pytest.fixture
def place(place):
    (place.path / "short.toml").write_text(SHORT)
    return place


def test_a_run_sleeps_until_there_is_money_and_says_what_it_was_limited_to(place):
    _, reported = place.bursar("run", *FIXED, "--budget", "0.16/3s", "--name", "slow", *SLEEPS)
    assert "budget $0.16/3 s (storage and transfer are not included)" in reported
    assert "5 of 5 tasks done" in reported
    assert "committed within $0.16/3 s" in reported
    why, _ = place.bursar("why", "slow")
    assert "run created   $0.16/3 s;" in why
    assert "a new interval of the budget has begun   $0.16/3 s;" in why
    assert "$0.16/3 s" in place.bursar("status")[0]
    money = place.json("status", "slow")["money"]
    assert (money["budget"], money["every_s"]) == ("0.16", 3.0)
    assert Money.parse("0.16") < Money.parse(money["committed"])
    assert Money.parse(money["committed_in_interval"]) <= Money.parse("0.16")


def test_a_run_goes_on_with_a_budget_for_each_interval(place):
    place.bursar("run", *FIXED, "--budget", "0.10", "--name", "tight", *SLEEPS, code=4)
    _, refused = place.bursar("resume", "tight", "--budget", "0.01/h", code=2)
    reported = "$0.08 is committed already in one interval: a budget of $0.01/h would be below it"
    assert reported in refused
    _, resumed = place.bursar("resume", "tight", "--budget", "1 USD/h")
    assert "budget $1.00/h" in resumed
    assert "budget is now $1.00/h" in place.bursar("why", "tight")[0]


def test_a_job_file_may_have_one_and_the_command_line_another(place):
    job = 'command = "true"\nargs = ["1"]\nmarket = "short.toml"\nbudget = "1/h"\n'
    (place.path / "job.toml").write_text(job)
    assert "budget $1.00/h" in place.bursar("run", "job.toml")[1]
    assert "budget $2.00 (" in place.bursar("run", "job.toml", "--budget", "2")[1]


def test_plans_are_for_the_money_of_a_whole_run(place):
    (place.path / "flow.yaml").write_text("tasks:\n  a: {run: 'true', runtime: 1s}\n")
    flow = ("run", "flow.yaml", *MARKET, "--budget", "1/h")
    place.bursar(*flow)
    for words, reported in (
        (("plan", *MARKET, "-b", "5/h", "true", ":::", "1"), "plans are for the money of a whole"),
        ((*flow, "--provisioner", "prob"), "'prob' plans with the money of a whole run"),
        ((*flow, "--choose", "knee"), "with a budget for the whole run, have plans to choose"),
        (
            ("run", *MARKET, "-b", "5/h", "--faithful", "true", ":::", "1"),
            "the published algorithm spends the money of a whole run",
        ),
    ):
        assert reported in place.bursar(*words, code=2)[1]


@pytest.mark.parametrize("provisioner", ["bats", "fixed"])
def test_a_simulated_run_waits_for_as_many_intervals_as_it_needs(place, provisioner):
    asked = ("--tasks", "40", "--runtime", "1s", "--budget", "0.4/10s", "--runs", "2")
    for run in place.json("simulate", *MARKET, "--provisioner", provisioner, *asked)["runs"]:
        assert run["status"] == "done"
        assert run["makespan_s"] > 70
        assert Money.parse(run["money"]["committed"]) >= Money.parse("3.20")


def waiting():
    """A run whose interval's money is gone."""
    scene = Scene(Offer("small", Money.parse("1")), tasks=3)
    scene.tell(ev.GoalChanged(0, Goal(Money.parse("1"), every=HOUR)))
    scene.tell(ev.MachineRented(0, 1, "small", HOUR, "to fill the fleet"))
    scene.pass_time(MINUTE)
    scene.down(1)
    return scene


def test_the_live_line_says_until_when_it_sleeps():
    assert "waits for the next budget at " in line(waiting().state, Forecast(), 120)


def test_the_live_line_has_the_money_of_the_interval_and_of_the_run():
    scene, forecast = watched(Offer("small", Money.parse("0.5")), budget="9")
    scene.tell(ev.GoalChanged(scene.at, Goal(Money.parse("9"), every=MINUTE)))
    assert "$0.00 committed of $9.00/min, $0.50 in all" in line(scene.state, forecast, 200)
