"""Events of attempts: they start, wait for a slot, and end."""

from __future__ import annotations

from msgspec.structs import force_setattr as change_field
from msgspec.structs import replace

from bursar.model.time import Time
from bursar.state import events as ev
from bursar.state.appliers.tasks import judge, make_ready
from bursar.state.facts import RunFacts
from bursar.state.task_status import CANCELLED, DONE, READY, RUNNING
from bursar.state.view import Attempt
from bursar.state.work_plans import FIRST_WORK


def attempt_started(state: RunFacts, event: ev.AttemptStarted) -> None:
    attempt, task, machine = event.attempt, event.task, state.machines[event.machine]
    state.attempts[attempt] = Attempt(attempt, task, machine, event.at, event.measure)
    state.log.begin(task, machine.id, event.at)
    state.changes.attempts.note(attempt)
    begun, slots = state.begun_on[machine.id], machine.offer.slots
    if len(begun) >= slots:
        change_field(machine, "waiting", (*machine.waiting, attempt))
    else:
        begun[attempt] = None
        if len(begun) == slots:
            state.idle.discard(machine.id)
    if task in state.live_of:
        state.live_of[task].append(attempt)
    else:
        state.live_of[task] = [attempt]
        if state.status[task] == READY:
            state.ready.discard(task)
            state.status[task] = RUNNING


def cancel_ordered(state: RunFacts, event: ev.CancelOrdered) -> None:
    change_field(state.attempts[event.attempt], "cancelling", True)
    state.changes.attempts.note(event.attempt)


def attempt_ended(state: RunFacts, event: ev.AttemptEnded) -> None:
    attempt = state.attempts[event.attempt]
    task = attempt.task
    if event.outcome == "success":
        if state.status[task] == RUNNING:
            state.status[task] = DONE
            state.winners[task] = attempt.id
            state.done += 1
            state.last_settled = event.at
            freed = state.precedence.done(task)
            if state.work.have_owners:
                state.demand.change(len(freed) - 1, event.at, state.work.owner_of(task))
            else:
                state.demand.whole.change(len(freed) - 1, event.at)
            for child in freed:
                state.waiting -= 1
                make_ready(state, child)
            if (forgotten := state.work.done(task)) is not None:
                state.precedence.forget(forgotten)
            if state.plans and len(state.work) > 1:
                _drop_plans(state, state.work_of(task))
    elif event.outcome in ("failed", "timeout"):
        state.failures[task] += 1
        judge(state, task, event)
    elif event.unwanted and state.status[task] == RUNNING:
        state.status[task] = CANCELLED
        state.cancelled += 1
        state.last_settled = event.at
        state.demand.change(-1, event.at, state.work.owner_of(task))
        state.changes.blocked.note(task)
    end_attempt(state, attempt, event.at, event.runtime, event.outcome)


def end_attempt(
    state: RunFacts, attempt: Attempt, at: Time, runtime: Time, outcome: ev.Outcome
) -> None:
    number, task = attempt.id, attempt.task
    del state.attempts[number]
    state.log.end(number, at, runtime, outcome)
    state.changes.attempts.note(number)
    _leave_slot(state, attempt, at)
    live = state.live_of[task]
    if len(live) > 1:
        live.remove(number)
        return
    del state.live_of[task]
    if state.status[task] == RUNNING:
        make_ready(state, task)


def _leave_slot(state: RunFacts, attempt: Attempt, at: Time) -> None:
    """The slot of an attempt goes to the first that waits there, else it is free."""
    machine = attempt.machine
    waiting, begun = machine.waiting, state.begun_on[machine.id]
    if attempt.id in waiting:
        change_field(machine, "waiting", tuple(n for n in waiting if n != attempt.id))
        return
    begun.pop(attempt.id, None)
    if waiting:
        following = state.attempts[waiting[0]]
        change_field(machine, "waiting", waiting[1:])
        begun[following.id] = None
        change_field(following, "started", at)
        state.log.started[following.id] = at
        state.changes.attempts.note(following.id)
    elif machine.is_open:
        state.idle.add(machine.id)


def _drop_plans(state: RunFacts, work: int) -> None:
    """A run with many works does not keep the plans of those whose tasks are all done.

    The journal has them. Of the first work, by whose plan a run is judged, it forgets the list.
    """
    plans = state.plans.get(work)
    if plans is None or state.work.left(work - 1):
        return
    if work != FIRST_WORK:
        del state.plans[work]
    elif plans.offered is not None:
        state.plans[work] = replace(plans, offered=None)
