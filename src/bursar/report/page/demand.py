"""Demand over time: slots that ready and running tasks could use.

The state notes it every few seconds, which is enough for a policy and too coarse for the page of a
short run. Of a single bag or workflow that is not large, the attempts tell it exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from bursar.model.time import SECOND, Time
from bursar.model.workflow import Workflow
from bursar.report.page.series import AttemptColumns, Ints, Steps, noted_series, thinned
from bursar.state.state import RunState

MOST_TASKS: Final = 20_000
"""of which each is looked at"""
_NEVER: Final = -1


def demand_series(state: RunState, columns: AttemptColumns, now: Time) -> Steps:
    exact = _exact(state, columns, now) if _is_simple(state) else None
    return noted_series(state.demand.whole, now) if exact is None else exact


def _is_simple(state: RunState) -> bool:
    return len(state.work) == 1 and 0 < state.total <= MOST_TASKS and not state.cancelled


def _exact(state: RunState, columns: AttemptColumns, now: Time) -> Steps | None:
    """From when a task is ready to when it is settled; None: the state says otherwise."""
    won = np.full(state.total + 1, _NEVER, dtype=np.int64)
    won[columns.task[columns.is_winner]] = columns.ended[columns.is_winner]
    settled = won.copy()
    for task, failure in state.failed_tasks.items():
        settled[task] = state.log.ended[failure.attempt]
    ready = np.full(state.total + 1, state.work.arrived(0), dtype=np.int64)
    tasks = state.work[0][1].tasks
    if isinstance(tasks, Workflow):
        _wait_for_parents(ready, won, tasks.parents)
    wants = ready != _NEVER
    wants[0] = False
    begins, ends = ready[wants], settled[wants & (settled != _NEVER)]
    times = np.concatenate(([0], begins, ends))
    changes = np.concatenate(([0], np.ones(len(begins)), -np.ones(len(ends))))
    order = np.argsort(times, kind="stable")
    count = np.cumsum(changes[order])
    if count[-1] != state.demand.now():
        return None
    return thinned(np.append(times[order], now) / SECOND, np.append(count, count[-1]))


def _wait_for_parents(ready: Ints, won: Ints, parents: Sequence[Sequence[int]]) -> None:
    """A task is ready when the last of those that it needs is done."""
    for task, row in enumerate(parents, 1):
        if len(row):
            ends = won[np.asarray(row, dtype=np.int64) + 1]
            ready[task] = _NEVER if (ends == _NEVER).any() else ends.max()
