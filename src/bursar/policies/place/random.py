"""`random`: a ready task chosen at random for every free slot, first come, first served.

Random order is what makes the first tasks a fair sample of the bag (BaTS thesis, chapter 2).
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from bursar.engine.roles import Placer
from bursar.model.time import Time
from bursar.policies.ready_by_account import ReadyByAccount
from bursar.state.actions import Start
from bursar.state.view import View


class RandomPlacer(Placer):
    def __init__(self) -> None:
        self._rng = Random(0)
        """that of the question which is answered"""
        self._by_account = ReadyByAccount(key=lambda task: self._rng.random())
        """used where there are several accounts: in an order that was drawn for each task"""

    def next_task(self, view: View, rng: Random) -> int | None:
        """None may wait where machines belong to several accounts."""
        return None if view.goal.accounts else self._any(view, rng)

    def _any(self, view: View, rng: Random) -> int:
        return view.ready[int(rng.random() * len(view.ready))]

    def place(self, view: View, now: Time, rng: Random) -> Iterable[Start]:
        ready, idle = view.ready, view.idle
        if not ready or not idle:
            return ()
        if view.goal.accounts:
            self._rng = rng
            self._by_account.look(view)
            return [s for n in idle for s in self._by_account.starts(view.machines[n])]
        if len(idle) == 1:
            machine = view.machines[idle[0]]
            if machine.offer.slots - len(machine.attempts) == 1:
                return (Start(self._any(view, rng), machine.id),)
        slots = [
            number
            for number in idle
            for _ in range(view.machines[number].offer.slots - len(view.machines[number].attempts))
        ]
        count = min(len(ready), len(slots))
        picks = rng.sample(range(len(ready)), count)
        return [Start(ready[pick], slot) for pick, slot in zip(picks, slots[:count], strict=True)]
