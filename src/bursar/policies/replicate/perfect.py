"""`perfect`: replicas by true run times, which only a simulation knows (BaTS thesis, section 5.2).

The best that choosing tasks for replicas can do: a mark to measure the others by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random

from bursar.engine.roles import Replicator
from bursar.model.time import Time
from bursar.policies.replicate.tail import longest, replicas, swiftest
from bursar.state.actions import Cancel, Start, Wake
from bursar.state.view import Attempt, Machine, View


class Perfect(Replicator):
    """`runtimes` tells how long a task takes on a machine."""

    def __init__(self, runtimes: Callable[[int, Machine], Time]) -> None:
        self._runtimes = runtimes

    def replicate(self, view: View, now: Time, rng: Random) -> Iterable[Start | Cancel | Wake]:
        targets = swiftest(view, lambda machine: -machine.offer.speed)
        return list(replicas(targets, longest(view, self, now)))

    def remaining(self, attempt: Attempt, now: Time) -> Time:
        return attempt.started + self._runtimes(attempt.task, attempt.machine) - now

    def elsewhere(self, attempt: Attempt, machine: Machine, now: Time) -> Time:
        return self._runtimes(attempt.task, machine)
