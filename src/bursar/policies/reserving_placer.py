"""One frame for the placers that reserve machines (sections 2.3.3 to 2.3.5).

Works are visited in the order of their arrival. Each starts what waits, a task at random, and keeps
idle machines up to its target, which is what it needs of the largest generation of eligible tasks
to come; what is then left goes to the next. A target is found again when a task of the work was
done. Machines are meant to be alike; the fastest are used first.

How long idle machines stay reserved is open in the thesis: `eager`, those of later works serve
earlier ones, or `lazy`, they stay until it is the turn of the work that has them.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import ClassVar, Literal

from bursar.kernels.placing_keys import RESERVE, by_arrival
from bursar.kernels.tokens import (
    MILLION,
    READINGS,
    kept_idle,
    largest_generation,
    scaled_target,
)
from bursar.model.time import Time
from bursar.policies.workload_placer import CompiledRule, WorkloadPlacer
from bursar.state.actions import Start
from bursar.state.ranked_works import RankedWork
from bursar.state.view import View

Tokens = Literal["gen", "stay", "echo"]
Life = Literal["eager", "lazy"]


class ReservingPlacer(WorkloadPlacer):
    """An entry says how deep it looks and what share of the largest generation it reserves."""

    needs_ranks: ClassVar[bool] = False

    def __init__(
        self,
        depth: int,
        share: float,
        tokens: Tokens,
        life: Life,
        seed: int | None,
    ) -> None:
        super().__init__()
        self._depth, self._share = depth, round(share * MILLION)
        self._reading, self._is_lazy = READINGS[tokens], life == "lazy"
        self.on_idle = self._is_lazy
        """machines that stay reserved depend on every completion before, not on tasks that wait"""
        self._seed = seed
        self._line: dict[int, RankedWork] = {}
        """by place, in the order of arrival: works that are not settled"""
        self._targets: dict[int, int] = {}
        """by place; absent: to be found out"""
        self._held: dict[int, int] = {}
        """by place: idle slots that are reserved"""

    @property
    def compiled(self) -> CompiledRule:
        return CompiledRule(
            RESERVE,
            reading=self._reading,
            depth=self._depth,
            share=self._share,
            lazy=self._is_lazy,
        )

    def seed_by(self, rng: Random) -> int:
        if self._seed is None:
            self._seed = rng.getrandbits(62)
        return self._seed

    def key(self, work: RankedWork, now: Time) -> float:
        return by_arrival()

    def place(self, view: View, now: Time, rng: Random) -> Iterable[Start]:
        self.seed_by(rng)
        changed, done = self._works.look(view)
        for work, _ in done:
            self._held[work.place] = self._held.get(work.place, 0) + 1
        for work in sorted(changed, key=lambda one: one.place):
            self._targets.pop(work.place, None)
            if not work.left:
                self._line.pop(work.place, None)
                self._held.pop(work.place, None)
            elif self._line.get(work.place) is not work:
                is_last = not self._line or next(reversed(self._line)) < work.place
                self._line[work.place] = work
                if not is_last:
                    self._line = dict(sorted(self._line.items()))
        return self._walk(view)

    def _walk(self, view: View) -> list[Start]:
        self._idle.look(view)
        starts: list[Start] = []
        free = _free_slots(view)
        if not self._is_lazy:
            self._held.clear()
        self._give_up(sum(self._held.values()) - free)
        free -= sum(self._held.values())
        for work in self._line.values():
            if not free and not self._held:
                break
            free += self._held.pop(work.place, 0)
            kept = kept_idle(work.waiting, work.running, self._target(work, view), free)
            while work.waiting and free > 0 and (machine := self._idle.first(view)) is not None:
                task = work.pick(self._seed or 0)
                starts.append(Start(task, machine.id))
                self._works.start(work, task)
                self._idle.use()
                free -= 1
            if kept:
                self._held[work.place] = kept
                free -= kept
        return starts

    def _give_up(self, slots: int) -> None:
        """Machines that were reserved have left: works that arrived last give theirs up first."""
        for place in sorted(self._held, reverse=True) if slots > 0 else ():
            lost = min(slots, self._held[place])
            self._held[place] -= lost
            slots -= lost

    def _target(self, work: RankedWork, view: View) -> int:
        if work.place not in self._targets:
            self._targets[work.place] = scaled_target(self._largest(work, view), self._share)
        return self._targets[work.place]

    def _largest(self, work: RankedWork, view: View) -> int:
        """The largest generation of what is left."""
        starts, children = work.children(view)
        scratch = [[0] * (work.tasks + 1) for _ in range(4)]
        missing = work.missing(view)
        return largest_generation(
            0, work.tasks, missing, starts, children, self._reading, self._depth, scratch
        )


def _free_slots(view: View) -> int:
    """Those of idle machines, which are looked at only if some have several."""
    if all(offer.slots == 1 for offer in view.market.offers):
        return len(view.idle)
    idle = map(view.machines.__getitem__, view.idle)
    return sum(machine.offer.slots - len(machine.attempts) for machine in idle)
