"""Workloads of workflows on 100 machines: each placer, ten times as much, plans, and SimPy.

3,000 workflows of three kinds at 98 %, about 200,000 tasks. Seconds are processor time, as a
simulation runs on one core, when it has run before: neither compiling nor loading is counted. Ten
times as many workflows may take 12 times the seconds that 3,000 may: they have more than ten times
the tasks (their sizes are drawn), and more of them are in the system at once, as the load has
longer to build up. SimPy simulates the same workload with the same decisions (`cpp`), in an
environment of its own, which is thrown away afterwards.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from venv import EnvBuilder

import msgspec
import numpy as np

from benchmarks.measure import Goal, Line, Result, best_of
from bursar.model.dag import frozen
from bursar.model.workload_arrays import WorkloadArrays
from bursar.simulate.placing import place_workload
from bursar.simulate.planned_estimates import PlannedEstimates
from bursar.simulate.planned_placing import PlannedPlacement
from bursar.simulate.workload_metrics import work_times
from bursar.simulate.workloads.generate import generate
from bursar.simulate.workloads.spec import Poisson, WorkloadSpec

MACHINES = 100
SPEEDS = (1.0,) * MACHINES
WORKS = 3_000
TIMES_AS_MANY = 10
MOST_SECONDS = {
    "backfill": 0.1,
    "cpp": 0.4,
    "owm": 0.4,
    "fdws": 0.4,
    "hr": 0.4,
    "fwp": 0.6,
    "stretch": 0.6,
}
MOST_TIMES_AS_LONG = 12.0
"""Ten times as many workflows, by what `MOST_SECONDS` allows for the others."""
MOST_SECONDS_BY_PLANS = 60.0
PLANNED_WORKS = 1_000
MOST_SECONDS_OF_A_PLAN = 5.0
LEAST_TIMES_AS_FAST = 100.0
SAME = 1e-6
"""Mean responses that differ by less, in proportion, are the same."""
SEED = 9
INSTALL_SECONDS = 300


@cache
def workload(works: int, utilization: float = 0.98) -> WorkloadArrays:
    spec = WorkloadSpec(
        kinds=(("montage", 1.0), ("ligo", 1.0), ("sipht", 1.0)),
        count=works,
        seed=SEED,
        arrivals=Poisson(utilization=utilization, speed=MACHINES),
    )
    return generate(spec).arrays


def seconds_of(placer: str, arrays: WorkloadArrays) -> float:
    began = time.process_time()
    schedule = place_workload(arrays, SPEEDS, placer)
    taken = time.process_time() - began
    assert schedule.is_whole
    return taken


def measure(rounds: int) -> Result:
    few, many = workload(WORKS), workload(TIMES_AS_MANY * WORKS)
    for placer in MOST_SECONDS:  # compiled or loaded, and its memory there, before the clock runs
        seconds_of(placer, few)
    once, tenfold = (
        best_of({placer: partial(seconds_of, placer, some) for placer in MOST_SECONDS}, rounds)
        for some in (few, many)
    )
    more = len(many) / len(few)
    lines = [
        Line(
            placer,
            1000 * taken,
            "ms",
            f"{more:.1f} times the tasks: {tenfold[placer] / taken:.1f} times as long",
        )
        for placer, taken in once.items()
    ]
    goals = [
        Goal(f"{placer}, {WORKS:,} workflows", once[placer], "<=", most, "s")
        for placer, most in MOST_SECONDS.items()
    ]
    goals += [
        Goal(
            f"{placer}, {TIMES_AS_MANY * WORKS:,} workflows",
            tenfold[placer],
            "<=",
            MOST_TIMES_AS_LONG * most,
            "s",
        )
        for placer, most in MOST_SECONDS.items()
    ]
    for result in (_by_plans(), _beside_simpy(few, once["cpp"])):
        lines += result.lines
        goals += result.goals
        missing = result.missing
    title = f"Workloads: {WORKS:,} workflows, {len(few):,} tasks, on {MACHINES} machines"
    return Result(title, lines, goals, missing)


def _by_plans() -> Result:
    """`wheft`: a whole simulation, and the plan for many workflows at once."""
    place_workload(workload(9), SPEEDS, "wheft")
    simulation = seconds_of("wheft", workload(WORKS, 0.97))
    arrays = workload(PLANNED_WORKS)
    at_once = frozen(np.zeros(PLANNED_WORKS), np.int64)
    batch = msgspec.structs.replace(arrays, arrived=at_once)
    estimates = PlannedEstimates(batch, batch.runtimes)
    placement = PlannedPlacement(batch, np.array(SPEEDS), estimates)
    began = time.process_time()
    placement.plan_first()
    plan = time.process_time() - began
    simulated = f"wheft, {WORKS:,} workflows at 97 %"
    planned = f"wheft, a plan for {PLANNED_WORKS:,} workflows"
    return Result(
        "",
        [
            Line("wheft", 1000 * simulation, "ms", "at 97 %"),
            Line("its plan", 1000 * plan, "ms", planned),
        ],
        [
            Goal(simulated, simulation, "<=", MOST_SECONDS_BY_PLANS, "s"),
            Goal(planned, plan, "<=", MOST_SECONDS_OF_A_PLAN, "s"),
        ],
    )


# --- SimPy ----------------------------------------------------------------------------------------


class Simulated(msgspec.Struct, frozen=True):
    """What SimPy tells."""

    mean: float
    """response, in microseconds"""
    seconds: float


@contextmanager
def python_with_simpy() -> Iterator[str | None]:
    """A Python that has SimPy: this one, or one for the time being; None: it cannot be had."""
    if find_spec("simpy") is not None:
        yield sys.executable
        return
    with TemporaryDirectory(prefix="bursar-simpy-") as directory:
        EnvBuilder(with_pip=True).create(directory)
        python = str(Path(directory) / "bin" / "python")
        install = [python, "-m", "pip", "install", "--quiet", "simpy"]
        done = subprocess.run(install, capture_output=True, timeout=INSTALL_SECONDS, check=False)
        yield python if done.returncode == 0 else None


def simulate_with_simpy(python: str, arrays: WorkloadArrays) -> Simulated:
    starts, items = arrays.parents.starts.tolist(), arrays.parents.items.tolist()
    asked = {
        "machines": MACHINES,
        "arrived": arrays.arrived.tolist(),
        "first": arrays.first.tolist(),
        "work": arrays.work.tolist(),
        "runtimes": arrays.runtimes.tolist(),
        "parents": [items[begin:end] for begin, end in pairwise(starts)],
    }
    side = Path(__file__).with_name("simpy_side.py")
    found = subprocess.run(
        [python, str(side)], input=json.dumps(asked).encode(), stdout=subprocess.PIPE, check=True
    )
    return msgspec.json.decode(found.stdout, type=Simulated)


def _beside_simpy(arrays: WorkloadArrays, ours: float) -> Result:
    with python_with_simpy() as python:
        if python is None:
            return Result("", [], [], ["SimPy: pip install simpy"])
        theirs = simulate_with_simpy(python, arrays)
    schedule = place_workload(arrays, SPEEDS, "cpp")
    mean = 1e6 * float(work_times(arrays, schedule).response.mean())
    ratio = theirs.seconds / ours
    note = f"{len(arrays) / theirs.seconds:,.0f} tasks a second, ours {len(arrays) / ours:,.0f}"
    return Result(
        "",
        [Line("SimPy", 1000 * theirs.seconds, "ms", note)],
        [
            Goal("cpp beside SimPy", ratio, ">=", LEAST_TIMES_AS_FAST, "times the tasks a second"),
            Goal("how much mean responses differ", abs(theirs.mean / mean - 1), "<=", SAME),
        ],
    )
