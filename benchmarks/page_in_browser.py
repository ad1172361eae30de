"""The page in a real Chromium, by the clock: opening, filtering, and a run that is being written.

A finished run of 100,000 tasks on 500 machines is opened on a dashboard that has not read it yet:
the time is from asking for the address to all that is drawn. Then decisions are filtered, letter
by letter: how long each takes to the next frame, and the longest task of the browser's thread.
Last, a run writes a thousand events a second: how old what the page shows is, and whether it has
all of the journal in the end.
"""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from benchmarks.measure import Goal, Line, Result
from benchmarks.page_runs import MACHINES, RATE, TASKS, being_written, dashboard, write_run

if TYPE_CHECKING:
    from tests.browser import Browser

MOST_OPEN_S = 2.0
MOST_ANSWER_S = 0.1
"""from a key to the frame that shows it: people take a tenth of a second for at once"""
MOST_AGE_S = 1.0
MOST_BEHIND = 0
LIVE_S = 6.0
TYPED = "taken away by the market"
LOOK_S = 0.1
"""between two looks at what a live page shows"""
_DRAWN = """
window.drawnAt = null; window.longTasks = [];
new PerformanceObserver(list => {
  for (const entry of list.getEntries()) window.longTasks.push(entry.duration);
}).observe({ type: "longtask", buffered: true });
const look = () => {
  const done = ["#machines-canvas canvas", "#tasks-chart svg", "#ledger-table tr", "#why-list b"]
    .every(selector => document.querySelector(selector));
  if (done) requestAnimationFrame(() => { window.drawnAt = performance.now(); });
  else requestAnimationFrame(look);
};
requestAnimationFrame(look);
"""
_TYPE = """
(async () => {
  const filter = document.querySelector("#why-filter"), took = [];
  const frame = () => new Promise(requestAnimationFrame);
  window.longTasks.length = 0;
  for (let n = 1; n <= TEXT.length; n += 1) {
    await frame();
    const began = performance.now();
    filter.value = TEXT.slice(0, n);
    filter.dispatchEvent(new Event("input", { bubbles: true }));
    await frame();
    took.push(performance.now() - began);
  }
  return [Math.max(...took), Math.max(0, ...window.longTasks)];
})()
"""


def measure(rounds: int) -> Result:
    from tests.browser import PROGRAM

    if PROGRAM is None:
        title = "the page in a browser"
        return Result(title, [], [], ["Chromium: make peers installs Debian's chromium"])
    with TemporaryDirectory(prefix="bursar-") as directory:
        home = Path(directory)
        _write_large_run(home)
        found = [_one_round(home, number) for number in range(rounds)]
    best = {name: min(one[name] for one in found) for name in found[0]}
    return Result(
        title=f"the page in a browser, of {TASKS:,} tasks on {MACHINES} machines, by the clock",
        lines=[
            Line("to open it", best["open"], "s", "from the address to all that is drawn"),
            Line("of the server", best["server"], "s", "of processor time, meanwhile"),
            Line("of the browser's thread", best["thread"], "s", "of processor time, meanwhile"),
            Line("to filter", 1000 * best["answer"], "ms", "from a letter to the next frame"),
            Line("longest task", 1000 * best["longest"], "ms", "of the browser, meanwhile"),
            Line("live", best["age"], "s", f"nine in ten looks are younger, at {RATE:,} events/s"),
            Line("behind", best["behind"], "", "events that it lacks a second after the last"),
        ],
        goals=[
            Goal("to open it", best["open"], "<=", MOST_OPEN_S, "s"),
            Goal("to filter", best["answer"], "<=", MOST_ANSWER_S, "s"),
            Goal("live", best["age"], "<=", MOST_AGE_S, "s"),
            Goal("behind", best["behind"], "<=", MOST_BEHIND, "events"),
        ],
    )


def _write_large_run(home: Path) -> None:
    from bursar.journal.runs import Home

    write_run(Home(home).create("large").journal)


def _one_round(home: Path, number: int) -> dict[str, float]:
    from tests.browser import Browser

    browser = Browser()
    try:
        with dashboard(home) as (server, address):
            browser.size(1280)
            found = _open_and_filter(browser, server, f"{address}run/large")
            found |= _watch_live(browser, home, address, f"live-{number}")
    finally:
        browser.close()
    return found


def _open_and_filter(browser: Browser, server: int, address: str) -> dict[str, float]:
    script = browser.call("Page.addScriptToEvaluateOnNewDocument", source=_DRAWN)
    browser.call("Performance.enable", timeDomain="threadTicks")
    used = _processor_time(server)
    browser.open(address, "window.drawnAt !== null && window.drawnAt !== undefined")
    found = {
        "open": float(browser.evaluate("window.drawnAt")) / 1000,
        "server": _processor_time(server) - used,
        "thread": _thread_time(browser),
    }
    answer, longest = browser.evaluate(_TYPE.replace("TEXT", repr(TYPED)))
    browser.call("Performance.disable")
    browser.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script["identifier"])
    return {**found, "answer": answer / 1000, "longest": longest / 1000}


def _processor_time(process: int) -> float:
    """Seconds that a process has had of a processor."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _thread_time(browser: Browser) -> float:
    """Seconds that the thread of the page has had of a processor."""
    metrics = browser.call("Performance.getMetrics")["metrics"]
    return float(next(one["value"] for one in metrics if one["name"] == "TaskDuration"))


def _watch_live(browser: Browser, home: Path, address: str, name: str) -> dict[str, float]:
    """How old what is shown is, nine times in ten, and how many events it lacks in the end."""
    with being_written(home, name, LIVE_S) as (_, writer):
        browser.open(f"{address}run/{name}", "document.querySelector('#stream')?.textContent")
        while writer.is_writing:
            writer.was_shown(_shown(browser))
            time.sleep(LOOK_S)
        time.sleep(MOST_AGE_S)
        behind = len(writer.written) - _shown(browser)
    return {"age": writer.usual_age(), "behind": max(0, behind)}


def _shown(browser: Browser) -> int:
    """The number of the last event that the page knows of."""
    text = browser.text("#stream") or ""
    found = re.search(r"([\d,]+) events", text)
    return int(found[1].replace(",", "")) if found else 0
