"""The report: one file, no network, and nothing in it that somebody else wrote is code."""

from __future__ import annotations

import re

import pytest

from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE
from bursar.model.work import make_bag
from bursar.report.page.html import live_html, report_html, script, style
from bursar.report.page.machine_log import MachineLog
from bursar.report.page.reasons import Reasons
from bursar.report.page.snapshot import snapshot
from bursar.state import events as ev
from bursar.testing import Scene

HOSTILE = (
    "<script>document.title='broken'</script>",
    "</script><script>document.title='broken'</script>",
    "<img src=x onerror=\"document.title='broken'\">",
    "@@TILES@@ &lt;b&gt;",
    "\x1b[31mred\x1b[0m",
    "\u202eright-to-left\u2066",
    "long " * 2_000,
)


def hostile_run():
    bag = make_bag(["fit"], [[text] for text in HOSTILE])
    scene = Scene(Offer("small", Money.parse("0.10"), MINUTE), tasks=bag, budget="90")
    machine = scene.machine(stay=HOUR)
    for task, text in enumerate(HOSTILE, 1):
        attempt = scene.start(task, machine)
        scene.pass_time(MINUTE)
        scene.end(attempt, "failed", 1, f"line\n{text}")
    scene.tell(ev.StopRequested(scene.at, "interrupted", HOSTILE[0]))
    scene.down(machine)
    scene.tell(ev.RunEnded(scene.at, "failed", HOSTILE[1]))
    log = MachineLog()
    reasons = Reasons(log)
    for event in scene.events:
        log.saw(event)
        reasons.saw(event)
    return snapshot(scene.state, log, reasons, scene.at, is_live=False)


def test_a_report_is_small_and_asks_nobody_for_anything():
    text = report_html(hostile_run())
    assert len(text.encode()) < 200_000
    assert not re.findall(r"(?:src|href)=[\"'](?!data:,|#)", text)
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in text


@pytest.mark.parametrize("make", [report_html, lambda shown: live_html(shown, "/run/x", 1)])
def test_hostile_text_never_becomes_markup(make):
    text = make(hostile_run())
    assert "<script>document.title" not in text
    assert "<img src=x" not in text
    assert text.count("</script>") == 2, "that of the data, and that of the script"
    assert text.count('class="tile"') == 5


def test_scripts_evaluate_no_text():
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", script())
    assert "@import" not in style()


def test_hostile_text_shows_as_text_in_a_browser(tmp_path, browser):
    path = tmp_path / "report.html"
    path.write_text(report_html(hostile_run()))
    browser.forget()
    browser.requested.clear()
    browser.size(390)
    browser.open(f"file://{path}", "document.querySelectorAll('.fail').length > 0")
    assert browser.evaluate("document.title") == "scene · bursar"
    shown = browser.text("#failures-list")
    assert "<script>document.title='broken'</script>" in shown
    assert "\x1b" not in shown.split("end of stderr")[0], "the line is escaped"
    assert browser.evaluate("document.documentElement.scrollWidth") <= 390
    assert browser.problems == []
    assert [one for one in browser.requested if not one.startswith(("file:", "data:"))] == []
