"""`assigned`: each task to a machine of the offer that it is meant for, the most urgent first.

Without a plan, every task may go to every machine.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from bursar.engine.roles import Placer, Provisioner
from bursar.model.time import Time
from bursar.policies.assigned_work import AssignedWork
from bursar.policies.provision.prob import Prob
from bursar.state.actions import Start
from bursar.state.events import AnyEvent
from bursar.state.view import Machine, View


class AssignedPlacer(Placer):
    """With `prob`, which keeps the same queues, they are kept once."""

    def __init__(self, provisioner: Provisioner | None = None) -> None:
        self._is_shared = isinstance(provisioner, Prob)
        self.work = provisioner.work if isinstance(provisioner, Prob) else AssignedWork()

    def saw(self, event: AnyEvent, state: View) -> None:
        if not self._is_shared:
            self.work.saw(event, state)

    def saw_before(self, view: View) -> None:
        if not self._is_shared:
            self.work.saw_before(view)

    def place(self, view: View, now: Time, rng: Random) -> Iterable[Start]:
        """The oldest machines first, so that the youngest get idle and can be given back."""
        starts: list[Start] = []
        work = self.work
        work.look(view)
        while (machine := self._next(view)) is not None:
            free = machine.offer.slots - len(machine.attempts)
            for offer in (machine.offer.name, None):
                while free and (task := work.ready.take(offer)) is not None:
                    starts.append(Start(task, machine.id))
                    free -= 1
            if not free:
                work.idle.take(machine)
        return starts

    def _next(self, view: View) -> Machine | None:
        """The oldest machine for which something is ready."""
        work = self.work
        offers = work.idle.offers()
        if not work.ready.count(None):
            offers = [offer for offer in offers if work.ready.count(offer)]
        return work.idle.oldest(offers, view)
