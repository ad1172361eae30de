"""`follow`: start what the plan of an autoscaler says, where it says (workload thesis, 5.4.1).

Each machine gets the next task that is planned for it, once that is ready; nothing else starts. The
plans are those of the last decisions of `plf` or `scf`, which a resumed run reads in its journal.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable
from random import Random

from bursar.engine.roles import Placer
from bursar.model.time import Time
from bursar.state import events as ev
from bursar.state.actions import Start
from bursar.state.fleet_counts import IdleChanges
from bursar.state.planned_lines import machine_of
from bursar.state.task_status import READY, WAITING
from bursar.state.view import View


class FollowPlacer(Placer):
    def __init__(self) -> None:
        self._lines: dict[str, dict[int, deque[int]]] = {}
        """by account, then by machine: tasks that are planned there and were not started"""
        self._awaited: dict[str, dict[str, deque[deque[int]]]] = {}
        """by account, then by offer: lines of machines that are still to be rented"""
        self._idle = IdleChanges()
        self._is_new = False
        """whether there is a plan by which nobody has placed yet"""
        self._held: defaultdict[int, list[int]] = defaultdict(list)
        """by a task that waits for others, machines on which it is next"""
        self._seen = (0, 0)
        """the places in what became ready and what was blocked up to which that is known"""

    def saw(self, event: ev.AnyEvent, state: View) -> None:
        if isinstance(event, ev.ScaleDecided):
            lines: dict[int, deque[int]] = {}
            awaited: dict[str, deque[deque[int]]] = defaultdict(deque)
            for line, tasks in event.lines.items():
                machine = machine_of(line)
                if machine is not None:
                    lines[machine] = deque(tasks)
                else:
                    awaited[line.rpartition("+")[0]].append(deque(tasks))
            self._lines[event.account], self._awaited[event.account] = lines, awaited
            self._is_new = True
        elif isinstance(event, ev.MachineRented):
            awaiting = self._awaited.get(event.account, {}).get(event.offer)
            if awaiting:
                self._lines[event.account][event.machine] = awaiting.popleft()

    def place(self, view: View, now: Time, rng: Random) -> Iterable[Start]:
        starts: list[Start] = []
        for number in self._to_look_at(view):
            machine = view.machines[number]
            line = self._lines.get(machine.account, {}).get(number)
            free = machine.offer.slots - len(machine.attempts)
            while line and free:
                status = view.status[line[0]]
                if status == WAITING:
                    self._held[line[0]].append(number)
                    break
                task = line.popleft()
                if status == READY:
                    starts.append(Start(task, number))
                    free -= 1
        return starts

    def _to_look_at(self, view: View) -> Iterable[int]:
        """Idle machines that may get a task now, in the order of `view.idle`.

        Those that changed, those whose next task waits for others no more, and all after a new
        plan: where many idle without a task, none of them is looked at at every event.
        """
        changed, let_go = self._idle.take(view), self._let_go(view)
        if self._is_new:
            self._is_new = False
            self._held.clear()
            return list(view.idle)
        if not let_go:
            return changed
        some = {*changed, *let_go}
        return [number for number in view.idle if number in some]

    def _let_go(self, view: View) -> list[int]:
        """Machines whose next task may wait for others no more."""
        ready, blocked = view.changes.ready, view.changes.blocked
        before, self._seen = self._seen, (ready.end, blocked.end)
        if not self._held:
            return []
        freed, others = ready.since(before[0]), blocked.since(before[1])
        tasks = tuple(self._held) if freed is None or others is None else (*freed, *others)
        return [number for task in tasks for number in self._held.pop(task, ())]
