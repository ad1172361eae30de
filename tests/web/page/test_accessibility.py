"""axe finds no serious violation on any page, whatever it shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.live_run import live_run, served
from tests.report.page.test_snapshot import begun, expect, shown
from tests.report.test_comparison import TABLE
from tests.report.test_pictures import a_plan, listed
from tests.web.page.test_live_page import simulated, team

from bursar import WorkflowBuilder
from bursar.journal.runs import Home
from bursar.model.work import Work
from bursar.model.workflow import Workflow
from bursar.report.comparison import comparison_html
from bursar.report.page.html import report_html
from bursar.report.pictures import document, plans_html
from bursar.report.plot import Plot, Series
from bursar.state import events as ev

ROOT = Path(__file__).parents[3]
AXE = ROOT / ".venv" / "peers" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
READY = "document.readyState === 'complete'"
DRAWN = "document.querySelector('#about')?.textContent.includes('events')"
RUN_AXE = (
    "axe.run(document, { resultTypes: ['violations'] }).then(r => r.violations"
    ".filter(v => /serious|critical/.test(v.impact)).map(v => v.id + ': '"
    " + v.nodes.map(n => n.target.join(' ')).slice(0, 4).join(', ')))"
)


@pytest.fixture(autouse=True)
def axe():
    if not AXE.exists():
        pytest.skip("needs axe-core: make peers installs it by npm, where there is one")


def violations(browser, address, until, then="0"):
    """In a wide, light window and in a narrow, dark one."""
    found = []
    for width, dark in ((1280, False), (390, True)):
        browser.size(width, dark=dark)
        browser.open(address, until)
        browser.evaluate(then)
        browser.evaluate(AXE.read_text() + ";0")
        found += [f"{width}: {one}" for one in browser.evaluate(RUN_AXE)]
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
    browser.open("about:blank")
    return found


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A run that was simulated, a service of two users, and a live workflow."""
    home = Home(tmp_path_factory.mktemp("runs"))
    simulated(home, "simulated")
    team(home, "team")
    flow = WorkflowBuilder("flow")
    flow.task("make", run="true", writes=["a"])
    for number in range(3):
        flow.task(f"use-{number}", run="true", reads=["a"])
    with live_run(home, "workflow") as run:
        run.tell(ev.WorkArrived(0, Work(Workflow.of(flow.build()))), ev.ArrivalsEnded(0))
        machine = run.rent()
        run.attempt(1, machine)
        run.attempt(2, machine, "failed", "cannot read it")
        yield home


@pytest.mark.parametrize(
    ("page", "until", "then"),
    [
        ("", "document.querySelectorAll('#runs-rows .meter').length > 0", "0"),
        ("run/simulated", DRAWN, "0"),
        ("run/team", DRAWN, "0"),
        ("run/workflow", f"{DRAWN} && document.querySelector('#workflow-graph svg') !== null", "0"),
        ("run/workflow", DRAWN, "document.querySelector('#stop').click()"),
        ("run/workflow", DRAWN, "document.querySelector('#help-button').click()"),
    ],
    ids=["list", "simulated", "service", "workflow", "stop", "help"],
)
def test_the_dashboard(home, browser, page, until, then):
    with served(home) as address:
        assert violations(browser, f"{address}/{page}", until, then) == []


def a_comparison():
    line = Series("react", ((0, 1), (1, 2)), "line")
    plot = Plot(title="Demand", across="time", upward="slots", series=(line,))
    return comparison_html("2 runs", [TABLE], [plot])


@pytest.mark.parametrize(
    "make",
    [
        lambda: report_html(shown(expect(begun(), 6.5, 14, 0.9), is_live=False)),
        lambda: document("plan", plans_html(listed(a_plan("cheapest", 60.0, "1")))),
        a_comparison,
    ],
    ids=["report", "plans", "comparison"],
)
def test_files(tmp_path, browser, make):
    path = tmp_path / "page.html"
    path.write_text(make())
    assert violations(browser, f"file://{path}", READY) == []
