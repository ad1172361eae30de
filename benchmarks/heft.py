"""HEFT with insertion on 16 machines: compiled, beside SAGA and beside plain Python.

The workflow has layers; each task waits for three of the layer before. All rivals plan the same
one, and must find the same makespan. Compiling is not counted.

SAGA (`anrg-saga`) has many dependencies, so it gets an environment of its own, which is thrown away
afterwards. Its ranks differ from the paper's in one point: the mean move of a file counts moves
from each machine to itself, which take no time. Makespans are compared with these ranks on our
side, and once more with no files to move, where both have the same; times are those of `heft`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from bisect import insort
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from venv import EnvBuilder

import msgspec
import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import Goal, Line, Result, best_of
from bursar.kernels.graph import ranks_of
from bursar.model.dag import dag_of
from bursar.plan.workflow.heft import Given, Network, heft, place_by

Floats = NDArray[np.float64]

MACHINES = 16
SIZES = (100, 1_000, 10_000)
MOST_FOR_PLAIN_PYTHON = 1_000
"""Tasks; more would take minutes."""
MOST_MILLISECONDS = 50.0
SAGA_SIZE = 1_000
SAGA_SEEDS = (1, 2, 3)
LEAST_TIMES_AS_FAST = 500.0
SAME = 1e-9
"""Makespans that differ by less, in proportion, are the same."""
INSTALL_SECONDS = 900
PACE = 0.5
OURS = "bursar"


class Problem(msgspec.Struct, frozen=True):
    parents: list[list[int]]
    costs: Floats
    speeds: Floats
    volumes: Floats

    @property
    def runtimes(self) -> Floats:
        return self.costs[:, np.newaxis] / self.speeds


def make_problem(tasks: int, seed: int = 0) -> Problem:
    """One task before all and one after, as SAGA wants it."""
    rng = np.random.default_rng([tasks, seed])
    width = max(4, round(tasks**0.5))
    parents: list[list[int]] = [[]]
    for task in range(1, tasks - 1):
        first = max(0, (task // width - 1) * width)
        last = max(1, task // width * width)
        parents.append(sorted(set(rng.integers(first, last, 3).tolist())))
    needed = {parent for row in parents for parent in row}
    parents.append([task for task in range(tasks - 1) if task not in needed])
    return Problem(
        parents=parents,
        costs=rng.lognormal(2, 1, tasks),
        speeds=rng.uniform(1, 4, MACHINES),
        volumes=rng.exponential(4, sum(map(len, parents))),
    )


# --- rivals ---------------------------------------------------------------------------------------


def plan_compiled(problem: Problem) -> Callable[[], float]:
    dag, network = dag_of(problem.parents), Network.even(MACHINES, pace=PACE)
    runtimes, machines = problem.runtimes, np.arange(MACHINES)
    return lambda: heft(dag, runtimes, problem.volumes, machines, network).makespan


def plan_plainly(problem: Problem) -> Callable[[], float]:
    runtimes: list[list[float]] = problem.runtimes.tolist()
    moves = iter((problem.volumes * PACE).tolist())
    edges = [[(parent, next(moves)) for parent in row] for row in problem.parents]

    def plan() -> float:
        ranks = [0.0] * len(edges)
        for task in range(len(edges) - 1, -1, -1):
            ranks[task] += sum(runtimes[task]) / MACHINES
            for parent, move in edges[task]:
                ranks[parent] = max(ranks[parent], move + ranks[task])
        busy: list[list[tuple[float, float]]] = [[] for _ in range(MACHINES)]
        placed: list[tuple[float, int]] = [(0.0, 0)] * len(edges)
        for task in sorted(range(len(edges)), key=ranks.__getitem__, reverse=True):
            best = (float("inf"), 0, 0.0)
            for machine, spans in enumerate(busy):
                begin = 0.0
                for parent, move in edges[task]:
                    end, where = placed[parent]
                    begin = max(begin, end if where == machine else end + move)
                for span_begin, span_end in spans:
                    if begin + runtimes[task][machine] <= span_begin:
                        break
                    begin = max(begin, span_end)
                best = min(best, (begin + runtimes[task][machine], machine, begin))
            placed[task] = best[0], best[1]
            insort(busy[best[1]], (best[2], best[0]))
        return max(end for end, _ in placed)

    return plan


def makespan_by_ranks_of_saga(problem: Problem) -> float:
    """Ours, where the mean move counts the moves from each machine to itself."""
    dag, network = dag_of(problem.parents), Network.even(MACHINES, pace=PACE)
    given = Given.of(dag, problem.runtimes, problem.volumes, np.arange(MACHINES), network)
    moves = problem.volumes * PACE * (MACHINES - 1) / (MACHINES + 1)
    mean = problem.runtimes.mean(axis=1)
    rank = ranks_of(dag.parents, dag.order, mean, moves)
    return place_by(rank, given).makespan


@contextmanager
def python_with_saga() -> Iterator[str | None]:
    """A Python that has SAGA: this one, or one for the time being; None: it cannot be had."""
    if find_spec("saga") is not None:
        yield sys.executable
        return
    with TemporaryDirectory(prefix="bursar-saga-") as directory:
        EnvBuilder(with_pip=True).create(directory)
        python = str(Path(directory) / "bin" / "python")
        install = [python, "-m", "pip", "install", "--quiet", "anrg-saga"]
        done = subprocess.run(install, capture_output=True, timeout=INSTALL_SECONDS, check=False)
        yield python if done.returncode == 0 else None


class Planned(msgspec.Struct, frozen=True):
    """What SAGA tells of a problem."""

    makespan: float
    seconds: float


def plan_with_saga(python: str, problems: list[Problem]) -> list[Planned]:
    """One round each, in a process of its own."""
    asked = {
        "pace": PACE,
        "problems": [
            {
                "parents": problem.parents,
                "costs": problem.costs.tolist(),
                "speeds": problem.speeds.tolist(),
                "volumes": problem.volumes.tolist(),
            }
            for problem in problems
        ],
    }
    side = Path(__file__).with_name("saga_side.py")
    reported = subprocess.run(
        [python, str(side)], input=json.dumps(asked).encode(), stdout=subprocess.PIPE, check=True
    )
    return msgspec.json.decode(reported.stdout, type=list[Planned])


# --- the measuring --------------------------------------------------------------------------------


def measure(rounds: int) -> Result:
    lines = []
    for size in SIZES:
        problem = make_problem(size)
        rivals = {OURS: plan_compiled(problem)}
        if size <= MOST_FOR_PLAIN_PYTHON:
            rivals["plain Python"] = plan_plainly(problem)
            plain = rivals["plain Python"]()
            assert abs(rivals[OURS]() - plain) < SAME * plain, f"{size} tasks: the plans differ"
        rivals[OURS]()  # compiled, or loaded, before the clock runs
        best = best_of({name: partial(_timed, plan) for name, plan in rivals.items()}, rounds)
        for name, seconds in best.items():
            note = name if name == OURS else f"{name}: {seconds / best[OURS]:.0f} times as long"
            lines.append(Line(f"{size:,} tasks", 1000 * seconds, "ms", note))
    goals = [Goal(f"{size:,} tasks", 1000 * best[OURS], "<=", MOST_MILLISECONDS, "ms")]
    missing = []
    with python_with_saga() as python:
        if python is None:
            missing.append("SAGA: pip install anrg-saga")
        else:
            more_lines, more_goals = _beside_saga(python, rounds)
            lines += more_lines
            goals += more_goals
    return Result(f"HEFT on {MACHINES} machines", lines, goals, missing)


def _beside_saga(python: str, rounds: int) -> tuple[list[Line], list[Goal]]:
    """SAGA on several workflows, with files to move and without."""
    problems = [make_problem(SAGA_SIZE, seed) for seed in SAGA_SEEDS]
    bare = [msgspec.structs.replace(one, volumes=0 * one.volumes) for one in problems]
    found = plan_with_saga(python, [*problems, *bare])
    expected = [
        *(makespan_by_ranks_of_saga(problem) for problem in problems),
        *(plan_compiled(problem)() for problem in bare),
    ]
    worst = max(
        abs(theirs.makespan / ours - 1) for theirs, ours in zip(found, expected, strict=True)
    )
    seconds = min(one.seconds for one in found[: len(problems)])
    ours = [plan_compiled(problem) for problem in problems]
    mine = best_of({OURS: lambda: max(_timed(plan) for plan in ours)}, rounds)[OURS]
    ratio = seconds / mine
    what = f"{SAGA_SIZE:,} tasks"
    note = f"SAGA: {ratio:.0f} times as long"
    return [Line(what, 1000 * seconds, "ms", note)], [
        Goal(f"{what} beside SAGA", ratio, ">=", LEAST_TIMES_AS_FAST, "times as fast"),
        Goal(f"{what}: how much makespans differ from SAGA's", worst, "<=", SAME),
    ]


def _timed(plan: Callable[[], float]) -> float:
    began = time.perf_counter()
    plan()
    return time.perf_counter() - began
