"""Events of tasks: they arrive, become ready, fail for good, and are tried again."""

from __future__ import annotations

from array import array

from bursar.model.time import Time
from bursar.model.work import Bag, Work
from bursar.model.workflow import Workflow
from bursar.state import events as ev
from bursar.state.attempts import MOST_TEXTS, Failure
from bursar.state.facts import RunFacts
from bursar.state.task_status import (
    BLOCKED,
    CANCELLED,
    DONE,
    FAILED,
    READY,
    RUNNING,
    WAITING,
)


def work_arrived(state: RunFacts, event: ev.WorkArrived) -> None:
    first, tasks = state.total + 1, event.work.tasks
    _make_room(state, event.work, event.at)
    state.demand.change(_count_free(tasks), event.at, event.work.owner)
    if isinstance(tasks, Bag):
        state.has_calls = state.has_calls or not tasks.template
        state.precedence.add_free(tasks.count)
        state.ready.extend(range(first, first + tasks.count))
        state.changes.ready.note_all(range(first, first + tasks.count))
        return
    for task, waits in enumerate(state.precedence.add_workflow(tasks), first):
        if waits:
            state.status[task] = WAITING
            state.waiting += 1
        else:
            make_ready(state, task)


def _count_free(tasks: Bag | Workflow) -> int:
    """Tasks that wait for nobody."""
    return tasks.count if isinstance(tasks, Bag) else tasks.parents.count(())


def make_ready(state: RunFacts, task: int) -> None:
    state.status[task] = READY
    state.ready.add(task)
    state.changes.ready.note(task)


def _make_room(state: RunFacts, work: Work, at: Time) -> None:
    """The columns of its tasks, which are all READY."""
    state.work.add(state.total, work, state.events + 1, at)
    state.status.extend(bytes(work.count))
    state.failures.extend(array("l", bytes(state.failures.itemsize * work.count)))
    state.winners.extend(array("q", bytes(8 * work.count)))


def work_cancelled(state: RunFacts, event: ev.WorkCancelled) -> None:
    """Attempts of its tasks live on until the world has ended them."""
    place = event.work - 1
    before, work = state.work[place]
    state.cancelled_works[event.work] = event.why
    wanted = 0
    for task in range(before + 1, before + 1 + work.count):
        status = state.status[task]
        if status in (DONE, FAILED):
            continue
        if status == READY:
            state.ready.discard(task)
        state.waiting -= status == WAITING
        state.blocked -= status == BLOCKED
        wanted += status in (READY, RUNNING)
        state.status[task] = CANCELLED
        state.cancelled += 1
        state.changes.blocked.note(task)
    state.demand.change(-wanted, event.at, work.owner)
    state.last_settled = event.at


def priority_changed(state: RunFacts, event: ev.PriorityChanged) -> None:
    state.priorities[event.work] = event.priority
    state.work.change_priority(event.work - 1, event.priority)
    state.changes.works.note(event.work)


def retry_requested(state: RunFacts, event: ev.RetryRequested) -> None:
    for task in event.tasks:
        if state.work_of(task) in state.cancelled_works:
            continue  # nobody wants it any more
        del state.failed_tasks[task]
        state.failed -= 1
        state.failures[task] = 0
        state.demand.change(+1, event.at, state.work.owner_of(task))
        make_ready(state, task)
        move_below(state, task, BLOCKED, WAITING)
    for task in state.failed_tasks:
        move_below(state, task, WAITING, BLOCKED)


def judge(state: RunFacts, task: int, event: ev.AttemptEnded) -> None:
    """A task fails for good when its retries are used up and no other attempt lives."""
    alone = len(state.live_of[task]) == 1
    if state.status[task] == RUNNING and alone and state.failures[task] > state.limits.retries:
        state.status[task] = FAILED
        state.failed += 1
        why = event.why if len(state.failed_tasks) < MOST_TEXTS else None
        state.failed_tasks[task] = Failure(event.attempt, event.exit_code, why)
        state.last_settled = event.at
        state.demand.change(-1, event.at, state.work.owner_of(task))
        move_below(state, task, WAITING, BLOCKED)


def move_below(state: RunFacts, task: int, old: int, new: int) -> None:
    """Give what needs a task, also through others, another status."""
    moved = 0
    for one in state.precedence.below(task, lambda child: state.status[child] == old):
        state.status[one] = new
        state.changes.blocked.note(one)
        moved += 1
    gain = moved if new == BLOCKED else -moved
    state.blocked += gain
    state.waiting -= gain
