"""A million tasks on a thousand machines in the simulated world: time and memory.

The engine, the guard and the policies are those of a real run; only the world is simulated. It runs
in a process of its own, whose largest resident set is the memory that counts. It has one thread and
waits for nothing, so its processor time is what the clock shows on a machine that has nothing else
to do.

Where the time goes, as shares that a profile of 50,000 tasks tells: a task has two events and one
action, which take about 50 calls of Python functions. Applying the events takes 43 % (the log of
attempts, free slots, ready tasks, demand over time, what changed), the loop 23 %, the simulated
world with its agenda and run times 15 %, the guard and its look at what an action is made of 13 %,
and the policy 6 %. No part of it is large: to be much faster, whole runs would have to be compiled,
as kernels do (`bursar.kernels`).
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from random import Random

from benchmarks.measure import Goal, Line, Result

TASKS = 1_000_000
FLEET = {"small": 600, "large": 400}
BUDGET = "10000"
MOST_SECONDS = 18.0
MOST_GIGABYTES = 1.5
MARKET = """
[[offer]]
name = "small"
price = "0.08"
limit = 600

[[offer]]
name = "large"
price = "0.24"
limit = 400
boot = "90s"
speed = 2.5
"""


def measure(rounds: int) -> Result:
    del rounds  # one is enough: the bound is far, and the run is long
    words = [sys.executable, "-m", __name__]
    found = json.loads(subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout)
    seconds, memory = found["clock"], found["gigabytes"]
    return Result(
        title=f"{TASKS:,} tasks on {sum(FLEET.values()):,} machines, simulated",
        lines=[
            Line("by the clock", seconds, "s", f"{TASKS / seconds:,.0f} tasks a second"),
            Line("processor time", found["seconds"], "s"),
            Line("memory", memory, "GB", "largest resident set"),
        ],
        goals=[
            Goal("by the clock", seconds, "<=", MOST_SECONDS, "s"),
            Goal("memory", memory, "<=", MOST_GIGABYTES, "GB"),
        ],
    )


def _simulate() -> dict[str, float]:
    began = time.perf_counter()
    from bursar.formats.market import parse_market
    from bursar.model.goal import Goal as RunGoal
    from bursar.model.money import Money
    from bursar.model.time import MINUTE
    from bursar.model.work import Bag
    from bursar.policies.registry import make_policy
    from bursar.simulate.faults import ModelledBehaviour, given
    from bursar.simulate.run import simulate

    rng = Random(0)
    runtimes = [rng.randrange(MINUTE, 10 * MINUTE) for _ in range(TASKS)]
    state = simulate(
        parse_market(MARKET),
        RunGoal(budget=Money.parse(BUDGET)),
        Bag(count=TASKS),
        make_policy(options={"provisioner": {"fleet": FLEET}}),
        ModelledBehaviour(given(runtimes)),
    )
    if state.done != TASKS:
        raise SystemExit(f"only {state.done:,} tasks are done")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "seconds": time.process_time(),
        "clock": time.perf_counter() - began,
        "gigabytes": peak * 1024 / 1e9,
    }


if __name__ == "__main__":
    print(json.dumps(_simulate()))
