"""How things are measured: rivals take turns, and the best of each counts.

A shared machine is noisy, and noise only ever makes things slower. Taking turns lets all rivals
meet the same weather; the best of several rounds is the figure with the least weather in it.
"""

from __future__ import annotations

import operator
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec


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
        return {">=": operator.ge, "<=": operator.le}[self.sign](self.value, self.bound)


class Result(msgspec.Struct, frozen=True):
    """What a benchmark found."""

    title: str
    lines: Sequence[Line]
    goals: Sequence[Goal]
    missing: Sequence[str] = ()
    """rivals that are not installed here, and how to get them"""


def best_of(rivals: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """The shortest time of each rival, in seconds, over rounds in which all take their turn."""
    best: dict[str, float] = {}
    for _ in range(rounds):
        for name, measure in rivals.items():
            best[name] = min(measure(), best.get(name, float("inf")))
    return best


def seconds_of(command: Sequence[str], directory: str | Path, feed: str = "") -> float:
    """How long a command takes from start to end; it must succeed."""
    began = time.perf_counter()
    subprocess.run(
        command,
        cwd=directory,
        input=feed.encode(),
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return time.perf_counter() - began


def times_as_fast(name: str, best: Mapping[str, float], least: float, ours: str) -> Goal:
    """The goal to be at least so many times as fast as a rival."""
    return Goal(f"{ours} beside {name}", best[name] / best[ours], ">=", least, "times as fast")
