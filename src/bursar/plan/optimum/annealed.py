"""A better schedule by changing a list of tasks at random, many thousand times a second."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, isfinite
from typing import Final

import numpy as np

from bursar.kernels.slotted_list import ListedTasks, compiled, new_placing
from bursar.plan.optimum.slotted import (
    Aim,
    Placed,
    SlottedSchedule,
    SlottedWorkload,
    completions,
    cost_of,
    problems,
)

SPEED: Final = 3_000_000
"""Tasks that are placed in a second, roughly, on one processor."""
STEPS: Final = 12_000
"""Changes in one attempt."""


def annealed(
    instance: SlottedWorkload,
    aim: Aim,
    start: SlottedSchedule,
    *,
    seconds: float,
    left: Callable[[], float] = lambda: inf,
    seed: int = 0,
) -> SlottedSchedule:
    """The best of several attempts, or the start; as many as the time allows, roughly.

    Each aims at first at the ends that works have in the best schedule so far.

    The result depends on the seed and the time given, not on the speed of the computer, unless the
    seconds that are `left` by a clock run out: then no further attempt begins.
    """
    tasks, count = _listed(instance, aim), len(instance.tasks)
    changes = int(seconds * SPEED / max(1, count))
    best = start
    while changes > 0 and left() > 0:
        steps = STEPS if changes >= 2 * STEPS else changes
        aims = np.array(completions(instance, best), np.float64)
        bound, found = np.full(count, -1, np.int64), np.zeros((count, 2), np.int64)
        lists = np.array(instance.tails, np.float64), aims, bound
        cost = compiled()(tasks, new_placing(tasks), *lists, found, steps, seed)
        if isfinite(cost):
            schedule = [Placed(int(offer), int(slot)) for slot, offer in found]
            if cost_of(instance, schedule, aim) < cost_of(instance, best, aim):
                best = schedule
        changes, seed = changes - steps, seed + 1
    assert best is start or not problems(instance, best)  # noqa: S101
    return best


def _listed(instance: SlottedWorkload, aim: Aim) -> ListedTasks:
    parents = [task.parents for task in instance.tasks]
    return ListedTasks(
        work=_numbers([task.work for task in instance.tasks]),
        takes=np.array([task.takes for task in instance.tasks], np.int64),
        parents_start=_starts(parents),
        parents=_numbers([one for row in parents for one in row]),
        arrivals=_numbers(instance.arrivals),
        free=_numbers(instance.arrivals if aim == "response" else instance.ends),
        late=0 if aim == "response" else 1,
        limit=_numbers([offer.limit for offer in instance.offers]),
        price=_numbers([offer.price for offer in instance.offers]),
        budget=min(instance.budget, sum(o.limit * o.price for o in instance.offers)),
        interval=instance.interval,
        slots=instance.horizon,
    )


def _numbers(values: Sequence[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, np.int64)


def _starts(rows: Sequence[Sequence[int]]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return _numbers([0, *np.cumsum([len(row) for row in rows]).tolist()])
