"""What the replicators of BaTS share (Oprescu's thesis, section 5.1).

The tail begins when no task is ready. A machine that is idle then is paid for to the end of its
lease, and runs a replica of a task that would otherwise end later. Replicas never are a reason to
rent or to extend: a provisioner asks `deserves` before it renews a machine.

Of the tasks that are expected to end sooner on the idle machine, t_s - tau_s > t_t, the one with
the largest expected remaining time is chosen. A task with several attempts is judged by the one
that is expected to end first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Final, NamedTuple, Protocol

from bursar.model.time import Time, format_duration
from bursar.state.actions import Start
from bursar.state.view import Attempt, Machine, View

AT_RANDOM: Final = "runs on a slower machine, picked at random"


class Knowledge(Protocol):
    """What is known of run times; `bursar.beliefs.unified` learns it from finished tasks."""

    def expected_total(self, offer: str, elapsed: Time, on: str | None = None) -> Time | None:
        """What a task takes in all that has run for `elapsed` on an offer: there, or on another."""
        ...

    def convert(self, time: Time, source: str, target: str) -> Time | None:
        """The run time on one offer of what takes `time` on another."""
        ...

    def pace(self, offer: str) -> Time | None:
        """Lower is faster; None while nothing is known of the offer."""
        ...


class Outlook(Protocol):
    """What is expected of an attempt."""

    def remaining(self, attempt: Attempt, now: Time) -> Time | None: ...

    def elsewhere(self, attempt: Attempt, machine: Machine, now: Time) -> Time | None:
        """What the same task takes in all on another machine."""
        ...


class Expected:
    """The outlook by conditional expectation."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge

    def remaining(self, attempt: Attempt, now: Time) -> Time | None:
        elapsed = now - attempt.started
        total = self._knowledge.expected_total(attempt.machine.offer.name, elapsed)
        return None if total is None else total - elapsed

    def elsewhere(self, attempt: Attempt, machine: Machine, now: Time) -> Time | None:
        return self._knowledge.expected_total(
            attempt.machine.offer.name, now - attempt.started, on=machine.offer.name
        )


class Running(NamedTuple):
    """A task with live attempts, in the order of their machines' numbers."""

    task: int
    attempts: Sequence[Attempt]


class Prospect(NamedTuple):
    """A running task with the attempt that is expected to end first."""

    task: int
    attempt: Attempt
    remaining: Time


Pick = Callable[[Machine, set[int]], tuple[int, str] | None]
"""The task to replicate on a machine and why, none of those already picked; None: there is none."""


def is_live(attempt: Attempt) -> bool:
    """Whether an attempt may still give its task's result."""
    return not (attempt.cancelling or attempt.measure or attempt.machine.releasing)


def running(view: View) -> list[Running]:
    """Tasks with live attempts that may get another, in the order of their first machines' numbers.

    One that has failed gets no more attempts than its retries: replicas are none beside them.
    """
    tasks: dict[int, list[Attempt]] = {}
    live = [attempt for attempt in view.attempts.values() if is_live(attempt)]
    for attempt in sorted(live, key=lambda attempt: (attempt.machine.id, attempt.id)):
        tasks.setdefault(attempt.task, []).append(attempt)
    may = view.may_replicate
    return [Running(task, attempts) for task, attempts in tasks.items() if may(task)]


def prospects(view: View, outlook: Outlook, now: Time) -> list[Prospect]:
    found: list[Prospect] = []
    for task, attempts in running(view):
        judged = [(outlook.remaining(attempt, now), attempt) for attempt in attempts]
        known = [(left, attempt) for left, attempt in judged if left is not None]
        if known:
            left, attempt = min(known, key=lambda one: one[0])
            found.append(Prospect(task, attempt, left))
    return found


def longest(view: View, outlook: Outlook, now: Time) -> Pick:
    """Pick the candidate with the largest expected remaining time."""
    candidates = prospects(view, outlook, now)
    candidates.sort(key=lambda prospect: -prospect.remaining)

    def pick(machine: Machine, picked: set[int]) -> tuple[int, str] | None:
        for task, attempt, left in candidates:
            if left <= 0:
                return None
            if task in picked:
                continue
            needed = outlook.elsewhere(attempt, machine, now)
            if needed is not None and left > needed:
                here, there = format_duration(needed), format_duration(left)
                return task, f"expected to take {here} here, {there} more where it runs"
        return None

    return pick


def at_random(view: View, knowledge: Knowledge, rng: Random) -> Pick:
    """Pick any task that is executed by a slower machine, whatever else executes it.

    The thesis: a worker is not released "as long as tasks are executed by slower machines".
    """
    tasks = [(task, _paces(attempts, knowledge)) for task, attempts in running(view)]

    def pick(machine: Machine, picked: set[int]) -> tuple[int, str] | None:
        pace = knowledge.pace(machine.offer.name)
        if pace is None:
            return None
        slower = [
            task for task, paces in tasks if task not in picked and any(p > pace for p in paces)
        ]
        return (slower[int(rng.random() * len(slower))], AT_RANDOM) if slower else None

    return pick


def _paces(attempts: Sequence[Attempt], knowledge: Knowledge) -> list[Time]:
    """How fast the machines of attempts are; one of unknown speed counts as the fastest."""
    known = (knowledge.pace(attempt.machine.offer.name) for attempt in attempts)
    return [-1 if pace is None else pace for pace in known]


def swiftest(view: View, pace: Callable[[Machine], float | None]) -> list[Machine]:
    """Free slots, the fastest machines first; machines of unknown speed last."""

    def order(machine: Machine) -> tuple[bool, float, int]:
        known = pace(machine)
        return known is None, known or 0, machine.id

    machines = sorted((view.machines[number] for number in view.idle), key=order)
    return [m for m in machines for _ in range(m.offer.slots - len(m.attempts))]


def replicas(targets: Sequence[Machine], pick: Pick) -> Iterator[Start]:
    """One replica for each free slot, as long as there are candidates for its offer."""
    picked: set[int] = set()
    hopeless: set[str] = set()
    for machine in targets:
        if machine.offer.name in hopeless:
            continue
        found = pick(machine, picked)
        if found is None:
            hopeless.add(machine.offer.name)
            continue
        task, reason = found
        picked.add(task)
        yield Start(task, machine.id, reason=reason)


def deserves(machine: Machine, view: View) -> bool:
    """Whether a machine runs more than replicas: the oldest live attempt of some task."""
    for number in machine.attempts:
        task = view.attempts[number].task
        live = [n for n in view.attempts_of(task) if is_live(view.attempts[n])]
        if view.attempts[number].measure or (live and live[0] == number):
            return True
    return False
