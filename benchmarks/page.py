"""The page of a run of 100,000 tasks on 500 machines: how long it takes to open, and its size.

The journal is that of a run whose machines are taken away now and then. Each opening is a process
of its own; its time is that of the processor, which others at work do not change.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from heapq import heappop, heappush
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from benchmarks.measure import Goal, Line, Result

if TYPE_CHECKING:
    from bursar.state.events import AnyEvent

TASKS = 100_000
MACHINES = 500
MOST_OPEN_S = 2.0
MOST_MB = 6.0
MOST_TICK_S = 0.025


def measure(rounds: int) -> Result:
    with TemporaryDirectory(prefix="bursar-") as directory:
        path = Path(directory) / "journal.db"
        _in_process("write", path)
        found = [_in_process("open", path) for _ in range(rounds)]
    best = {name: min(one[name] for one in found) for name in found[0]}
    return Result(
        title=f"the page of {TASKS:,} tasks on {MACHINES} machines",
        lines=[
            Line("to open it", best["open"], "s", "the journal, a snapshot and the HTML"),
            Line("without imports", best["read"], "s", "the same"),
            Line("a tick", 1000 * best["tick"], "ms", "verdict and figures of a live page"),
            Line("a report", best["megabytes"], "MB"),
        ],
        goals=[
            Goal("to open it", best["open"], "<=", MOST_OPEN_S, "s"),
            Goal("a tick", best["tick"], "<=", MOST_TICK_S, "s"),
            Goal("a report", best["megabytes"], "<=", MOST_MB, "MB"),
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


if __name__ == "__main__":
    print(json.dumps({"write": _write, "open": _open}[sys.argv[1]](Path(sys.argv[2]))))
