"""What befalls simulated attempts and machines: given, drawn or traced."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random

from bursar.model.time import Time
from bursar.state.events import Outcome
from bursar.state.view import Machine

Runtimes = Callable[[int, Machine], Time]
"""Run time of a task on a machine."""


def given(runtimes: Sequence[Time]) -> Runtimes:
    """Run times of the tasks on a machine of speed 1; others are proportionally faster."""
    return lambda task, machine: round(runtimes[task - 1] / machine.offer.speed)


def traced(runtimes: Mapping[str, Sequence[Time]]) -> Runtimes:
    """Run times of the tasks on each offer, as measured."""
    return lambda task, machine: runtimes[machine.offer.name][task - 1]


def with_transfers(runtimes: Runtimes, transfers: Sequence[Time]) -> Runtimes:
    """The same, and what the files of each task take on any machine."""
    return lambda task, machine: runtimes(task, machine) + transfers[task - 1]


def drawn(draw: Callable[[Random], Time], seed: int) -> Runtimes:
    """Run times on a machine of speed 1, drawn once a task and independent of the order."""

    def runtime(task: int, machine: Machine) -> Time:
        return max(1, round(draw(Random(f"{seed}/{task}")) / machine.offer.speed))

    return runtime


class ModelledBehaviour:
    """Attempts end as foreseen, machines boot as offered, and both may fail by chance."""

    def __init__(
        self,
        runtimes: Runtimes,
        *,
        failing: float = 0.0,
        mean_life: Mapping[str, Time] | None = None,
        notice: Time = 0,
        seed: int = 0,
    ) -> None:
        self._runtimes = runtimes
        self._failing = failing
        """probability that an attempt fails, at the end of its run time"""
        self._mean_life = mean_life or {}
        """by offer, the mean of an exponential life time; absent: machines last"""
        self._notice = notice
        self._rng = Random(seed)

    def attempt(
        self, task: int, attempt: int, machine: Machine, now: Time = 0
    ) -> tuple[Time, Outcome]:
        runtime = self._runtimes(task, machine)
        if self._failing and self._rng.random() < self._failing:
            return runtime, "failed"
        return runtime, "success"

    def boot(self, machine: Machine) -> Time | None:
        return machine.offer.boot

    def life(self, machine: Machine) -> Time | None:
        mean = self._mean_life.get(machine.offer.name)
        return None if mean is None else 1 + round(self._rng.expovariate(1 / mean))

    def notice(self, machine: Machine) -> Time:
        return self._notice
