"""Autoscalers on the workload of table 4.3: 200 workflows that arrive over 6.5 hours, 50 machines.

Each is simulated with every decision, boot and task. Where tasks are placed by the compiled loop
between two decisions, it is compared with the engine alone, in the same run. Seconds are processor
time, as a simulation runs on one core; what is imported late or compiled is not counted. `conpaas`
by its paper fits four models at each decision where others fit one or none: it is shown, without a
goal.
"""

from __future__ import annotations

import time
from functools import partial

from benchmarks.measure import Goal, Line, Result, best_of
from bursar.model.goal import Goal as RunGoal
from bursar.reproduce.autoscaling_setting import BOOT, WORKS, market_of, workload_of
from bursar.runs.scaling_study import ScalingSetting, policy_for, suited_placer
from bursar.simulate.scaled import ScaledRun, run_scaled

AUTOSCALERS = (
    "react",
    "adapt",
    "hist",
    "reg",
    "conpaas",
    "plan",
    "token",
    "forecast",
    "pfa",
    "plf",
    "scf",
)
COMPILED = ("react", "plan", "token")
PLACERS = ("backfill", "fdws", "fwp", "fes")
FITS_MOST = "conpaas:reading=paper"
MOST_SECONDS = 1.0
SEED = 43
FEW = 6
"""Works of the run that imports and compiles."""


def simulated(name: str, works: int, placer: str = "", *, by_engine: bool = False) -> ScaledRun:
    workload = workload_of("1", works, SEED)
    setting = ScalingSetting(market=market_of(BOOT), provisioners=(name,))
    policy = policy_for(workload, setting, name, placer or suited_placer(name))
    return run_scaled(workload, setting.market, RunGoal(), policy, seed=SEED, by_engine=by_engine)


def seconds_of(name: str, placer: str = "", *, by_engine: bool = False) -> float:
    began = time.process_time()
    run = simulated(name, WORKS, placer, by_engine=by_engine)
    taken = time.process_time() - began
    assert run.schedule.is_whole
    return taken


def _compared(name: str, placer: str, rounds: int) -> Line:
    """The compiled loop beside the engine alone."""
    rivals = {"loop": partial(seconds_of, name, placer)}
    rivals["engine"] = partial(seconds_of, name, placer, by_engine=True)
    best = best_of(rivals, rounds)
    ratio = best["engine"] / best["loop"]
    return Line(f"{name}, {placer}", 1000 * best["loop"], "ms", f"{ratio:.1f} times the engine")


def measure(rounds: int) -> Result:
    names = (*AUTOSCALERS, FITS_MOST)
    for name in names:
        simulated(name, FEW)
    tasks = len(workload_of("1", WORKS, SEED).arrays)
    best = best_of({name: partial(seconds_of, name) for name in names}, rounds)
    lines = [
        Line(name, 1000 * taken, "ms", f"{1e6 * taken / tasks:.0f} us a task")
        for name, taken in best.items()
    ]
    lines += [_compared(name, placer, rounds) for name in COMPILED for placer in PLACERS]
    goals = [Goal(name, best[name], "<=", MOST_SECONDS, "s") for name in AUTOSCALERS]
    return Result(f"Autoscalers: {WORKS} workflows, {tasks:,} tasks, 6.5 hours", lines, goals)
