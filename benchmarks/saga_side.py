"""The side of SAGA in the HEFT benchmark: a script for an environment that has it and not bursar.

It reads problems as JSON from its input, and writes for each the makespan and the seconds that
planning took.
"""

from __future__ import annotations

import json
import sys
import time
from importlib import import_module
from typing import Any


def main() -> None:
    asked = json.load(sys.stdin)
    json.dump([plan(each, asked["pace"]) for each in asked["problems"]], sys.stdout)


def plan(problem: dict[str, Any], pace: float) -> dict[str, float]:
    saga: Any = import_module("saga")
    scheduler: Any = import_module("saga.schedulers.heft").HeftScheduler()
    names = [f"n{number}" for number in range(len(problem["speeds"]))]
    pairs = [(one, two, 1 / pace) for one in names for two in names if one < two]
    network = saga.Network.create(zip(names, problem["speeds"], strict=True), pairs)
    volumes = iter(problem["volumes"])
    moves = [
        (f"t{parent}", f"t{task}", next(volumes))
        for task, row in enumerate(problem["parents"])
        for parent in row
    ]
    costs = [(f"t{task}", cost) for task, cost in enumerate(problem["costs"])]
    graph = saga.TaskGraph.create(costs, moves)
    began = time.perf_counter()
    makespan = float(scheduler.schedule(network, graph).makespan)
    return {"makespan": makespan, "seconds": time.perf_counter() - began}


if __name__ == "__main__":
    main()
