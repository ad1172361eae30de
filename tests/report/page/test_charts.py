"""Charts in a real browser: what they draw is where the numbers say."""

from __future__ import annotations

import platform
import re

import msgspec
import pytest
from tests.report.page.test_snapshot import SMALL, begun, expect, shown
from tests.report.test_pictures import a_plan

from bursar import WorkflowBuilder, __version__
from bursar.model.goal import Account, Budget, Goal, Limits
from bursar.model.market import Market
from bursar.model.money import Money
from bursar.model.plan import Assumed
from bursar.model.time import MINUTE
from bursar.model.work import Work
from bursar.model.workflow import Workflow
from bursar.report.page.html import report_html
from bursar.report.page.machine_log import MachineLog
from bursar.report.page.reasons import Reasons
from bursar.report.page.snapshot import snapshot
from bursar.state import events as ev
from bursar.state.state import RunState
from bursar.testing import Scene


@pytest.fixture
def opened(tmp_path, browser):
    """Open the page of a snapshot from a file."""

    def open_page(found, drawn="#tasks-chart svg", width=1280):
        path = tmp_path / "report.html"
        path.write_text(report_html(found))
        browser.forget()
        browser.size(width)
        browser.open(f"file://{path}", f"document.querySelector('{drawn}') !== null")
        assert browser.problems == []
        return browser

    return open_page


@pytest.mark.parametrize("chart", ["tasks-chart", "money-chart"])
def test_the_fan_of_a_forecast_reaches_the_end_at_p90(opened, chart):
    scene = expect(begun(), 6.5, 14, 0.9)
    found = shown(scene)
    browser = opened(found)
    fan = browser.evaluate(f"document.querySelector('#{chart} .fan').getAttribute('d')")
    left, width = browser.evaluate(
        f"(() => {{ const pad = document.querySelector('#{chart} svg').lastChild;"
        " return ['x', 'width'].map(name => Number(pad.getAttribute(name))); })()"
    )
    low, _, high = found.forecast.now.end
    end_of_axis = 1.02 * high  # all of the band fits into the chart
    drawn = [float(x) for x in re.findall(r"[ML](-?[\d.]+) ", fan)]
    expected = [left + width * moment / end_of_axis for moment in (found.charts.now, low, high)]
    assert drawn[:3] == pytest.approx(expected, abs=0.5)


def test_arrow_keys_read_the_values_of_a_chart(opened):
    browser = opened(shown(begun()))
    browser.evaluate("document.querySelector('#tasks-chart').focus()")
    browser.press("End")
    browser.press("ArrowLeft")
    said = browser.text("#read-aloud")
    assert re.fullmatch(r"0:03:\d\d: 6 done, 2 running on 2 machines", said), said
    assert browser.text(".tip") == said, "it is shown as well"
    marked = "document.querySelectorAll('svg .cursor[visibility=visible]').length"
    assert browser.evaluate(marked) > 1, "the moment is marked in the other charts"


def test_arrow_keys_read_what_a_machine_did(opened):
    browser = opened(shown(begun()))
    browser.evaluate("document.querySelector('#machines-canvas').focus()")
    browser.press("ArrowDown")
    first = browser.text("#read-aloud")
    assert first.startswith("small-1 at ") and "useful: task 1, 60.0" in first
    browser.press("ArrowRight")
    assert "useful: task 3, 60.0" in browser.text("#read-aloud")
    browser.press("ArrowDown")
    assert browser.text("#read-aloud").startswith("small-2 at ")


def test_one_of_several_workflows_is_chosen(opened):
    scene = Scene(SMALL, budget="9", arrivals_open=True)
    for name, tasks in (("first", 2), ("<b>second", 3)):
        work = WorkflowBuilder(name)
        for number in range(tasks):
            work.task(f"task-{number}", run="true")
        scene.tell(ev.WorkArrived(0, Work(Workflow.of(work.build()))))
    browser = opened(shown(scene))
    nodes = "document.querySelectorAll('#workflow-graph circle').length"
    assert browser.evaluate(nodes) == 2
    assert browser.text("#workflow-menu") == "1: first2: <b>second"
    browser.evaluate(
        "(() => { const menu = document.querySelector('#workflow-menu'); menu.value = '2';"
        " menu.dispatchEvent(new Event('change')); })()"
    )
    assert browser.evaluate(nodes) == 3
    assert browser.text("#workflow-sub").startswith("<b>second: 3 tasks")


EMPTY = {
    "tasks-chart": "No task has come yet.Submit some: bursar submit FLOW.yaml",
    "money-chart": "Nothing is committed yet.",
    "machines-canvas": "No machine has been rented yet.",
    "failures-list": "No task failed for good.",
    "ledger-table": "No machine has been rented yet.",
    "runtime-chart": "No task is done yet.",
}
"""by panel, what it says before anything has happened"""


def test_empty_panels_say_what_is_missing_and_what_to_do(opened):
    nine = Budget(Money.parse("9"))
    goal = Goal(accounts=(Account("ann", nine), Account("bob", nine)))
    market = Market("USD", "undated", (SMALL,))
    created = ev.RunCreated(0, "service", market, goal, Limits(), 0, {}, {}, 0.0)
    state, log = RunState(), MachineLog()
    reasons = Reasons(log)
    state.apply(created)
    log.saw(created)
    reasons.saw(created)
    found = snapshot(state, log, reasons, 0, is_live=True)
    browser = opened(found, "#tasks-chart .empty")
    assert {name: browser.text(f"#{name}") for name in EMPTY} == EMPTY


def planned(scene):
    """Two plans were offered, and one of them was chosen."""
    plans = (
        a_plan("cheapest", 20 * 60, "2.00"),
        a_plan("fastest", 8 * 60, "5.00"),
    )
    scene.tell(ev.PlansOffered(scene.at, plans, Assumed(tasks=14, date="undated")))
    bounds = Money.parse("5.00"), Money.parse("6.00")
    scene.tell(ev.PlanChosen(scene.at, "fastest", {"small": 3}, 8 * MINUTE, 10 * MINUTE, *bounds))
    return scene


def test_the_plane_has_the_plans_the_choice_and_where_the_run_is_heading(opened):
    found = shown(expect(planned(begun()), 9, 5.5, 0.8))
    assert [(one.name, one.chosen) for one in found.charts.plans] == [
        ("cheapest", False), ("fastest", True),
    ]  # fmt: skip
    browser = opened(found, "#plane svg")
    told = browser.text("#plane svg")
    assert "chosen: fastest" in told and "heading here" in told and "budget" in told
    assert browser.evaluate("document.querySelectorAll('#plane circle').length") == 2
    assert "plan" in browser.text("#money-chart svg"), "its band is in the chart of money"
    assert browser.text("#promise").startswith("predicted P50at most"), "plan against actual"


def test_the_report_says_how_to_make_the_same_run_and_with_what(opened):
    found = shown(begun())
    about = msgspec.structs.replace(found.about, command="bursar run ./fit ::: 1 2")
    browser = opened(msgspec.structs.replace(found, about=about))
    assert browser.text("#again code") == "bursar run ./fit ::: 1 2"
    assert f"bursar {__version__}" in browser.text("#about")
    assert f"Python {platform.python_version()}" in browser.text("#about")
