"""A good schedule at once: lists of tasks on every fleet that the budget pays, the best kept.

The exact search begins with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from bursar.plan.optimum.slotted import (
    Aim,
    Placed,
    SlottedSchedule,
    SlottedWorkload,
    cost_of,
    maximal_fleets,
)

Rule = Callable[[SlottedWorkload, int], tuple[int, ...]]
"""What tasks are sorted by; the least comes first."""

RULES: Final[tuple[Rule, ...]] = (
    lambda instance, task: (instance.arrivals[instance.tasks[task].work], -instance.tails[task]),
    lambda instance, task: (-instance.tails[task],),
    lambda instance, task: (
        instance.ends[instance.tasks[task].work],
        -instance.tails[task],
    ),
)
MOST_FLEETS: Final = 400
"""Fleets that are tried; of more, those that leave least money over."""


def greedy(instance: SlottedWorkload, aim: Aim) -> SlottedSchedule | None:
    """The best of many lists; None: none of them ends in time."""
    best: SlottedSchedule | None = None
    for fleet in maximal_fleets(instance)[:MOST_FLEETS]:
        for rule in RULES:
            order = sorted(range(len(instance.tasks)), key=lambda task: rule(instance, task))
            found = _list(instance, fleet, order)
            if found is not None and (
                best is None or cost_of(instance, found, aim) < cost_of(instance, best, aim)
            ):
                best = found
    return best


def _list(
    instance: SlottedWorkload, fleet: tuple[int, ...], order: list[int]
) -> SlottedSchedule | None:
    """Slot by slot, the first of the list that is ready gets the machine on which it ends first."""
    placed: dict[int, Placed] = {}
    ends: dict[int, int] = {}
    free = list(fleet)
    releases: dict[int, list[int]] = {}
    waiting = order
    for slot in range(instance.horizon):
        for offer in releases.pop(slot, ()):
            free[offer] += 1
        if not waiting:
            break
        if not any(free):
            continue
        later: list[int] = []
        for number in waiting:
            task = instance.tasks[number]
            is_ready = slot >= instance.arrivals[task.work] and all(
                ends.get(parent, instance.horizon + 1) <= slot for parent in task.parents
            )
            offers = [offer for offer, count in enumerate(free) if count] if is_ready else []
            if not offers:
                later.append(number)
                continue
            offer = min(offers, key=lambda one: (task.takes[one], instance.offers[one].price))
            free[offer] -= 1
            placed[number] = Placed(offer, slot)
            ends[number] = slot + task.takes[offer]
            releases.setdefault(ends[number], []).append(offer)
        waiting = later
    is_over = not waiting and all(end <= instance.horizon for end in ends.values())
    return [placed[number] for number in range(len(instance.tasks))] if is_over else None
