"""The side of SimPy in the benchmark of workloads: a script for an environment that has it alone.

It reads a workload as JSON from its input, simulates it as somebody would who has SimPy, and writes
the mean response and the seconds that it took. Each task is a process that requests one of the
machines, with a priority: workflows in the order of their arrival, in each the highest rank first.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from typing import Any


def main() -> None:
    given = json.load(sys.stdin)
    began = time.process_time()
    responses = WorkloadModel(given).run()
    taken = time.process_time() - began
    json.dump({"mean": sum(responses) / len(responses), "seconds": taken}, sys.stdout)


class WorkloadModel:
    def __init__(self, given: dict[str, Any]) -> None:
        simpy = import_module("simpy")
        self.env = simpy.Environment()
        self.machines = simpy.PriorityResource(self.env, capacity=given["machines"])
        self.arrived, self.first = given["arrived"], given["first"]
        self.work, self.runtimes, self.parents = given["work"], given["runtimes"], given["parents"]
        self.children: list[list[int]] = [[] for _ in self.runtimes]
        for task, parents in enumerate(self.parents):
            for parent in parents:
                self.children[parent].append(task)
        self.missing = [len(parents) for parents in self.parents]
        self.ranks = [0] * len(self.runtimes)
        self.left = [end - begin for begin, end in zip(self.first, self.first[1:], strict=False)]
        self.responses = [0.0] * len(self.arrived)

    def run(self) -> list[float]:
        self.env.process(self.arrive())
        self.env.run()
        return self.responses

    def arrive(self) -> Iterator[Any]:
        for work, at in enumerate(self.arrived):
            yield self.env.timeout(at - self.env.now)
            tasks = range(self.first[work], self.first[work + 1])
            for task in reversed(tasks):
                below = max((self.ranks[child] for child in self.children[task]), default=0)
                self.ranks[task] = self.runtimes[task] + below
            self.submit([task for task in tasks if not self.missing[task]])

    def submit(self, tasks: list[int]) -> None:
        """The highest rank first, as it may get a machine at once."""
        for task in sorted(tasks, key=lambda one: -self.ranks[one]):
            priority = (self.work[task], -self.ranks[task], task)
            self.env.process(self.execute(task, self.machines.request(priority=priority)))

    def execute(self, task: int, request: Any) -> Iterator[Any]:
        yield request
        yield self.env.timeout(self.runtimes[task])
        for child in self.children[task]:
            self.missing[child] -= 1
        self.submit([child for child in self.children[task] if not self.missing[child]])
        self.machines.release(request)
        work = self.work[task]
        self.left[work] -= 1
        if not self.left[work]:
            self.responses[work] = self.env.now - self.arrived[work]


if __name__ == "__main__":
    main()
