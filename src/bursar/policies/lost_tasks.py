"""Where tasks go that were lost with their machine.

What was lost is longer than most: short tasks end before their machine is taken away. So a task
that was lost is the first to get a slot of a reliable machine, where it ends. Machines of one kind
vanish together, so among others it gets one of another type or zone where several are free.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final

from bursar.beliefs.past import LOST, lost_machines, past_attempts
from bursar.model.market import Offer, have_in_common
from bursar.state import events as ev
from bursar.state.actions import Start
from bursar.state.view import View

LEARNS_FROM: Final = (ev.AttemptStarted, ev.AttemptEnded, ev.MachineDown)


class LostTasks:
    """Follows what runs on unreliable machines; deals ready tasks to slots."""

    def __init__(self) -> None:
        self._running: dict[int, set[int]] = {}
        """by unreliable machine, tasks that run there"""
        self._offers: dict[int, str] = {}
        """by such a machine, its offer"""
        self._lost: dict[int, str] = {}
        """by task that has no result, the offer whose machine was lost with it last"""

    def saw(self, event: ev.AnyEvent, state: View) -> None:
        if type(event) is ev.AttemptStarted:
            offer = state.machines[event.machine].offer
            if offer.pool == "unreliable":
                self._offers[event.machine] = offer.name
                self._running.setdefault(event.machine, set()).add(event.task)
        elif type(event) is ev.AttemptEnded:
            running = self._running.get(state.log.machine[event.attempt])
            if running is not None:
                running.discard(state.log.task[event.attempt])
            if event.outcome == "success" and self._lost:
                self._lost.pop(state.log.task[event.attempt], None)
        elif type(event) is ev.MachineDown:
            tasks, name = self._running.pop(event.machine, ()), self._offers.pop(event.machine, "")
            if event.cause == "lost":
                lost = (task for task in sorted(tasks) if not state.winners[task])
                self._lost.update(dict.fromkeys(lost, name))

    def saw_before(self, view: View) -> None:
        """Learn what happened before anybody watched."""
        for attempt in view.attempts.values():
            if attempt.machine.offer.pool == "unreliable":
                self._offers[attempt.machine.id] = attempt.machine.offer.name
                self._running.setdefault(attempt.machine.id, set()).add(attempt.task)
        past, gone = past_attempts(view), lost_machines(view)
        past = past.among(past.outcomes == LOST)
        for task, machine in zip(past.tasks.tolist(), past.machines.tolist(), strict=True):
            if machine in gone and not view.winners[task]:
                self._lost[task] = gone[machine]

    def lost_on(self, task: int) -> str | None:
        """The offer whose machine was lost with a task last; None: none was."""
        return self._lost.get(task)

    def fill(self, slots: Sequence[int], view: View, rng: Random) -> list[Start]:
        """A ready task for each of these slots, as far as there are any; at random, but for those
        that were lost.
        """
        ready = view.ready
        count = min(len(ready), len(slots))
        if not self._lost:
            return _at_random(slots[:count], view, rng)
        lost = [task for task in self._lost if task in ready]
        stays = [slot for slot in slots if view.machines[slot].offer.pool == "reliable"]
        first = [
            Start(task, slot, f"lost with a machine of {self._lost[task]}: a reliable one stays")
            for task, slot in zip(lost, stays, strict=False)
        ]
        taken = {one.task for one in first}
        used = [one.machine for one in first]
        rest = list(slots)
        for slot in used:
            rest.remove(slot)
        drawn = rng.sample(range(len(ready)), count)
        tasks = [task for place in drawn if (task := ready[place]) not in taken]
        return [*first, *self._apart(tasks[: count - len(first)], rest, view)]

    def _apart(self, tasks: Sequence[int], slots: list[int], view: View) -> list[Start]:
        """Those that were lost choose first, so that they come to machines of another kind."""
        market, found = view.market, dict[int, Start]()
        for task in tasks:
            if task not in self._lost:
                continue
            before = market[self._lost[task]]

            def likeness(slot: int, before: Offer = before) -> int:
                return have_in_common(before, view.machines[slot].offer)

            slot = min(slots, key=likeness)
            is_apart = likeness(slot) < likeness(slots[0])
            why = f"lost with a machine of {before.name}: another kind" if is_apart else ""
            slots.remove(slot)
            found[task] = Start(task, slot, why)
        return [found.get(task) or Start(task, slots.pop(0)) for task in tasks]


def _at_random(slots: Sequence[int], view: View, rng: Random) -> list[Start]:
    ready = view.ready
    if len(slots) == 1:
        return [Start(ready[int(rng.random() * len(ready))], slots[0])]
    picks = rng.sample(range(len(ready)), len(slots))
    return [Start(ready[pick], slot) for pick, slot in zip(picks, slots, strict=True)]
