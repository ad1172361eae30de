"""A workflow of 1,000,000 tasks: written task by task, checked and built, and ranked.

Each round runs in a process of its own, so that its memory is its own. What the tasks need is drawn
before the clock starts. WfFormat is read from an instance that is made up here.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from random import Random
from typing import Final

import msgspec

from benchmarks.measure import Goal, Line, Result

TASKS: Final = 1_000_000
PARENTS: Final = 2
NEAR: Final = 1_000
"""a task needs others among so many before it"""
INSTANCE: Final = 20_000
MOST_SECONDS: Final = 5.0
MOST_GIGABYTES: Final = 1.0
LEAST_MEGABYTES: Final = 20.0


class Taken(msgspec.Struct, frozen=True):
    """Seconds, and gigabytes in memory at most."""

    written: float
    built: float
    ranked: float
    memory: float
    megabytes_a_second: float

    @property
    def whole(self) -> float:
        return self.written + self.built + self.ranked


def measure(rounds: int) -> Result:
    found = [_in_a_process() for _ in range(rounds)]
    best = min(found, key=lambda taken: taken.whole)
    return Result(
        title=f"a workflow of {TASKS:,} tasks and about {PARENTS * TASKS:,} edges",
        lines=[
            Line("written task by task", best.written, "s"),
            Line("checked and built", best.built, "s"),
            Line("levels and ranks", best.ranked, "s"),
        ],
        goals=[
            Goal("all of it", best.whole, "<=", MOST_SECONDS, "s"),
            Goal("memory", best.memory, "<=", MOST_GIGABYTES, "GB"),
            Goal(
                f"reading WfFormat, {INSTANCE:,} tasks",
                max(taken.megabytes_a_second for taken in found),
                ">=",
                LEAST_MEGABYTES,
                "MB/s",
            ),
        ],
    )


def _in_a_process() -> Taken:
    found = subprocess.run([sys.executable, "-m", __name__], stdout=subprocess.PIPE, check=True)
    return msgspec.json.decode(found.stdout, type=Taken)


def _once() -> Taken:
    from bursar.model.workflow_builder import WorkflowBuilder
    from bursar.plan.workflow.shape import levels, upward_ranks

    names, needs = _drawn()
    began = time.perf_counter()
    flow = WorkflowBuilder("large")
    for name, needed in zip(names, needs, strict=True):
        flow.task(name, needs=needed, runtime=1.5)
    written = time.perf_counter()
    dag = flow.build()
    built = time.perf_counter()
    levels(dag)
    upward_ranks(dag)
    ranked = time.perf_counter()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    return Taken(written - began, built - written, ranked - built, memory, _reading())


def _drawn() -> tuple[list[str], list[tuple[str, ...]]]:
    rng = Random(0)
    names = [f"align-{task}" for task in range(TASKS)]
    needs: list[tuple[str, ...]] = [()]
    for task in range(1, TASKS):
        near = min(task, NEAR)
        needs.append(tuple(names[task - 1 - int(rng.random() * near)] for _ in range(PARENTS)))
    return names, needs


def _reading() -> float:
    """Megabytes of WfFormat in a second."""
    from bursar.formats.wfformat import parse_wfformat, write_wfformat
    from bursar.model.workflow_builder import WorkflowBuilder

    flow = WorkflowBuilder("instance")
    for task in range(INSTANCE):
        flow.task(
            f"align_{task}",
            run=["./align", "--reference", "genome.fa", f"part-{task}.fa"],
            needs=[f"align_{task // 2}"] if task else (),
            reads={f"part-{task}.fa": 1000, "genome.fa": 10**9},
            writes={f"part-{task}.bam": 2000},
            runtime=60.0,
        )
    data = write_wfformat(flow.build())
    began = time.perf_counter()
    parse_wfformat(data)
    return len(data) / 1e6 / (time.perf_counter() - began)


if __name__ == "__main__":
    print(msgspec.json.encode(_once()).decode())
