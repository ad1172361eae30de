"""What benchmarks of pages look at: a large run that has ended, one that is being written, and the
dashboard that shows them.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from heapq import heappop, heappush
from itertools import islice
from pathlib import Path
from random import Random
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bursar.journal.recorder import Recorder
    from bursar.journal.runs import RunDir
    from bursar.state.events import AnyEvent
    from bursar.state.state import RunState

TASKS = 100_000
MACHINES = 500
RATE = 1_000
"""events in a second, of a run that is being written"""


class Fleet:
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
        from bursar.model.goal import Goal as RunGoal
        from bursar.model.goal import Limits
        from bursar.model.market import Market, Offer
        from bursar.model.money import Money
        from bursar.model.time import MINUTE, SECOND
        from bursar.model.work import Work, make_bag
        from bursar.state import events as ev

        offer = Offer("spot", Money.parse("0.021"), MINUTE, boot=40 * SECOND, pool="unreliable")
        market, goal = Market("USD", "2026-01-01", (offer,)), RunGoal(Money.parse("90000"))
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


def write_run(path: Path) -> int:
    """A journal of the large run; tells how many events it has."""
    from bursar.journal.recorder import Recorder
    from bursar.journal.writer import JournalWriter
    from bursar.state.state import RunState

    with JournalWriter.create(path, "big") as writer:
        state = RunState()
        journal = Recorder(writer, state)
        for number, event in enumerate(Fleet(TASKS, MACHINES).events()):
            journal.append(event)
            state.apply(event)
            if number % 500 == 0:
                journal.commit(safely=False)
        journal.commit(safely=False)
        journal.close()
    return state.events


class RateWriter:
    """Writes events at a rate, in a thread, and notes when each was there to be read."""

    def __init__(self, journal: Recorder, state: RunState, seconds: float) -> None:
        self._journal, self._state, self._seconds = journal, state, seconds
        self.written: list[float] = []
        """by the number of an event, less one: when it was there, by the monotonic clock"""
        self.took = 0.0
        """processor time, from the first commit on"""
        self.ages: list[float] = []
        """of what somebody was shown"""
        self._thread = Thread(target=self._write)

    def begin(self) -> None:
        """Returns when there is something to read."""
        self._thread.start()
        while not self.written:
            time.sleep(0.05)

    def end(self) -> None:
        self._thread.join()

    @property
    def is_writing(self) -> bool:
        return self._thread.is_alive()

    def was_shown(self, event: int) -> None:
        """Somebody is shown all events up to this one, while more are written."""
        if 0 < event < len(self.written):
            self.ages.append(time.monotonic() - self.written[event - 1])

    def usual_age(self) -> float:
        """Nine in ten of what was shown were younger."""
        return sorted(self.ages)[int(0.9 * len(self.ages))]

    def _write(self) -> None:
        began, since = time.monotonic(), 0.0
        for event in islice(Fleet(TASKS, MACHINES).events(), int(RATE * self._seconds)):
            self._journal.append(event)
            self._state.apply(event)
            if len(self.written) + RATE // 20 <= self._state.events:
                self._journal.commit(safely=False)
                now = time.monotonic()
                since = since or time.thread_time()
                self.written += [now] * (self._state.events - len(self.written))
                time.sleep(max(0.0, began + self._state.events / RATE - now))
        self.took = time.thread_time() - since


@contextmanager
def being_written(home: Path, name: str, seconds: float) -> Iterator[tuple[RunDir, RateWriter]]:
    """A run of this name that has begun to write; it has ended at the end."""
    from bursar.journal.recorder import Recorder
    from bursar.journal.runs import Home
    from bursar.journal.writer import JournalWriter
    from bursar.state.state import RunState

    run = Home(home).create(name)
    with run.acquire(), JournalWriter.create(run.journal, name) as journal:
        state = RunState()
        writer = RateWriter(Recorder(journal, state), state, seconds)
        writer.begin()
        try:
            yield run, writer
        finally:
            writer.end()


@contextmanager
def dashboard(home: Path) -> Iterator[tuple[int, str]]:
    """One that has not read any journal yet: its process and its address."""
    words = [sys.executable, "-m", "bursar", "dashboard", "--port", "0"]
    with subprocess.Popen(
        words, env=environment_of(home), stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stderr is not None
            link = re.search(r"http://\S+/", server.stderr.readline())
            assert link is not None
            yield server.pid, link[0]
        finally:
            server.terminate()


def environment_of(home: Path) -> dict[str, str]:
    """In which runs are those of a directory."""
    return {**os.environ, "BURSAR_HOME": str(home), "NO_COLOR": "1"}
