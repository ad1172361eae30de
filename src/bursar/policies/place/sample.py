"""`sample`: the replicated tasks first, on every offer; then tasks chosen at random.

Placement of the decoupled sampling phase (BaTS thesis, figure 3.2). Once the sample is complete, a
task is started only where its mean run time still fits in the paid time.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from bursar.beliefs.samples import REPLICATED, SampleLog
from bursar.engine.roles import Placer
from bursar.model.time import Time
from bursar.state.actions import Start
from bursar.state.view import Machine, View


class SamplePlacer(Placer):
    def __init__(self, sample_log: SampleLog, size: int) -> None:
        self.sample_log = sample_log
        self.size = size

    def place(self, view: View, now: Time, rng: Random) -> Iterable[Start]:
        if not view.idle:
            return []
        complete = self.sample_log.is_complete(view.market.offers, self.size, view.total)
        fresh = list(view.ready)
        chosen = list(self.sample_log.replicated)
        given: set[tuple[str, int]] = set()
        starts: list[Start] = []
        for number in view.idle:
            machine = view.machines[number]
            for _ in range(machine.offer.slots - len(machine.attempts)):
                start = self._next(machine, fresh, chosen, given, now, rng, complete=complete)
                if start is not None:
                    starts.append(start)
        return starts

    def _next(
        self,
        machine: Machine,
        fresh: list[int],
        chosen: list[int],
        given: set[tuple[str, int]],
        now: Time,
        rng: Random,
        *,
        complete: bool,
    ) -> Start | None:
        """A replicated task that this offer lacks, a new one to replicate, or any task."""
        offer = machine.offer.name
        for task in chosen:
            if self.sample_log.lacks(offer, task) and (offer, task) not in given:
                given.add((offer, task))
                if task in fresh:
                    fresh.remove(task)
                return Start(task, machine.id, "to compare offers", measure=True)
        mean = self.sample_log.mean(offer)
        if not fresh or (complete and (mean is None or now + mean > machine.until)):
            return None
        position = int(rng.random() * len(fresh))
        fresh[position], fresh[-1] = fresh[-1], fresh[position]
        task = fresh.pop()
        if len(chosen) < REPLICATED:
            chosen.append(task)
            given.add((offer, task))
            return Start(task, machine.id, "to compare offers", measure=True)
        return Start(task, machine.id)
