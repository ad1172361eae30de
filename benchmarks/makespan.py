"""The makespan of a workflow of 10,568 tasks, 1,000 samples on one core: compiled, beside NumPy.

The workflow is a Montage made with the generator of Bharathi et al., where it lies in
`../shared/data`; else one with as many tasks in layers. Each task has a distribution of its own.
Compiling is not counted.
"""

from __future__ import annotations

import gzip
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import Goal, Line, Result, best_of
from bursar.beliefs.histogram import BINS, Histogram
from bursar.model.dag import Dag, dag_of
from bursar.plan.workflow.makespan import WorkflowTimes

Floats = NDArray[np.float64]

DATA = Path(__file__).parents[2] / "shared" / "data" / "bharathi" / "large"
MONTAGE = DATA / "montage-10568.json.gz"
TASKS = 10_568
WIDTH = 1_500
SAMPLES = 1_000
MOST_MILLISECONDS = 100.0
SPREAD = 0.3
OURS = "bursar"


class Instance(msgspec.Struct, frozen=True):
    name: str
    parents: list[list[int]]
    runtimes: list[float]


def read_workflow() -> Instance:
    if MONTAGE.exists():
        found = msgspec.json.decode(gzip.decompress(MONTAGE.read_bytes()))
        return Instance("Montage", found["parents"], found["runtime"])
    rng = np.random.default_rng(0)
    parents: list[list[int]] = []
    for task in range(TASKS):
        layer = task // WIDTH * WIDTH
        above = rng.integers(layer - WIDTH, layer, 3) if layer else np.empty(0, np.int64)
        parents.append(sorted(set(above.tolist())))
    return Instance("layers, made up", parents, rng.lognormal(2, 1, TASKS).tolist())


def make_times(workflow: Instance) -> list[Histogram]:
    """Each task's run time, times a factor of median 1."""
    rng = np.random.default_rng(1)
    factors = np.sort(rng.lognormal(0, SPREAD, (len(workflow.runtimes), BINS)), axis=1)
    rows = zip(workflow.runtimes, factors, strict=True)
    return [Histogram(runtime * row) for runtime, row in rows]


def sample_with_numpy(workflow: Instance, dag: Dag, times: list[Histogram]) -> Floats:
    """All samples of a task at once, one task after the other."""
    rng = np.random.default_rng(2)
    ends = np.empty((len(dag), SAMPLES))
    for task in dag.order.tolist():
        ends[task] = times[task].sample(rng, SAMPLES)
        if workflow.parents[task]:
            ends[task] += ends[workflow.parents[task]].max(axis=0)
    makespans: Floats = ends.max(axis=0)
    return makespans


def measure(rounds: int) -> Result:
    workflow = read_workflow()
    dag, times = dag_of(workflow.parents), make_times(workflow)
    known = WorkflowTimes(dag, [[one] for one in times])
    offers = np.zeros(len(dag), dtype=np.int64)
    rivals: dict[str, Callable[[], Floats]] = {
        OURS: lambda: known.sample(offers, SAMPLES),
        "NumPy": lambda: sample_with_numpy(workflow, dag, times),
    }
    middles = {name: float(np.median(sample())) for name, sample in rivals.items()}  # compiles, too
    assert abs(middles[OURS] / middles["NumPy"] - 1) < 0.02, f"the medians differ: {middles}"
    best = best_of({name: partial(_timed, sample) for name, sample in rivals.items()}, rounds)
    lines = [
        Line(f"{SAMPLES:,} samples", 1000 * best[OURS], "ms", OURS),
        Line(f"{SAMPLES:,} samples", 1000 * best["NumPy"], "ms", _beside("NumPy", best)),
    ]
    goals = [Goal(f"{SAMPLES:,} samples", 1000 * best[OURS], "<=", MOST_MILLISECONDS, "ms")]
    return Result(f"Makespan of {len(dag):,} tasks ({workflow.name})", lines, goals)


def _beside(name: str, best: Mapping[str, float]) -> str:
    return f"{name}: {best[name] / best[OURS]:.1f} times as long"


def _timed(sample: Callable[[], Floats]) -> float:
    began = time.perf_counter()
    sample()
    return time.perf_counter() - began
