"""What must hold of a state, field by field."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

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
    """Raise `InvariantError` for the first invariant that does not hold; slow, for tests."""
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
    for task in range(1, state.total + 1):
        has_winner = state.winners[task] > 0
        _expect(state, has_winner == (state.status[task] == DONE), "winner", task)
        held = state.status[task] in (WAITING, BLOCKED)
        if state.status[task] != CANCELLED:
            _expect(state, held == state.precedence.waits(task), "waits for others", task)
    _check_load(state)


def _check_load(state: RunState) -> None:
    demand: Counter[str] = Counter()
    for place in range(len(state.work)):
        if state.work.left(place):
            priority = state.priorities.get(place + 1, state.work[place][1].priority)
            _expect(state, state.work[place][1].priority == priority, f"priority of work {place}")
            before, work = state.work[place]
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
    return {task for task in range(1, state.total + 1) if state.status[task] == status}


def _expect(state: RunState, holds: bool, what: str, task: int | None = None) -> None:
    if not holds:
        story = "" if task is None else "\n" + "\n".join(state.story(task))
        raise InvariantError(f"at {state.now}: {what}{story}")
