"""The frontier of the ExPERT paper (section 6.1): 150 tasks, 50 unreliable machines, its grid.

The paper's prototype takes several minutes (section 6.4). Here the rival is the same process in
plain Python, which the tests compare with the kernel; it does a part of the grid, once. Compiling
is not counted.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Goal, Line, Result, best_of
from bursar.model.money import Money
from bursar.model.time import SECOND
from bursar.plan.pools.estimator import Conditions, Price, estimate
from bursar.plan.pools.strategies import sampled_strategies

REFERENCE = Path(__file__).parents[1] / "tests" / "simulate" / "estimator_reference.py"
RATIO = 0.5
PART = 10
"""The plain description does one in so many strategies."""


def measure(rounds: int) -> Result:
    known = make_conditions()
    grid = sampled_strategies(known.mean, RATIO, known.unreliable)
    estimate(known, grid[:1], 1)
    best = best_of({"few": _timed(known, 10), "plain": _timed_plain(known)}, rounds)
    many = _timed(known, 1000)()
    fresh = _timed_command()
    ratio = best["plain"] / len(grid[::PART]) / (best["few"] / len(grid) / 10)
    return Result(
        f"Frontier of {len(grid)} strategies, {known.tasks} tasks",
        [
            Line("10 repetitions", best["few"], "s"),
            Line("1,000 repetitions", many, "s"),
            Line("bursar frontier", fresh, "s", "10 repetitions, a new process"),
            Line("plain Python", best["plain"] * PART, "s", "1 repetition, from a tenth of it"),
        ],
        [
            Goal("10 repetitions", best["few"], "<=", 0.5, "s"),
            Goal("1,000 repetitions", many, "<=", 20.0, "s"),
            Goal("10 repetitions, as a new process", fresh, "<=", 4.0, "s"),
            Goal("beside plain Python", ratio, ">=", 50.0, "times as fast"),
        ],
    )


def _timed_command() -> float:
    """The command, as a new process that was compiled on this computer before."""
    program = str(Path(sys.executable).with_name("bursar"))
    options = "--tasks 150 --unreliable 50 --reliability 0.827 --turnaround 2066s~600s"
    prices = "--unreliable-price 0.01/h/s --reliable-price 0.34/h/s --faithful"
    words = f"{program} frontier {options} {prices} --grid paper --repetitions 10"
    subprocess.run(words.split(), capture_output=True, check=True)
    began = time.perf_counter()
    subprocess.run(words.split(), capture_output=True, check=True)
    return time.perf_counter() - began


def make_conditions() -> Conditions:
    """The parameters of table 2 and experiment 11; its turnaround times are not printed."""
    times = np.random.default_rng(0).gamma(4, 2066 / 4 * SECOND, 500).astype(np.int64)
    return Conditions(
        tasks=150,
        unreliable=50,
        reliability=0.827,
        turnarounds=np.sort(times),
        reliable_time=2066 * SECOND,
        unreliable_price=Price(Money.parse("0.000002778")),
        reliable_price=Price(Money.parse("0.000094444")),
    )


def _timed(known: Conditions, repetitions: int) -> Callable[[], float]:
    grid = sampled_strategies(known.mean, RATIO, known.unreliable)

    def run() -> float:
        began = time.perf_counter()
        estimate(known, grid, repetitions)
        return time.perf_counter() - began

    return run


def _timed_plain(known: Conditions) -> Callable[[], float]:
    spec = spec_from_file_location("estimator_reference", REFERENCE)
    assert spec is not None and spec.loader is not None
    plain: Any = module_from_spec(spec)
    spec.loader.exec_module(plain)
    grid = sampled_strategies(known.mean, RATIO, known.unreliable)[::PART]

    def run() -> float:
        began = time.perf_counter()
        for strategy in grid:
            plain.Execution(known, strategy, 0, 0).run()
        return time.perf_counter() - began

    return run
