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
from bursar.state.planned_lines import machine_of
from bursar.state.task_status import READY, WAITING
from bursar.state.view import View


class FollowPlacer(Placer):
    def __init__(self) -> None:
        self._lines: dict[str, dict[int, deque[int]]] = {}
        """by account, then by machine: tasks that are planned there and were not started"""
        self._awaited: dict[str, dict[str, deque[deque[int]]]] = {}
        """by account, then by offer: lines of machines that are still to be rented"""

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
        elif isinstance(event, ev.MachineRented):
            awaiting = self._awaited.get(event.account, {}).get(event.offer)
            if awaiting:
                self._lines[event.account][event.machine] = awaiting.popleft()

    def place(self, view: View, now: Time, rng: Random) -> Iterable[Start]:
        starts: list[Start] = []
        for number in view.idle:
            machine = view.machines[number]
            line = self._lines.get(machine.account, {}).get(number)
            free = machine.offer.slots - len(machine.attempts)
            while line and free:
                status = view.status[line[0]]
                if status == WAITING:
                    break
                task = line.popleft()
                if status == READY:
                    starts.append(Start(task, number))
                    free -= 1
        return starts
