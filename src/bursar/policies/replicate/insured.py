"""`insured`: as `stochastic-random`, but first a second chance for what may be lost.

With little money left, machines leave while tasks run on them. The thesis replicates to end sooner
only, so such a task is begun again once it is lost, when there may be no paid time for it. Here an
idle machine that stays long enough runs a replica of it in time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from random import Random
from typing import Final

from bursar.beliefs.unified import UnifiedRuntimes
from bursar.engine.roles import Provisioner
from bursar.model.time import Time
from bursar.policies.replicate.stochastic_random import StochasticRandom
from bursar.policies.replicate.tail import is_live
from bursar.state.actions import Cancel, Start, Wake
from bursar.state.view import Attempt, Machine, View

LONGER: Final = 0.5
"""A task may take longer than expected by this share."""


class Insured(StochasticRandom):
    def __init__(self, provisioner: Provisioner, knowledge: UnifiedRuntimes | None = None) -> None:
        super().__init__(knowledge)
        self._provisioner = provisioner
        """which knows how long machines stay"""

    def replicate(self, view: View, now: Time, rng: Random) -> Iterable[Start | Cancel | Wake]:
        insured = list(self._insured(view, now))
        if insured:
            return insured  # what is idle after that is asked again at the next event
        return super().replicate(view, now, rng)

    def _insured(self, view: View, now: Time) -> Iterator[Start]:
        """A replica of each task at risk, on the idle machine that stays longest."""
        free = sorted(
            (view.machines[number] for number in view.idle),
            key=lambda machine: (-self._provisioner.stays_until(machine), machine.id),
        )
        slots = [m for m in free for _ in range(m.offer.slots - len(m.attempts))]
        for task in self._at_risk(view, now):
            for machine in slots:
                if self._may_end(view.attempts[view.attempts_of(task)[0]], machine, now):
                    slots.remove(machine)
                    yield Start(
                        task, machine.id, reason="its machine may be released before it ends"
                    )
                    break

    def _at_risk(self, view: View, now: Time) -> list[int]:
        """Tasks none of whose attempts is sure to end while its machine stays."""
        tasks: dict[int, bool] = {}
        for attempt in view.attempts.values():
            if is_live(attempt):
                late = self._time(attempt, attempt.machine, now) * (1 + LONGER)
                safe = attempt.started + late <= self._provisioner.stays_until(attempt.machine)
                tasks[attempt.task] = tasks.get(attempt.task, False) or safe
        return [task for task, safe in tasks.items() if not safe and view.may_replicate(task)]

    def _may_end(self, attempt: Attempt, machine: Machine, now: Time) -> bool:
        """Whether the attempt's task, begun there now, is expected to end in time."""
        return now + self._time(attempt, machine, now) <= self._provisioner.stays_until(machine)

    def _time(self, attempt: Attempt, machine: Machine, now: Time) -> Time:
        """What the attempt's task is expected to take on a machine; 0 where nothing is known."""
        elapsed, source = now - attempt.started, attempt.machine.offer.name
        return self.knowledge.expected_total(source, elapsed, on=machine.offer.name) or 0
