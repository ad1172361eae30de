"""`at-risk`: as `stochastic-random`, but first a second chance for what may be lost.

With little money left, machines leave while tasks run on them. The thesis replicates to end sooner
only, so such a task is begun again once it is lost, when there may be no paid time for it. Here an
idle machine that stays long enough runs a replica of it in time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from random import Random
from typing import Final

import numpy as np

from bursar.beliefs.unified import UnifiedRuntimes
from bursar.engine.roles import Provisioner
from bursar.model.market import have_in_common
from bursar.model.time import FOREVER, Time
from bursar.policies.columns import Integers, Truths
from bursar.policies.machine_slots import MachineSlots
from bursar.policies.replicate.stochastic_random import StochasticRandom
from bursar.policies.replicate.tail import Expected
from bursar.state.actions import Cancel, Start, Wake
from bursar.state.view import Machine, View

LONGER: Final = 0.5
"""A task may take longer than expected by this share."""


class AtRisk(StochasticRandom):
    def __init__(self, provisioner: Provisioner, knowledge: UnifiedRuntimes | None = None) -> None:
        super().__init__(knowledge)
        self._provisioner = provisioner
        """which knows how long machines stay"""
        self.slots = MachineSlots(provisioner)
        self._expectation: Expected | None = None
        """at the moment at which it was last asked"""

    def replicate(self, view: View, now: Time, rng: Random) -> Iterable[Start | Cancel | Wake]:
        self.slots.look(view)
        self.idle.look(view)
        may_be_lost = self._may_be_lost(now)
        if not (may_be_lost or self._is_any_faster(view)):
            return ()
        self.live.look(view)
        self._expectation = super()._expected(view, now)
        replicas = list(self._replicas(view, now)) if may_be_lost else ()
        if replicas:
            return replicas  # what is idle after that is asked again at the next event
        return self._sooner_elsewhere(view, now, rng)

    def _expected(self, view: View, now: Time) -> Expected:
        """Found once for both questions."""
        return self._expectation or super()._expected(view, now)

    def _replicas(self, view: View, now: Time) -> Iterator[Start]:
        """A replica of each task at risk, on the idle machine that stays longest.

        That of another type or zone comes first: machines of one kind vanish together.
        """
        tasks, rows = self._at_risk(view, now)
        if not tasks:
            return
        free, stays = self._free(view, now), self._provisioner.stays_until
        # Where one cannot end on the machine that stays longest, it can on no other of the offer.
        may_end = {
            name: self._may_end(tasks, rows, machines[-1], view, now)
            for name, machines in free.items()
        }
        for place, task in enumerate(tasks):
            fit = [machines[-1] for name, machines in free.items() if may_end[name][place]]
            if not fit:
                continue
            there = view.attempts[view.attempts_of(task)[0]].machine
            machine = min(fit, key=lambda one: (_alike(there, one), -stays(one), one.id))
            name = machine.offer.name
            free[name].pop()
            if free[name]:
                may_end[name] = self._may_end(tasks, rows, free[name][-1], view, now)
            else:
                del free[name]
            yield Start(task, machine.id, reason="its machine may be released before it ends")
            if not free:
                return

    def _free(self, view: View, now: Time) -> dict[str, list[Machine]]:
        """Free slots as machines that stay at all, by offer, those that stay longest last."""
        slots = self.slots
        rows = np.flatnonzero((slots.free > 0) & (slots.begin == 0) & (slots.stays >= now))
        order = rows[np.lexsort((-slots.machines[rows], slots.stays[rows]))]
        found: dict[str, list[Machine]] = {offer.name: [] for offer in view.market.offers}
        for number in slots.machines[order].repeat(slots.free[order]).tolist():
            machine = view.machines[number]
            found[machine.offer.name].append(machine)
        return {name: machines for name, machines in found.items() if machines}

    def _at_risk(self, view: View, now: Time) -> tuple[list[int], Integers | None]:
        """Tasks none of whose attempts is sure to end while its machine stays, and that might end
        on the machine that stays longest of some offer.

        With the rows of their oldest attempts; None: some have an older one that has no row.
        """
        live = self.live
        stays = self.slots.stays_of(live.machines)
        rows = self._may_be_late(stays, view, now)
        if not len(rows):
            return [], None
        expectation = self._expected(view, now)
        is_safe = np.ones(len(live), dtype=np.int64)
        is_safe[rows] = 0
        # What began on a machine that was to leave before ends too late in any case.
        rows = rows[live.started[rows] <= stays[rows]]
        if len(rows):
            late = live.started[rows] + expectation.here(rows) * (1 + LONGER)
            is_safe[rows[late <= stays[rows]]] = 1
        is_risky = live.least_by_task(-is_safe) == 0
        may = live.may_replicate(view)
        rows = np.flatnonzero(is_risky if may is None else is_risky & may)
        if not len(rows):
            return [], None
        oldest = rows[live.attempts[rows] == live.least_by_task(live.attempts)[rows]]
        oldest = oldest[np.argsort(live.attempts[oldest])]
        if len(live) < len(view.attempts):  # the oldest of all may be another
            return live.tasks[oldest].tolist(), None
        oldest = oldest[self._is_hopeful(expectation, view, now)[oldest]]
        return live.tasks[oldest].tolist(), oldest

    def _may_be_lost(self, now: Time) -> bool:
        """Whether some machines leave, and an idle one stays: no task can end in time on one that
        does not.
        """
        slots = self.slots
        if slots.all_stay:
            return False
        return bool(((slots.free > 0) & (slots.begin == 0) & (slots.stays >= now)).any())

    def _may_be_late(self, stays: Integers, view: View, now: Time) -> Integers:
        """Rows that might not be safe, if they took as long as is expected of any there."""
        live, parts = self.live, [np.empty(0, dtype=np.int64)]
        if live.are_few:
            return np.flatnonzero(stays < FOREVER)
        for place in live.run_on:
            rows = live.rows_of(place)
            started = live.started[rows]
            longest = view.runtimes.longest(
                view.market.offers[place].name, now - int(started.min())
            )
            if longest is None:
                parts.append(live.rows_on((place,)))
            else:
                late = started + longest * (1 + LONGER) > stays[rows]
                parts.append(np.flatnonzero(late) + rows.start)
        return np.concatenate(parts)

    def _is_hopeful(self, expectation: Expected, view: View, now: Time) -> Truths:
        """Whether the task of each row may end on the idle machine that stays longest somewhere."""
        slots = self.slots
        found = np.zeros(len(self.live), np.bool_)
        is_free = (slots.free > 0) & (slots.begin == 0)
        for place, offer in enumerate(view.market.offers):
            stays = slots.stays[is_free & (slots.offers == place)]
            longest = int(stays.max(initial=0))
            if longest >= FOREVER:
                return np.ones(len(self.live), np.bool_)
            if longest:
                found |= now + expectation.time_on(offer.name) <= longest
        return found

    def _may_end(
        self, tasks: list[int], rows: Integers | None, machine: Machine, view: View, now: Time
    ) -> list[bool]:
        """Whether each of these tasks, begun there now, is expected to end in time, if ever."""
        stays, name = self._provisioner.stays_until(machine), machine.offer.name
        if stays >= FOREVER:
            return [True] * len(tasks)
        if rows is not None:
            in_time = now + self._expected(view, now).time_on(name)[rows] <= stays
            found: list[bool] = in_time.tolist()
            return found
        oldest = [view.attempts[view.attempts_of(task)[0]] for task in tasks]
        moved = view.runtimes.moved
        times = [moved(one.machine.offer.name, now - one.started, name, one.task) for one in oldest]
        return [now + (time or 0) <= stays for time in times]


def _alike(there: Machine, one: Machine) -> int:
    """What may take away both of them at once; a reliable machine is not taken away."""
    is_safe = "reliable" in (there.offer.pool, one.offer.pool)
    return 0 if is_safe else have_in_common(there.offer, one.offer)
