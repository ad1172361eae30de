"""HEFT with insertion on 16 machines: compiled, beside SAGA and beside plain Python.

The workflow has layers; each task waits for three of the layer before. All rivals plan the same
one, and must find the same makespan. Compiling is not counted.
"""

from __future__ import annotations

import time
from bisect import insort
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import Goal, Line, Result, best_of
from bursar.plan.graph import Graph
from bursar.plan.heft import Network, heft

Floats = NDArray[np.float64]

MACHINES = 16
SIZES = (100, 1_000, 10_000)
MOST_FOR_RIVALS = {"plain Python": 1_000, "SAGA": 100}
"""Tasks; more would take minutes."""
MOST_MILLISECONDS = 50.0
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


def make_problem(tasks: int) -> Problem:
    """One task before all and one after, as SAGA wants it."""
    rng = np.random.default_rng(tasks)
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
    graph, network = Graph.of(problem.parents), Network.even(MACHINES, pace=PACE)
    runtimes, machines = problem.runtimes, np.arange(MACHINES)
    return lambda: heft(graph, runtimes, problem.volumes, machines, network).makespan


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


def plan_with_saga(problem: Problem) -> Callable[[], float]:
    saga: Any = import_module("saga")
    scheduler: Any = import_module("saga.schedulers.heft").HeftScheduler()
    names = [f"n{number}" for number in range(MACHINES)]
    pairs = [(one, two, 1 / PACE) for one in names for two in names if one < two]
    network = saga.Network.create(zip(names, problem.speeds.tolist(), strict=True), pairs)
    volumes = iter(problem.volumes.tolist())
    moves = [
        (f"t{parent}", f"t{task}", next(volumes))
        for task, row in enumerate(problem.parents)
        for parent in row
    ]
    costs = [(f"t{task}", cost) for task, cost in enumerate(problem.costs.tolist())]
    graph = saga.TaskGraph.create(costs, moves)
    return lambda: float(scheduler.schedule(network, graph).makespan)


# --- the measuring --------------------------------------------------------------------------------


def measure(rounds: int) -> Result:
    has_saga = find_spec("saga") is not None
    lines = []
    for size in SIZES:
        problem = make_problem(size)
        rivals = {OURS: plan_compiled(problem)}
        if size <= MOST_FOR_RIVALS["plain Python"]:
            rivals["plain Python"] = plan_plainly(problem)
            plain = rivals["plain Python"]()
            assert abs(rivals[OURS]() - plain) < 1e-9 * plain, f"{size} tasks: the plans differ"
        if has_saga and size <= MOST_FOR_RIVALS["SAGA"]:
            rivals["SAGA"] = plan_with_saga(problem)
        rivals[OURS]()  # compiled, or loaded, before the clock runs
        best = best_of({name: partial(_timed, plan) for name, plan in rivals.items()}, rounds)
        for name, seconds in best.items():
            note = name if name == OURS else f"{name}: {seconds / best[OURS]:.0f} times as long"
            lines.append(Line(f"{size:,} tasks", 1000 * seconds, "ms", note))
    goals = [Goal(f"{size:,} tasks", 1000 * best[OURS], "<=", MOST_MILLISECONDS, "ms")]
    missing = [] if has_saga else ["SAGA: pip install anrg-saga"]
    return Result(f"HEFT on {MACHINES} machines", lines, goals, missing)


def _timed(plan: Callable[[], float]) -> float:
    began = time.perf_counter()
    plan()
    return time.perf_counter() - began
