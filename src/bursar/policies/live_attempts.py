"""Which attempts count: whether one may still give a result, and whether a machine runs such."""

from __future__ import annotations

from bursar.state.view import Attempt, Machine, View


def is_live(attempt: Attempt) -> bool:
    """Whether an attempt may still give its task's result."""
    return not (attempt.cancelling or attempt.measure or attempt.machine.releasing)


def deserves(machine: Machine, view: View) -> bool:
    """Whether a machine runs more than replicas: the oldest live attempt of some task."""
    for number in machine.attempts:
        task = view.attempts[number].task
        live = [n for n in view.attempts_of(task) if is_live(view.attempts[n])]
        if view.attempts[number].measure or (live and live[0] == number):
            return True
    return False
