"""A workflow as a picture: tasks in levels, ordered so that few edges cross, with their states.

Levels are longest paths from the first tasks. Within a level, tasks are ordered by the mean place
of their neighbours, in sweeps forth and back (Sugiyama and others 1981, the barycentre method).
Beyond some hundred tasks, those of a level and a kind are one node.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

import msgspec

from bursar.model.text import cut
from bursar.model.workflow import Workflow
from bursar.state.state import RunState
from bursar.state.task_status import TaskStatus

MOST_NODES: Final = 300
SWEEPS: Final = 12
MOST_GRAPHS: Final = 8
"""of a run with several workflows, the latest ..."""
MOST_WORKS: Final = 100
"""... of the latest works"""


class GraphNode(msgspec.Struct, frozen=True, omit_defaults=True):
    """One task, or several of a level and a kind."""

    label: str
    level: int
    place: float
    """within its level, from 0 to 1"""
    state: str
    """of the tasks: the one that matters most"""
    count: int = 1
    text: str = ""


class WorkflowGraph(msgspec.Struct, frozen=True):
    work: int
    """its number among the works of the run"""
    name: str
    tasks: int
    nodes: list[GraphNode]
    edges: list[tuple[int, int]]
    levels: list[str]
    """what each level has, in words"""
    widest: int
    states: dict[str, int]
    """tasks by state"""


_MATTERS: Final = ("failed", "blocked", "cancelled", "running", "ready", "waiting", "done")


def workflow_graphs(state: RunState) -> list[WorkflowGraph]:
    """The latest workflows of a run, in the order of their arrival."""
    found: list[WorkflowGraph] = []
    works = len(state.work)
    for number in range(works, max(0, works - MOST_WORKS), -1):
        flow = state.work[number - 1][1].workflow
        if flow is None:
            continue
        before = state.work.before(number - 1)
        states = [
            TaskStatus(state.status[before + index + 1]).name.lower() for index in range(flow.count)
        ]
        found.append(graph_of(flow, states, number))
        if len(found) == MOST_GRAPHS:
            break
    return found[::-1]


def graph_of(flow: Workflow, states: list[str], work: int = 1) -> WorkflowGraph:
    """A graph of tasks in these states; `work`: its number among those of the run."""
    level = levels_of(flow)
    group: list[int]
    if flow.count <= MOST_NODES:
        group = list(range(flow.count))
    else:
        keys: dict[tuple[int, int], int] = {}
        group = [
            keys.setdefault((level[task], flow.kinds[task]), len(keys))
            for task in range(flow.count)
        ]
    members: dict[int, list[int]] = {}
    for task, node in enumerate(group):
        members.setdefault(node, []).append(task)
    edges = sorted(
        {(group[p], group[task]) for task, row in enumerate(flow.parents) for p in row}
        - {(node, node) for node in members}
    )
    node_level = [level[tasks[0]] for tasks in members.values()]
    places, widest = _placed(node_level, edges)
    nodes = [
        GraphNode(
            label=cut(_label(flow, tasks), 40),
            level=node_level[node],
            place=places[node],
            state=next(one for one in _MATTERS if any(states[task] == one for task in tasks)),
            count=len(tasks),
            text=_text(flow, tasks, states),
        )
        for node, tasks in members.items()
    ]
    return WorkflowGraph(
        work=work,
        name=cut(flow.name, 80),
        tasks=flow.count,
        nodes=nodes,
        edges=edges,
        levels=_level_names(flow, level),
        widest=widest,
        states=dict(Counter(states)),
    )


def levels_of(flow: Workflow) -> list[int]:
    """The longest path to each task, in tasks."""
    children: list[list[int]] = [[] for _ in range(flow.count)]
    left = [len(row) for row in flow.parents]
    for task, row in enumerate(flow.parents):
        for parent in row:
            children[parent].append(task)
    level = [0] * flow.count
    queue = [task for task, count in enumerate(left) if not count]
    for task in queue:  # it grows
        for child in children[task]:
            level[child] = max(level[child], level[task] + 1)
            left[child] -= 1
            if not left[child]:
                queue.append(child)
    return level


def _placed(level: list[int], edges: list[tuple[int, int]]) -> tuple[list[float], int]:
    rows: list[list[int]] = [[] for _ in range(max(level, default=-1) + 1)]
    for node, depth in enumerate(level):
        rows[depth].append(node)
    above: dict[int, list[int]] = {}
    below: dict[int, list[int]] = {}
    for parent, child in edges:
        above.setdefault(child, []).append(parent)
        below.setdefault(parent, []).append(child)
    widest = max((len(row) for row in rows), default=1)
    place = [0.0] * len(level)

    def spread(row: list[int]) -> None:
        for index, node in enumerate(row):
            place[node] = 0.5 + (index - (len(row) - 1) / 2) / widest

    for row in rows:
        spread(row)
    for sweep in range(SWEEPS):
        near = above if sweep % 2 == 0 else below
        for row in rows if sweep % 2 == 0 else reversed(rows):
            row.sort(
                key=lambda node: _mean([place[one] for one in near.get(node, ())], place[node])
            )
            spread(row)
    return [round(one, 4) for one in place], widest


def _mean(values: list[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _label(flow: Workflow, tasks: list[int]) -> str:
    if len(tasks) == 1:
        return flow.names[tasks[0]]
    return f"{len(tasks):,} {flow.kind_names[flow.kinds[tasks[0]]]}"


def _text(flow: Workflow, tasks: list[int], states: list[str]) -> str:
    if len(tasks) == 1:
        return f"{cut(flow.names[tasks[0]], 60)}: {states[tasks[0]]}"
    counts = Counter(states[task] for task in tasks)
    return f"{_label(flow, tasks)}: " + ", ".join(f"{n:,} {name}" for name, n in counts.items())


def _level_names(flow: Workflow, level: list[int]) -> list[str]:
    kinds: list[Counter[str]] = [Counter() for _ in range(max(level, default=-1) + 1)]
    for task, row in enumerate(level):
        kinds[row][flow.kind_names[flow.kinds[task]]] += 1
    named = []
    for counts in kinds:
        parts = [cut(f"{n:,} {kind}" if n > 1 else kind, 24) for kind, n in counts.most_common(2)]
        named.append(", ".join(parts) + (", …" if len(counts) > 2 else ""))
    return named
