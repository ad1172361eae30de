"""Python calls that do nothing, one by one, from the start of the pool to its end.

Each rival runs in a process of its own: one pool must not see the threads of the other.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterable
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import partial
from tempfile import TemporaryDirectory

from benchmarks.measure import Line, Result, Taken, least_of, timed, times_as_fast

CALLS = 20_000
WORKERS = 2
LEAST = 0.6


def nothing(number: int) -> int:
    return number


def measure(rounds: int) -> Result:
    names = ("BudgetExecutor", "ProcessPoolExecutor")
    with TemporaryDirectory() as home:
        best = least_of({name: partial(_in_a_process, name, home) for name in names}, rounds)
    return Result(
        title=f"{CALLS:,} Python calls on {WORKERS} workers, one call at a time",
        lines=[Line(name, taken.clock, "s", taken.at(CALLS)) for name, taken in best.items()],
        goals=[times_as_fast("ProcessPoolExecutor", best, LEAST, "BudgetExecutor")],
    )


def _in_a_process(name: str, home: str) -> Taken:
    """By the clock, what the pool takes; the processor time has the start of Python in it."""
    with timed() as taken:
        found = subprocess.run(
            [sys.executable, "-m", __name__, name],
            env={**os.environ, "BURSAR_HOME": home},
            stdout=subprocess.PIPE,
            check=True,
        )
    return Taken(float(found.stdout), taken.processor)


def _pool(name: str) -> Executor:
    if name == "ProcessPoolExecutor":
        return ProcessPoolExecutor(WORKERS)
    from bursar import BudgetExecutor, parse_market

    market = parse_market(f'[[offer]]\nname = "slot"\nbilling = "free"\nlimit = {WORKERS}\n')
    return BudgetExecutor(market)


def _check(results: Iterable[int]) -> None:
    if list(results) != list(range(CALLS)):
        raise SystemExit("the calls did not return what they should")


if __name__ == "__main__":
    began = time.perf_counter()
    with _pool(sys.argv[1]) as pool:
        _check(pool.map(nothing, range(CALLS)))
    print(time.perf_counter() - began)
