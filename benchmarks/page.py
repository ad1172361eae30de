"""The page of a run of 100,000 tasks on 500 machines: how long it takes to open, and its size.

The journal is that of a run whose machines are taken away now and then. Each opening is a process
of its own; its time is that of the processor, which others at work do not change. A live run is
looked at, too, while it writes a thousand events a second: what the feed takes of a processor, and
how old the figures are that it sends. And the same calls run with a page open and with none, in
turn: what that costs the process of the run. `page_in_browser` has what a browser makes of it.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from threading import Thread
from urllib.request import urlopen

from benchmarks.measure import Goal, Line, Result
from benchmarks.page_runs import (
    MACHINES,
    RATE,
    TASKS,
    RateWriter,
    being_written,
    dashboard,
    environment_of,
    write_run,
)

MOST_OPEN_S = 2.0
MOST_MB = 6.0
MOST_TICK_S = 0.025
LIVE_S = 8.0
"""for which a run that is being written is looked at"""
MOST_SHARE = 0.1
MOST_AGE_S = 1.0
CALLS = 12_000
"""of a run that is looked at or not; it takes some seconds"""
PAIRS = 8
"""of such runs for each round; the median of their ratios counts"""
MOST_SLOWER = 0.02


def measure(rounds: int) -> Result:
    with TemporaryDirectory(prefix="bursar-") as directory:
        path = Path(directory) / "journal.db"
        write_run(path)
        found = [_in_process("open", path) for _ in range(rounds)]
        live = [_in_process("live", Path(directory) / f"live-{n}") for n in range(rounds)]
        slower = _slower(Path(directory) / "home", PAIRS * rounds)
    for one, other in zip(found, live, strict=True):
        one.update(other)
    best = {name: min(one[name] for one in found) for name in found[0]}
    return Result(
        title=f"the page of {TASKS:,} tasks on {MACHINES} machines",
        lines=[
            Line("to open it", best["open"], "s", "the journal, a snapshot and the HTML"),
            Line("without imports", best["read"], "s", "the same"),
            Line("a tick", 1000 * best["tick"], "ms", "verdict and figures of a live page"),
            Line("a report", best["megabytes"], "MB"),
            Line("live", 100 * best["share"], "%", f"of a processor, at {RATE:,} events/s"),
            Line("age of figures", best["age"], "s", "nine in ten are younger, at that rate"),
            Line(
                "a run with its page open",
                100 * slower["processor"],
                "%",
                f"more of its processor time, median of {PAIRS * rounds} pairs",
            ),
            Line("the same by the clock", 100 * slower["clock"], "%", "with what others do here"),
        ],
        goals=[
            Goal("to open it", best["open"], "<=", MOST_OPEN_S, "s"),
            Goal("a tick", best["tick"], "<=", MOST_TICK_S, "s"),
            Goal("a report", best["megabytes"], "<=", MOST_MB, "MB"),
            Goal("live", best["share"], "<=", MOST_SHARE, "of a processor"),
            Goal("age of figures", best["age"], "<=", MOST_AGE_S, "s"),
            Goal("a run with its page open", slower["processor"], "<=", MOST_SLOWER, "more"),
        ],
    )


def _in_process(what: str, path: Path) -> dict[str, float]:
    words = [sys.executable, "-m", __name__, what, str(path)]
    found = subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout
    return {name: float(value) for name, value in json.loads(found).items()}


def _open(path: Path) -> dict[str, float]:
    from bursar.report.page.html import report_html
    from bursar.report.page.watch import RunWatch

    began = time.process_time()
    with RunWatch(path) as watch:
        watch.catch_up()
        text = report_html(watch.snapshot(0, is_live=False))
        read = time.process_time() - began
        middle = watch.state.now // 2
        began = time.process_time()
        watch.headline(middle, is_live=True)
        tick = time.process_time() - began
    whole = time.process_time() - tick
    return {"open": whole, "read": read, "tick": tick, "megabytes": len(text.encode()) / 1e6}


def _live(place: Path) -> dict[str, float]:
    """Processor time of the feed of a page, and how old what it sends is."""
    from bursar.web.page.feed import RunFeed

    async def watch(feed: RunFeed, writer: RateWriter) -> None:
        async for message in feed.events(None):
            if found := re.search(rb'"seq":(\d+)', message):
                writer.was_shown(int(found[1]))
            if not writer.is_writing:
                break
        await feed.close()

    with being_written(place, "live", LIVE_S) as (run, writer):
        before = time.process_time()
        asyncio.run(watch(RunFeed(run), writer))
        took = time.process_time() - before - writer.took
    return {"share": took / LIVE_S, "age": writer.usual_age()}


# --- a run that is looked at, and one that is not ------------------------------------------------


def _slower(home: Path, pairs: int) -> dict[str, float]:
    """By which part a run takes more time while its page is open: of a processor, by the clock."""
    environment = environment_of(home)
    ratios: dict[str, list[float]] = {"processor": [], "clock": []}
    with dashboard(home) as (_, link):
        for number in range(pairs):
            took = {}
            for is_open in (True, False) if number % 2 else (False, True):
                run = f"run-{number}-{'open' if is_open else 'alone'}"
                took[is_open] = _calls_of(run, environment, link if is_open else None)
            for name, found in ratios.items():
                found.append(took[True][name] / took[False][name])
    return {name: median(found) - 1 for name, found in ratios.items()}


def _calls_of(run: str, environment: dict[str, str], link: str | None) -> dict[str, float]:
    """What a run takes; `link`: of the dashboard on which somebody looks."""
    words = [sys.executable, "-m", __name__, "calls", run]
    with subprocess.Popen(
        words, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stdin is not None
        process.stdout.readline()  # the run is there
        reader = Thread(target=_look_at, args=(f"{link}run/{run}/events",))
        if link is not None:
            reader.start()
            time.sleep(0.5)  # the page has the journal
        process.stdin.close()  # now it may begin
        took: dict[str, float] = json.loads(process.stdout.readline())
    if link is not None:
        reader.join()
    return took


def _look_at(address: str) -> None:
    """As a browser does: read what is sent, to the end."""
    with urlopen(address, timeout=120) as stream:  # noqa: S310 -- our own address
        while stream.read1(65_536):
            pass


def _calls(run: Path) -> dict[str, float]:
    """A run of Python calls; the first output says that it is there, an end of input begins it."""
    from bursar import BudgetExecutor

    with BudgetExecutor(max_workers=2, name=run.name) as pool:
        pool.submit(abs, 0).result()
        print("{}", flush=True)
        sys.stdin.read()
        began, clock = time.process_time(), time.perf_counter()
        for _ in pool.map(abs, range(CALLS)):
            pass
        return {
            "processor": time.process_time() - began,
            "clock": time.perf_counter() - clock,
        }


PARTS = {"open": _open, "live": _live, "calls": _calls}

if __name__ == "__main__":
    print(json.dumps(PARTS[sys.argv[1]](Path(sys.argv[2]))), flush=True)
