"""The page of a run of 100,000 tasks on 500 machines: how long it takes to open, and its size.

The journal is that of a run whose machines are taken away now and then. Each opening is a process
of its own; its time is that of the processor, which others at work do not change. A live run is
looked at, too, while it writes a thousand events a second: what the feed takes of a processor, and
how old the figures are that it sends. And the same calls run with a page open and with none, in
turn: what that costs the process of the run.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import islice
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from threading import Thread
from typing import TYPE_CHECKING
from urllib.request import urlopen

from benchmarks.measure import Goal, Line, Result

if TYPE_CHECKING:
    from bursar.journal.recorder import Recorder
    from bursar.state.events import AnyEvent
    from bursar.state.state import RunState

TASKS = 100_000
MACHINES = 500
MOST_OPEN_S = 2.0
MOST_MB = 6.0
MOST_TICK_S = 0.025
RATE = 1_000
"""events in a second, of a run that is looked at ..."""
LIVE_S = 8.0
"""... for so long"""
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
        _in_process("write", path)
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
                100 * slower,
                "%",
                f"more of its processor time, median of {PAIRS * rounds} pairs",
            ),
        ],
        goals=[
            Goal("to open it", best["open"], "<=", MOST_OPEN_S, "s"),
            Goal("a tick", best["tick"], "<=", MOST_TICK_S, "s"),
            Goal("a report", best["megabytes"], "<=", MOST_MB, "MB"),
            Goal("live", best["share"], "<=", MOST_SHARE, "of a processor"),
            Goal("age of figures", best["age"], "<=", MOST_AGE_S, "s"),
            Goal("a run with its page open", slower, "<=", MOST_SLOWER, "more"),
        ],
    )


def _in_process(what: str, path: Path) -> dict[str, float]:
    words = [sys.executable, "-m", __name__, what, str(path)]
    found = subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout
    return {name: float(value) for name, value in json.loads(found).items()}


class _Fleet:
    """Spot machines that are replaced when they vanish, and a bag that keeps them busy."""

    def __init__(self, tasks: int, machines: int) -> None:
        self._rng, self._tasks, self._machines = Random(1), tasks, machines
        self._agenda: list[tuple[int, int, str, int, int]] = []
        self._scheduled = self._rented = self._attempts = 0
        self._ready = list(range(tasks, 0, -1))
        self._running: dict[int, tuple[int, int, int]] = {}
        """by machine: attempt, task, run time"""
        self._there: set[int] = set()

    def events(self) -> Iterator[AnyEvent]:
        from bursar.model.goal import Goal as Wish
        from bursar.model.goal import Limits
        from bursar.model.market import Market, Offer
        from bursar.model.money import Money
        from bursar.model.time import MINUTE, SECOND
        from bursar.model.work import Work, make_bag
        from bursar.state import events as ev

        offer = Offer("spot", Money.parse("0.021"), MINUTE, boot=40 * SECOND, pool="unreliable")
        market, goal = Market("USD", "2026-01-01", (offer,)), Wish(Money.parse("90000"))
        yield ev.RunCreated(0, "big", market, goal, Limits(), 1, {}, {}, 1.7e9)
        yield ev.WorkArrived(0, Work(make_bag(["fit"], [[str(n)] for n in range(self._tasks)])))
        yield ev.ArrivalsEnded(0)
        for _ in range(self._machines):
            yield self._rent(0)
        done = now = 0
        while done < self._tasks:
            now, _, what, machine, attempt = heappop(self._agenda)
            if machine not in self._there:
                continue
            if what == "down":
                yield from self._lose(now, machine)
                continue
            if what == "up":
                yield ev.MachineUp(now, machine)
            else:
                taken = self._running.pop(machine)[2]
                yield ev.AttemptEnded(now, attempt, "success", taken, 0, 900, 1_000)
                done += 1
            yield from self._start(now, machine)
        for machine in sorted(self._there):
            yield ev.ReleaseOrdered(now, machine, "all tasks are settled")
            yield ev.MachineDown(now, machine, "released")
        yield ev.RunEnded(now, "done")

    def _schedule(self, at: int, what: str, machine: int, attempt: int = 0) -> None:
        self._scheduled += 1
        heappush(self._agenda, (at, self._scheduled, what, machine, attempt))

    def _rent(self, now: int) -> AnyEvent:
        from bursar.model.time import HOUR, SECOND
        from bursar.state import events as ev

        self._rented += 1
        self._there.add(self._rented)
        self._schedule(now + 40 * SECOND, "up", self._rented)
        life = 40 * SECOND + round(self._rng.expovariate(1 / (3 * HOUR)))
        self._schedule(now + life, "down", self._rented)
        return ev.MachineRented(now, self._rented, "spot", now + 100 * HOUR, "to fill the fleet")

    def _lose(self, now: int, machine: int) -> Iterator[AnyEvent]:
        from bursar.state import events as ev

        self._there.discard(machine)
        if machine in self._running:
            self._ready.append(self._running.pop(machine)[1])
        yield ev.MachineDown(now, machine, "lost", now, "taken by the market")
        yield self._rent(now)

    def _start(self, now: int, machine: int) -> Iterator[AnyEvent]:
        from bursar.model.time import MINUTE
        from bursar.state import events as ev

        if self._ready:
            self._attempts += 1
            task, taken = self._ready.pop(), round(self._rng.lognormvariate(0, 0.4) * 4 * MINUTE)
            self._running[machine] = (self._attempts, task, taken)
            self._schedule(now + taken, "end", machine, self._attempts)
            yield ev.AttemptStarted(now, self._attempts, task, machine)


def _write(path: Path) -> dict[str, float]:
    from bursar.journal.recorder import Recorder
    from bursar.journal.writer import JournalWriter
    from bursar.state.state import RunState

    with JournalWriter.create(path, "big") as writer:
        state = RunState()
        journal = Recorder(writer, state)
        for number, event in enumerate(_Fleet(TASKS, MACHINES).events()):
            journal.append(event)
            state.apply(event)
            if number % 500 == 0:
                journal.commit(safely=False)
        journal.commit(safely=False)
        journal.close()
    return {"events": state.events}


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


class _Writer:
    """Writes events at a rate, in a thread, and notes when each was there to be read."""

    def __init__(self, journal: Recorder, state: RunState) -> None:
        self._journal, self._state = journal, state
        self.written: list[float] = []
        self.took = 0.0
        """processor time, from the first commit on"""

    def run(self) -> None:
        began, since = time.monotonic(), 0.0
        for event in islice(_Fleet(TASKS, MACHINES).events(), int(RATE * LIVE_S)):
            self._journal.append(event)
            self._state.apply(event)
            if len(self.written) + RATE // 20 <= self._state.events:
                self._journal.commit(safely=False)
                now = time.monotonic()
                since = since or time.thread_time()
                self.written += [now] * (self._state.events - len(self.written))
                time.sleep(max(0.0, began + self._state.events / RATE - now))
        self.took = time.thread_time() - since


def _live(place: Path) -> dict[str, float]:
    """Processor time of the feed of a page, and how old what it sends is."""
    from bursar.journal.recorder import Recorder
    from bursar.journal.runs import Home
    from bursar.journal.writer import JournalWriter
    from bursar.state.state import RunState
    from bursar.web.page.feed import RunFeed

    run = Home(place).create("live")
    ages: list[float] = []

    async def watch(writer: _Writer, thread: Thread) -> None:
        feed = RunFeed(run)
        async for message in feed.events(None):
            found = re.match(rb"id: (\d+)\n", message)
            if found and 1 <= int(found[1]) < len(writer.written):
                ages.append(time.monotonic() - writer.written[int(found[1])])
            if not thread.is_alive():
                break
        await feed.close()

    with run.acquire(), JournalWriter.create(run.journal, "live") as written:
        state = RunState()
        writer = _Writer(Recorder(written, state), state)
        thread = Thread(target=writer.run)
        thread.start()
        while not writer.written:
            time.sleep(0.05)
        before = time.process_time()
        asyncio.run(watch(writer, thread))
        took = time.process_time() - before - writer.took
        thread.join()
    return {"share": took / LIVE_S, "age": sorted(ages)[int(0.9 * len(ages))]}


# --- a run that is looked at, and one that is not ------------------------------------------------


def _slower(home: Path, pairs: int) -> float:
    """By which part the process of a run takes more processor time while its page is open."""
    environment = {**os.environ, "BURSAR_HOME": str(home), "NO_COLOR": "1"}
    words = [sys.executable, "-m", "bursar", "dashboard", "--port", "0"]
    with subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            link = re.search(r"http://\S+/", server.stderr.readline())
            assert link is not None
            ratios = []
            for number in range(pairs):
                took = {}
                for is_open in (True, False) if number % 2 else (False, True):
                    run = f"run-{number}-{'open' if is_open else 'alone'}"
                    took[is_open] = _calls_of(run, environment, link[0] if is_open else None)
                ratios.append(took[True] / took[False])
        finally:
            server.terminate()
    return median(ratios) - 1


def _calls_of(run: str, environment: dict[str, str], link: str | None) -> float:
    """Processor time of the process of a run; `link`: of the dashboard on which somebody looks."""
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
        took = float(json.loads(process.stdout.readline())["processor"])
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
        began = time.process_time()
        for _ in pool.map(abs, range(CALLS)):
            pass
        return {"processor": time.process_time() - began}


PARTS = {"write": _write, "open": _open, "live": _live, "calls": _calls}

if __name__ == "__main__":
    print(json.dumps(PARTS[sys.argv[1]](Path(sys.argv[2]))), flush=True)
