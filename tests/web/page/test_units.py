"""Every number on every page has its unit, or says what it counts."""

from __future__ import annotations

import pytest
from tests.cli.conftest import Place
from tests.live_run import live_run, served
from tests.report.page.test_snapshot import begun, expect, shown
from tests.units import bare_numbers, unitless
from tests.web.page.test_live_page import simulated, team

from bursar import WorkflowBuilder
from bursar.journal.runs import Home
from bursar.model.goal import Goal
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE
from bursar.model.work import Work
from bursar.model.workflow import Workflow
from bursar.report.page.html import report_html
from bursar.state import events as ev

DRAWN = "document.querySelector('#about')?.textContent.includes('events')"
LISTED = "document.querySelectorAll('#runs-rows .meter').length > 0"
READY = "document.readyState === 'complete'"


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory):
    """Runs of all kinds: simulated with losses and failures, a service, and a live workflow."""
    home = Home(tmp_path_factory.mktemp("runs"))
    simulated(home, "simulated")
    team(home, "team")
    flow = WorkflowBuilder("flow")
    flow.task("make", run="true", writes=["a"])
    for number in range(3):
        flow.task(f"use-{number}", run="true", reads=["a"])
    goal = Goal(Money.parse("5"), HOUR)
    with live_run(home, "workflow", goal=goal) as run, served(home) as address:
        run.tell(ev.WorkArrived(0, Work(Workflow.of(flow.build()))), ev.ArrivalsEnded(0))
        machine = run.rent()
        run.attempt(1, machine)
        run.attempt(2, machine, "failed", "cannot read 7 of 9")
        costs = (Money.parse("0.10"), Money.parse("0.20"), Money.parse("0.30"))
        run.tell(ev.ForecastMade(run.now, (MINUTE, 2 * MINUTE, 3 * MINUTE), costs, 0.75, 16))
        yield address


@pytest.mark.parametrize(
    ("page", "until"),
    [("", LISTED), ("run/simulated", DRAWN), ("run/team", DRAWN), ("run/workflow", DRAWN)],
    ids=["list", "finished", "service", "live"],
)
def test_the_dashboard(dashboard, browser, page, until):
    browser.forget()
    browser.size(1280)
    assert not (found := unitless(browser, f"{dashboard}/{page}", until)), "\n".join(found)


def a_report():
    """A live run on its way: plan, forecasts, failures, and many machines."""
    return report_html(shown(expect(begun(), 6.5, 14, 0.9), is_live=False))


def test_the_report_file(tmp_path, browser):
    (tmp_path / "report.html").write_text(a_report())
    browser.forget()
    found = unitless(browser, f"file://{tmp_path}/report.html", DRAWN)
    assert not found, "\n".join(found)


BAG = ("-m", "market.toml", "--tasks", "40", "--runtime", "2s", "--deviation", "0.5s")
POOL = ("--unreliable", "20", "--reliability", "0.8", "--turnaround", "35m~10m")
WORKS = ("--count", "20", "--classes", "30-38:1", "--machines", "10", "--out", "w.jsonl")


@pytest.mark.parametrize(
    "commands",
    [
        [("simulate", *BAG, "--runs", "2", "--budget", "0.5,4")],
        [("generate", *WORKS), ("compare", "w.jsonl", "--place", "backfill,owm")],
        [
            ("generate", *WORKS),
            ("compare", "w.jsonl", "--provision", "react,plan", "--machines", "10", "--rank"),
        ],
        [("frontier", "--tasks", "60", *POOL, "--reliable-price", "0.34/h/s", "--grid", "paper")],
        [("plan", "--budget", "4", *BAG)],
    ],
    ids=["simulations", "placers", "autoscalers", "frontier", "plan"],
)
def test_files_of_commands(tmp_path, browser, commands):
    place = Place(tmp_path)
    *before, last = commands
    for words in before:
        place.bursar(*words)
    place.bursar(*last, "--html", "out.html")
    browser.forget()
    found = unitless(browser, f"file://{tmp_path}/out.html", READY)
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("phrase", "label"),
    [
        ("12", ""),
        ("12", "useful"),
        ("committed 3.50", ""),
        ("P90 7.1", ""),
        ("1,024 up", "now"),
        ("2 tasks; 7 more", ""),
    ],
)
def test_a_bare_number_is_found(phrase, label):
    assert bare_numbers(phrase, label)


@pytest.mark.parametrize(
    ("phrase", "label"),
    [
        ("12", "tasks done"),
        ("$3.50 of $5", ""),
        ("2.50\u00a0min, P90 3 min", ""),
        ("at 1:02:03", ""),
        ("75 %", ""),
        ("task 12, exit 3", ""),
        ("2 m5.large at work", ""),
        ("1.3", "slowdown"),
        ("m5.large-3", ""),
        ("17", "machine"),
    ],
)
def test_a_number_with_its_unit_is_none(phrase, label):
    assert not bare_numbers(phrase, label, ["m5.large"])


def test_a_bare_number_on_a_page_is_found(tmp_path, browser):
    """In the text, in a table, in a drawing, in a tip; and a name is none."""
    shown_page = """<body><p>1 task</p><p>we have 7</p><code>8</code><p title="9">x</p>
        <table><thead><tr><th>tasks<th>up</tr></thead><tbody><tr><td>5<td>6</tr></tbody></table>
        <svg><text y="9">10</text></svg><p>3 min</p></body>"""
    (tmp_path / "page.html").write_text(shown_page)
    browser.forget()
    found = unitless(browser, f"file://{tmp_path}/page.html", READY)
    assert [one.rpartition(": ")[2] for one in found] == ["['7']", "['6']", "['10']", "['9']"]
