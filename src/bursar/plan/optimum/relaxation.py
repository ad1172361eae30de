"""What no schedule can be better than: tasks may be cut into parts that run at different times.

A linear programme, indexed by slots: how much of each task begins where and when; how much of it is
over bounds how much of its children has begun; machines may be active in part. Its least cost is a
bound for every whole schedule.
"""

from __future__ import annotations

from math import ceil
from typing import Any, Final

import msgspec
import numpy as np

from bursar.model.errors import InputError
from bursar.plan.optimum.slotted import Aim, SlottedWorkload

ROUNDING: Final = 1e-6
"""Below which a part of a slot is taken for an error of rounding."""
INSTALL: Final = "the optimum needs OR-tools; install it: pip install 'bursar[optimum]'"


class Relaxed(msgspec.Struct, frozen=True):
    """The least cost of the relaxation, rounded up."""

    bound: int | None
    """None: not found in the time that was given"""
    seconds: float
    """that it took"""


def relaxed_bound(instance: SlottedWorkload, aim: Aim, *, seconds: float) -> Relaxed:
    """Solve the relaxation, for so long at most."""
    try:
        from ortools.linear_solver.python import model_builder  # late: it is an extra
    except ImportError:
        raise InputError(INSTALL) from None
    model: Any = model_builder.Model()  # type: ignore[no-untyped-call]
    begun, over = _parts(model, instance)
    for number, task in enumerate(instance.tasks):
        for parent in task.parents:
            for slot in range(instance.earliest[number], instance.horizon):
                if begun[number][slot] is not None:
                    model.add(begun[number][slot] <= over[parent][slot])
    model.minimize(_cost(model, instance, aim, over))
    solver = model_builder.Solver("GLOP")
    solver.set_time_limit_in_seconds(seconds)
    is_solved = solver.solve(model) == model_builder.SolveStatus.OPTIMAL
    bound = ceil(solver.objective_value - ROUNDING) if is_solved else None
    return Relaxed(bound, solver.wall_time)


def _parts(model: Any, instance: SlottedWorkload) -> tuple[list[list[Any]], list[list[Any]]]:
    """By task and slot, how much of it has begun by then, and how much of it is over before."""
    busy: list[list[list[Any]]] = [[[] for _ in range(instance.horizon)] for _ in instance.offers]
    begun: list[list[Any]] = []
    over: list[list[Any]] = []
    for number, task in enumerate(instance.tasks):
        first = instance.earliest[number]
        last = instance.horizon - instance.tails[number]
        starts: list[list[Any]] = [[] for _ in range(instance.horizon + 1)]
        ends: list[list[Any]] = [[] for _ in range(instance.horizon + 1)]
        every = []
        for offer, takes in enumerate(task.takes):
            for slot in range(first, min(last, instance.horizon - takes) + 1):
                part = model.new_num_var(0, 1, f"x{number}.{offer}.{slot}")
                every.append(part)
                starts[slot].append(part)
                ends[slot + takes].append(part)
                for used in range(slot, slot + takes):
                    busy[offer][used].append(part)
        model.add(sum(every) == 1)
        begun.append(_running(model, starts, instance.horizon, f"b{number}"))
        over.append(_running(model, ends, instance.horizon, f"o{number}"))
    _machines(model, instance, busy)
    return begun, over


def _running(model: Any, parts: list[list[Any]], horizon: int, name: str) -> list[Any]:
    """The sum of all parts up to each slot; 0 before the first."""
    found: list[Any] = []
    so_far: Any = 0
    for slot in range(horizon + 1):
        if parts[slot]:
            total = model.new_num_var(0, 1, f"{name}.{slot}")
            model.add(total == so_far + sum(parts[slot]))
            so_far = total
        found.append(so_far)
    return found


def _machines(model: Any, instance: SlottedWorkload, busy: list[list[list[Any]]]) -> None:
    counts = [
        [model.new_num_var(0, offer.limit, f"y{n}.{m}") for m in range(instance.intervals)]
        for n, offer in enumerate(instance.offers)
    ]
    for number in range(len(instance.offers)):
        for slot, parts in enumerate(busy[number]):
            if parts:
                model.add(sum(parts) <= counts[number][slot // instance.interval])
    prices = np.array([offer.price for offer in instance.offers])
    for interval in range(instance.intervals):
        paid = sum(int(p) * row[interval] for p, row in zip(prices, counts, strict=True))
        model.add(paid <= instance.budget)


def _cost(model: Any, instance: SlottedWorkload, aim: Aim, over: list[list[Any]]) -> Any:
    """Slots in which each work is not over, counted in parts, and for `lateness` one if it is late.

    What is over of a work by a slot is at most what is over of each of its last tasks.
    """
    whole: Any = 0
    for work, arrival in enumerate(instance.arrivals):
        begin = arrival if aim == "response" else instance.ends[work]
        lasts = [
            number
            for number, task in enumerate(instance.tasks)
            if task.work == work and not instance.children[number]
        ]
        for slot in range(begin, instance.horizon):
            if slot < instance.ends[work]:
                whole += 1
                continue
            missing = model.new_num_var(0, 1, f"m{work}.{slot}")
            for number in lasts:
                model.add(missing >= 1 - over[number][slot])
            whole += missing
            if slot == instance.ends[work] and aim == "lateness":
                whole += missing  # one more, if it is late at all
    return whole
