"""How things are measured: rivals take turns, and the best of each counts.

A shared machine is noisy, and noise only ever makes things slower. Taking turns lets all rivals
meet the same weather; the best of several rounds is the figure with the least weather in it.
Processor time is shown, too: a process that is kept from running takes longer, but hardly more of
that.
"""

from __future__ import annotations

import operator
import resource
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

Value = TypeVar("Value")


class Line(msgspec.Struct, frozen=True):
    """One thing that was measured."""

    what: str
    value: float
    unit: str
    note: str = ""


class Goal(msgspec.Struct, frozen=True):
    """What must hold of a figure: `>=` or `<=` a bound."""

    what: str
    value: float
    sign: str
    bound: float
    unit: str = ""

    @property
    def is_met(self) -> bool:
        compare = {">=": operator.ge, "<=": operator.le}[self.sign]
        return bool(compare(self.value, self.bound))


class Result(msgspec.Struct, frozen=True):
    """What a benchmark found."""

    title: str
    lines: Sequence[Line]
    goals: Sequence[Goal]
    missing: Sequence[str] = ()
    """rivals that are not installed here, and how to get them"""


class Taken(msgspec.Struct):
    """What something took, in seconds."""

    clock: float = 0.0
    processor: float = 0.0
    """of the processes that ended meanwhile"""

    def at(self, count: int) -> str:
        """For people, where it was to do so many of something."""
        return f"{count / self.clock:,.0f} a second; {self.processor:.1f} s of processor time"


@contextmanager
def timed() -> Iterator[Taken]:
    """What is done in the `with` block, and by child processes that end in it."""
    taken, began, used = Taken(), time.perf_counter(), _processor_time()
    yield taken
    taken.clock = time.perf_counter() - began
    taken.processor = _processor_time() - used


def _processor_time() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def best_of(rivals: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """The shortest time of each rival, in seconds, over rounds in which all take their turn."""
    return {name: min(times) for name, times in _in_turns(rivals, rounds).items()}


def least_of(rivals: Mapping[str, Callable[[], Taken]], rounds: int) -> dict[str, Taken]:
    """The same for processes: the least time by the clock, and the least processor time."""
    return {
        name: Taken(min(one.clock for one in taken), min(one.processor for one in taken))
        for name, taken in _in_turns(rivals, rounds).items()
    }


def _in_turns(rivals: Mapping[str, Callable[[], Value]], rounds: int) -> dict[str, list[Value]]:
    found: dict[str, list[Value]] = {name: [] for name in rivals}
    for _ in range(rounds):
        for name, measure in rivals.items():
            found[name].append(measure())
    return found


def run_timed(command: Sequence[str], directory: str | Path, feed: str = "") -> Taken:
    """What a command takes from start to end; it must succeed."""
    with timed() as taken:
        subprocess.run(
            command, cwd=directory, input=feed.encode(), stdout=subprocess.DEVNULL, check=True
        )
    return taken


def times_as_fast(name: str, best: Mapping[str, Taken], least: float, ours: str) -> Goal:
    """The goal to be at least so many times as fast as a rival."""
    ratio = best[name].clock / best[ours].clock
    return Goal(f"{ours} beside {name}", ratio, ">=", least, "times as fast")
