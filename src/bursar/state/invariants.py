"""What must hold of a state, field by field."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from bursar.model.errors import InvariantError
from bursar.state.state import RunState
from bursar.state.task_status import (
    BLOCKED,
    CANCELLED,
    DONE,
    FAILED,
    READY,
    RUNNING,
    WAITING,
    TaskStatus,
)
from bursar.state.view import Machine


def check(state: RunState) -> None:
    """Raise `InvariantError` for the first invariant that does not hold; for tests.

    They do so after every event, also of large bags: all tasks are looked at in arrays.
    """
    state.ledger.check()
    counts = [state.status.count(status, 1) for status in TaskStatus]
    _expect(state, counts[READY] == len(state.ready), f"ready {len(state.ready)} of {counts}")
    _expect(state, counts[DONE] == state.done, f"done {state.done} of {counts}")
    _expect(state, counts[FAILED] == state.failed, f"failed {state.failed} of {counts}")
    _expect(state, counts[WAITING] == state.waiting, f"waiting {state.waiting} of {counts}")
    _expect(state, counts[BLOCKED] == state.blocked, f"blocked {state.blocked} of {counts}")
    message = f"cancelled {state.cancelled} of {counts}"
    _expect(state, counts[CANCELLED] == state.cancelled, message)
    _expect(state, set(state.failed_tasks) == _having(state, FAILED), "failed_tasks differ")
    ends = [*(state.work.before(place) for place in range(len(state.work))), state.total]
    for place, (before, end) in enumerate(pairwise(ends)):
        left = end - before - state.status.count(DONE, before + 1, end + 1)
        _expect(state, state.work.left(place) == left, f"left of work {place}: {left}")
    running = {task for task in state.live_of if state.status[task] == RUNNING}
    _expect(state, state.live_of.keys().isdisjoint(state.ready), "a ready task has live attempts")
    _expect(state, running == _having(state, RUNNING), "running tasks without a live attempt")
    _expect(
        state,
        sorted(state.attempts) == sorted(a for live in state.live_of.values() for a in live),
        "live attempts differ from those of the tasks",
    )
    open_charges = {charge.machine for charge in state.ledger.charges() if charge.is_open}
    _expect(state, open_charges == set(state.machines), "open charges differ from machines")
    for standing, leaving in ((state.fleet, False), (state.leaving, True)):
        there = Counter(m.offer.name for m in state.machines.values() if m.leaving == leaving)
        _expect(state, Counter(standing) == there, f"fleet or leaving {standing}: {there}")
    for machine in state.machines.values():
        _check_machine(state, machine)
    booting = {number for some in state.boots.booting.values() for number in some}
    not_up = {machine.id for machine in state.machines.values() if machine.up is None}
    _expect(state, booting <= not_up, f"booting {booting - not_up}")
    _check_tasks(state)
    _check_load(state)


def _check_tasks(state: RunState) -> None:
    status = np.array(state.status)
    has_winner = np.array(state.winners) > 0
    _expect_of_all(state, has_winner == (status == DONE), "winner")
    is_held = (status == WAITING) | (status == BLOCKED)
    waits = np.array(state.precedence.missing_of_all) > 0
    _expect_of_all(state, (is_held == waits) | (status == CANCELLED), "waits for others")


def _check_load(state: RunState) -> None:
    demand: Counter[str] = Counter()
    for place in range(len(state.work)):
        if state.work.left(place):
            before, work = state.work[place]
            priority = state.priorities.get(place + 1, work.priority)
            _expect(state, work.priority == priority, f"priority of work {place}")
            statuses = state.status[before + 1 : before + 1 + work.count]
            for account in {"", work.owner}:
                demand[account] += statuses.count(READY) + statuses.count(RUNNING)
    supply: Counter[str] = Counter()
    for machine in state.machines.values():
        for account in {"", machine.account}:
            supply[account] += 0 if machine.up is None else machine.offer.slots
    for series, counted in ((state.demand, demand), (state.supply, supply)):
        for account in {*series.accounts, *counted}:
            message = f"demand or supply of {account!r} is {counted[account]}"
            _expect(state, series.now(account) == counted[account], message)


def _check_machine(state: RunState, machine: Machine) -> None:
    free = machine.offer.slots - len(machine.attempts)
    usable = machine.is_open and free > 0
    _expect(state, free >= 0, f"{machine.name} runs more attempts than it has slots")
    _expect(state, free == 0 or not machine.waiting, f"{machine.name} has attempts waiting")
    _expect(state, (machine.id in state.idle) == usable, f"{machine.name} idle is not {usable}")
    for attempt in (*machine.attempts, *machine.waiting):
        _expect(state, state.attempts[attempt].machine is machine, f"attempt {attempt} is astray")


def _having(state: RunState, status: int) -> set[int]:
    found, task = set(), state.status.find(status, 1)
    while task > 0:
        found.add(task)
        task = state.status.find(status, task + 1)
    return found


def _expect_of_all(state: RunState, holds: NDArray[np.bool_], what: str) -> None:
    """It holds for every task; index 0 is none."""
    wrong = np.flatnonzero(~holds[1:])
    if wrong.size:
        _expect(state, False, what, int(wrong[0]) + 1)


def _expect(state: RunState, holds: bool, what: str, task: int | None = None) -> None:
    if not holds:
        story = "" if task is None else "\n" + "\n".join(state.story(task))
        raise InvariantError(f"at {state.now}: {what}{story}")
