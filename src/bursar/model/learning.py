"""What is expected of tasks and works, by those that have ended: plain sums, and their ratios.

Times are whole microseconds at speed 1. Plain functions, which are called by beliefs and compiled
for kernels.
"""

from __future__ import annotations

from typing import Final

UNKNOWN_TIME: Final = 1_000_000
"""what every task takes of which nothing is known: ranks then count tasks"""
PRIOR: Final = 3


def kind_mean(took: int, count: int, all_took: int, all_count: int) -> int:
    """What a task is expected to take, by those of its kind, else by all that have ended."""
    if count > 0:
        return took // count
    return all_took // all_count if all_count > 0 else UNKNOWN_TIME


def size_class(total: int) -> int:
    """Works of one class are expected to take the same, within a factor of 2."""
    found = 0
    while total > 0:
        total >>= 1
        found += 1
    return found


def first_correction(took: int, expected: int) -> float:
    """What works of a class take by what was expected, as far as those that ended tell."""
    return took / expected if took > 0 and expected > 0 else 1.0


def correction(first: float, took: int, expected: int, total: int, tasks: int) -> float:
    """What a work takes by what was expected when it arrived, by its tasks that have ended.

    They count beside three of its tasks that took what works of its class take.
    """
    prior = PRIOR * (total // tasks)
    return (prior * first + took) / (prior + expected) if prior + expected > 0 else 1.0


PARTS: Final = (kind_mean, size_class, first_correction, correction)
"""what the compiler is to know"""
