"""The first use on a computer compiles; later ones load what was kept.

What compiling takes is the difference in processor time between the first use, with nothing kept,
and the second one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory

import msgspec

from benchmarks.measure import Goal, Line, Result, timed

EXAMPLES = Path(__file__).parent.parent / "examples"
FRONTIER = (
    "frontier --tasks 150 --unreliable 50 --reliability 0.8 --turnaround 35m~10m"
    " --unreliable-price 0.01/h/s --reliable-price 0.34/h/s"
)
BUDGET = (
    "simulate --market market.toml --tasks 300 --runtime 2s --deviation 1s --budget 9 --runs 5"
    " --provisioner frontier"
)
USES = {
    "frontier": FRONTIER.split(),
    "plan of a workflow": ["plan", "flow.yaml", "--market", "market.toml", "--budget", "1.20"],
    "bag within a budget": BUDGET.split(),
    "workload": ["simulate", "few.toml", "--machines", "4", "--place", "fwp"],
    "workload, by plans": ["simulate", "few.toml", "--machines", "4", "--place", "wheft"],
}
WORKLOAD = """
count = 9
seed = 1
kinds = ["montage", "sipht"]
[arrivals]
utilization = 0.5
machines = 4
"""
MOST_COMPILING = 6.0
MOST_LOADING = 0.5
MOST_SILENCE = 1.0
ANNOUNCED = "compiling"
LOADING = """
import sys, time
from numba.core.caching import Cache
from bursar.cli.main import main
load, spent = Cache.load_overload, []
def timed_load(*arguments):
    began = time.process_time()
    try:
        return load(*arguments)
    finally:
        spent.append(time.process_time() - began)
Cache.load_overload = timed_load
try:
    main()
finally:
    print(sum(spent), file=open("loading", "w"))
"""
"""the command line, with what loading takes written to a file"""


class Use(msgspec.Struct, frozen=True):
    """Seconds."""

    compiling: float
    loading: float
    silence: float
    """by the clock, until it was announced"""


def measure(rounds: int) -> Result:
    best: dict[str, Use] = {}
    for _ in range(rounds):
        for name, words in USES.items():
            found = _used(words)
            before = best.get(name, found)
            best[name] = Use(
                *map(min, msgspec.structs.astuple(found), msgspec.structs.astuple(before))
            )
    return Result(
        title="First use on a computer",
        lines=[
            Line(
                name,
                use.compiling,
                "s",
                f"announced after {use.silence:.2f} s, later {use.loading:.2f} s",
            )
            for name, use in best.items()
        ],
        goals=[
            goal
            for name, use in best.items()
            for goal in (
                Goal(f"{name}: compiling", use.compiling, "<=", MOST_COMPILING, "s"),
                Goal(f"{name}: announced after", use.silence, "<=", MOST_SILENCE, "s"),
                Goal(f"{name}: loading", use.loading, "<=", MOST_LOADING, "s"),
            )
        ],
    )


def _used(words: list[str]) -> Use:
    with TemporaryDirectory() as directory:
        home = Path(directory, "home")
        copytree(EXAMPLES, home)
        Path(home, "few.toml").write_text(WORKLOAD, encoding="utf-8")
        environment = {**os.environ, "NUMBA_CACHE_DIR": f"{directory}/kept"}
        command = [sys.executable, "-c", LOADING, *words]
        with timed() as first:
            silence = _silence(command, home, environment)
        with timed() as second:
            subprocess.run(command, cwd=home, env=environment, capture_output=True, check=True)
        loading = float((home / "loading").read_text())
    return Use(first.processor - second.processor, loading, silence)


def _silence(command: list[str], home: Path, environment: dict[str, str]) -> float:
    """How long it says nothing; it is awaited."""
    began, spoke = time.perf_counter(), None
    with subprocess.Popen(
        command,
        cwd=home,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if spoke is None and ANNOUNCED in line:
                spoke = time.perf_counter() - began
    if process.returncode or spoke is None:
        raise RuntimeError(f"{' '.join(command[3:])} ended with {process.returncode}")
    return spoke
