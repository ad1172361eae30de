"""Works of a service: what may be submitted, and how one stands."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from bursar.model.dag import Dag
from bursar.model.errors import InputError, shown
from bursar.model.time import SECOND, parse_duration
from bursar.model.work import Bag, Work
from bursar.model.workflow import Workflow
from bursar.model.workflow_builder import WorkflowBuilder
from bursar.state.state import RunState
from bursar.state.task_status import BLOCKED, CANCELLED, DONE, FAILED, RUNNING

Standing = Literal["waiting", "running", "done", "failed", "cancelled"]
Submitted = Bag | Workflow | WorkflowBuilder | Dag | Work
MOST_PRIORITY: Final = 2**31
LONGEST_NAME: Final = 200


class WorkStatus(msgspec.Struct, frozen=True):
    """How a work stands."""

    number: int
    name: str
    """of a workflow; of a bag its first command"""
    owner: str
    priority: int
    status: Standing
    """`failed`: some task failed for good, and nothing more of it will run"""
    tasks: int
    done: int
    failed: int
    running: int
    arrived_s: float
    """since the run began"""
    first_task: int = 0
    """its number in the run; results are in the directory `outputs/NUMBER`"""


def work_of(
    work: Submitted,
    owner: str | None = None,
    priority: int | None = None,
    deadline: str | None = None,
) -> Work:
    """What was submitted as it arrives; a mistake raises `InputError`."""
    if isinstance(work, WorkflowBuilder):
        work = work.build()
    if isinstance(work, Dag):
        work = Work.of_dag(work)
    if isinstance(work, Bag | Workflow):
        work = Work(work)
    if not isinstance(work, Work):
        raise InputError(f"{shown(work)} is no work; submit a bag or a workflow")
    if isinstance(work.tasks, Bag) and not work.tasks.template:
        raise InputError("this bag has no commands; make it with make_bag or repeated_bag")
    if priority is not None:
        check_priority(priority)
    return msgspec.structs.replace(
        work,
        owner=work.owner if owner is None else owner,
        priority=work.priority if priority is None else priority,
        deadline=work.deadline if deadline is None else parse_duration(deadline),
    )


def check_priority(priority: int) -> None:
    is_whole = isinstance(priority, int) and not isinstance(priority, bool)
    if not is_whole or abs(priority) > MOST_PRIORITY:
        raise InputError(f"the priority {shown(priority)} must be a whole number")


def name_of(work: Work) -> str:
    """What people call it."""
    name = work.tasks.name if isinstance(work.tasks, Workflow) else work.tasks.describe(0)
    return name[:LONGEST_NAME]


def new_status(state: RunState, number: int, work: Work) -> WorkStatus:
    """How a work stood when it arrived; from any thread, once it is in the journal."""
    place = number - 1
    return WorkStatus(
        number=number,
        name=name_of(work),
        owner=work.owner,
        priority=work.priority,
        status="waiting",
        tasks=work.count,
        done=0,
        failed=0,
        running=0,
        arrived_s=state.work.arrived(place) / SECOND,
        first_task=state.work.before(place) + 1,
    )


def status_of(state: RunState, place: int) -> WorkStatus:
    """How the work at a place stands; takes as long as its tasks are many."""
    before, work = state.work[place]
    begin, end = before + 1, before + 1 + work.count
    counts = {
        status: state.status.count(status, begin, end)
        for status in (DONE, FAILED, BLOCKED, CANCELLED, RUNNING)
    }
    settled = sum(counts[one] for one in (DONE, FAILED, BLOCKED, CANCELLED))
    standing: Standing = "running" if counts[RUNNING] or counts[DONE] else "waiting"
    if place + 1 in state.cancelled_works:
        standing = "cancelled"
    elif settled == work.count:
        standing = "failed" if counts[FAILED] else "done"
    return WorkStatus(
        number=place + 1,
        name=name_of(work),
        owner=work.owner,
        priority=work.priority,
        status=standing,
        tasks=work.count,
        done=counts[DONE],
        failed=counts[FAILED],
        running=counts[RUNNING],
        arrived_s=state.work.arrived(place) / SECOND,
        first_task=begin,
    )
