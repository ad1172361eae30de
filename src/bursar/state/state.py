"""RunState: the fold of a run's events, and the one place that changes it.

`apply(event)` is the only mutator. Policies see it through `view_of`, which cannot be written.
Tasks live in columns, so that a million of them fit; live attempts and machines are objects.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum
from types import MappingProxyType
from typing import Any, Final

import msgspec
from msgspec.structs import force_setattr

from bursar.model.collection import IndexedSet
from bursar.model.errors import InvariantError
from bursar.model.flow import Flow
from bursar.model.goal import Goal, Limits
from bursar.model.market import Market
from bursar.model.money import ZERO
from bursar.model.text import cut
from bursar.model.time import Time, format_duration
from bursar.model.work import Bag, Work
from bursar.state import events as ev
from bursar.state.attempts import OUTCOMES, AttemptLog, Failure
from bursar.state.ledger import Ledger
from bursar.state.precedence import Precedence
from bursar.state.recent import Changes
from bursar.state.view import Attempt, Machine, Refusal
from bursar.state.works import Works


class TaskStatus(IntEnum):
    READY = 0
    RUNNING = 1
    DONE = 2
    FAILED = 3
    WAITING = 4
    """for other tasks, which are not done"""
    BLOCKED = 5
    """it needs a task that failed, perhaps through others"""


READY, RUNNING, DONE, FAILED, WAITING, BLOCKED = TaskStatus  # plain names for the hot path

_change: Final = force_setattr
"""Sets a field of a machine or an attempt, which nobody else can change."""


class RunState:
    """Each field says what must hold of it; `check()` verifies it."""

    def __init__(self) -> None:
        self.run = ""
        self.now: Time = 0
        """time of the last event; never decreases"""
        self.events = 0
        """applied so far: the last one's number in the journal"""
        self.created: ev.RunCreated | None = None
        self.market: Market = Market("USD", "undated", ())
        self.goal = Goal()
        self.limits = Limits()
        self.ledger = Ledger(self.goal.budgets())

        self.work = Works()
        self.has_calls = False
        """whether a bag of Python calls is among it"""
        self.precedence = Precedence()
        """exactly the tasks that are WAITING or BLOCKED wait for others"""
        self.status = bytearray([FAILED])
        """a TaskStatus per task; index 0 is unused, tasks count from 1"""
        self.failures = array("l", [0])
        """attempts per task that failed or timed out, since it was last asked to be tried again"""
        self.ready = IndexedSet()
        """exactly the tasks whose status is READY"""
        self.done = 0
        self.failed = 0
        self.waiting = 0
        """tasks whose status is WAITING"""
        self.blocked = 0
        """tasks whose status is BLOCKED"""
        self.failed_tasks: dict[int, Failure] = {}
        """exactly the tasks whose status is FAILED"""
        self.winners = array("q", [0])
        """per task, the attempt whose result counts; 0 while there is none"""
        self.last_settled: Time = 0
        """when a task was last done or failed for good"""

        self.machines: dict[int, Machine] = {}
        """those not down"""
        self.machines_rented = 0
        """machines count from 1; this is the last one's number"""
        self.fleet: dict[str, int] = {}
        """by offer, machines that boot or are up; those that leave do not count"""
        self.leaving: dict[str, int] = {}
        """by offer, machines being released, and those whose loss is announced"""
        self.refusals: dict[str, Refusal] = {}
        """offers whose machines were not available; not those of which one came up since"""
        self.idle = IndexedSet()
        """exactly the machines that are up, do not leave, and have a free slot"""
        self.attempts: dict[int, Attempt] = {}
        """those that live"""
        self.log = AttemptLog()
        self.changes = Changes()
        """what changed lately"""
        self._begun_on: dict[int, dict[int, None]] = {}
        """by machine, what its `attempts` shows: those that have a slot there"""
        self.live_of: dict[int, list[int]] = {}
        """live attempts per task; a task is RUNNING exactly while it has some and is not DONE"""

        self.offered: ev.PlansOffered | None = None
        """the last list of plans; the one that was chosen from it is `plan`"""
        self.plan: ev.PlanChosen | None = None
        self.strategy: ev.StrategyChosen | None = None
        self.assignment: ev.AssignmentChanged | None = None
        """the last, if that of the plan was changed"""
        self.committed_before_plan = ZERO
        """what the sample had cost when the plan was chosen"""
        self.arrivals_open = True
        self.files_found: set[str] | None = None
        """what stood at the outputs of workflows before the run began; None: nobody looked"""
        self.file_links: dict[str, str] = {}
        """directories of outputs that are reached through links, and where they really are"""
        self.periods: list[tuple[Time, ev.RunCreated | ev.RunResumed]] = []
        """when the run was begun and taken up, ascending"""
        self.pauses: list[tuple[Time, Time]] = []
        """from and to: nobody executed the run, as far as its events tell"""
        self.stopping: ev.StopRequested | None = None
        self.ended: ev.RunEnded | None = None
        self._appliers: dict[type, Callable[[Any], None]] = {
            ev.RunCreated: self._run_created,
            ev.WorkArrived: self._work_arrived,
            ev.FilesFound: self._files_found,
            ev.ArrivalsEnded: self._arrivals_ended,
            ev.GoalChanged: self._goal_changed,
            ev.PlansOffered: self._plans_offered,
            ev.PlanChosen: self._plan_chosen,
            ev.StrategyChosen: self._strategy_chosen,
            ev.AssignmentChanged: self._assignment_changed,
            ev.BudgetRefilled: self._budget_refilled,
            ev.StopRequested: self._stop_requested,
            ev.RunResumed: self._run_resumed,
            ev.RetryRequested: self._retry_requested,
            ev.RunEnded: self._run_ended,
            ev.MachineRented: self._machine_rented,
            ev.LeaseExtended: self._lease_extended,
            ev.ReleaseMarked: self._release_marked,
            ev.ReleaseOrdered: self._release_ordered,
            ev.MachineUp: self._machine_up,
            ev.MachineAdopted: self._machine_adopted,
            ev.LossAnnounced: self._loss_announced,
            ev.MachineDown: self._machine_down,
            ev.AttemptStarted: self._attempt_started,
            ev.CancelOrdered: self._cancel_ordered,
            ev.AttemptEnded: self._attempt_ended,
            ev.ActionRefused: self._action_refused,
        }

    # --- reading ---------------------------------------------------------------------------------

    @property
    def total(self) -> int:
        return len(self.status) - 1

    @property
    def begun(self) -> Time:
        """When it was begun to be executed: with the choice of its plan, if it has one."""
        return 0 if self.plan is None else self.plan.at

    @property
    def settled(self) -> int:
        """Tasks that are done, failed for good, or need one that did."""
        return self.done + self.failed + self.blocked

    @property
    def is_of_calls(self) -> bool:
        """Whether its tasks are Python calls, which no journal holds: it cannot be resumed."""
        return not self.work or self.has_calls

    def attempts_of(self, task: int) -> Sequence[int]:
        """Live attempts of a task, oldest first."""
        return self.live_of.get(task, ())

    def may_replicate(self, task: int) -> bool:
        """Whether another attempt may begin beside those of the task that live.

        One that has failed gets no more than its retries, and those that live may be such.
        """
        failures = self.failures[task]
        return not failures or failures + len(self.attempts_of(task)) <= self.limits.retries

    def locate(self, task: int) -> tuple[Bag | Flow, int]:
        """The bag or workflow a task belongs to, and its index there."""
        if not 1 <= task <= self.total:
            raise KeyError(task)
        before, work = self.work[self.work.place_of(task)]
        return work.tasks, task - before - 1

    def work_of(self, task: int) -> int:
        """The number of the work that a task belongs to."""
        return self.work.place_of(task) + 1

    def workflows(self) -> Iterator[tuple[int, Flow]]:
        """Those that arrived, each with the number before its first task."""
        for before, work in self.work:
            if isinstance(work.tasks, Flow):
                yield before, work.tasks

    def account_of(self, task: int) -> str:
        """Who pays for a task: its owner, where the run has several accounts."""
        return self.work[self.work.place_of(task)][1].owner if self.goal.accounts else ""

    def command(self, task: int) -> tuple[str, ...]:
        work, index = self.locate(task)
        return work.command(index)

    def describe(self, task: int) -> str:
        work, index = self.locate(task)
        return work.describe(index)

    def story(self, task: int) -> list[str]:
        """What happened to a task, a line an attempt."""
        status = TaskStatus(self.status[task]).name.lower()
        lines = [f"task {task} ({cut(self.describe(task))}): {status}"]
        offers = {charge.machine: charge.offer.name for charge in self.ledger.charges()}
        for attempt in range(1, len(self.log) + 1):
            if self.log.task[attempt] != task:
                continue
            code = self.log.outcome[attempt]
            live = code == AttemptLog.LIVE
            ended = format_duration(self.log.ended[attempt])
            end = "runs" if live else f"{OUTCOMES[code]} at {ended}"
            machine = self.log.machine[attempt]
            lines.append(
                f"  attempt {attempt} on {offers.get(machine, 'machine')}-{machine}"
                f" from {format_duration(self.log.started[attempt])}: {end}"
            )
        return lines

    def expects(self, event: ev.AnyEvent) -> bool:
        """Whether an observation concerns something that still lives; late ones are dropped."""
        if isinstance(event, ev.AttemptEnded):
            return event.attempt in self.attempts
        if isinstance(event, ev.MachineDown):
            return event.machine in self.machines
        if isinstance(event, ev.MachineUp):
            machine = self.machines.get(event.machine)
            return machine is not None and machine.up is None
        if isinstance(event, ev.LossAnnounced):
            machine = self.machines.get(event.machine)
            return machine is not None and not machine.leaving
        return True

    # --- changing --------------------------------------------------------------------------------

    def apply(self, event: ev.AnyEvent) -> None:
        if event.at < self.now:
            raise InvariantError(f"time ran back from {self.now} to {event.at}: {event}")
        self._appliers[type(event)](event)
        self.now = self.ledger.now = event.at
        self.events += 1

    def _run_created(self, event: ev.RunCreated) -> None:
        self.created = event
        self.run = event.run
        self.market = event.market
        self.goal = event.goal
        self.limits = event.limits
        self.ledger = Ledger(event.goal.budgets())
        self.periods.append((event.at, event))

    def _work_arrived(self, event: ev.WorkArrived) -> None:
        first, tasks = self.total + 1, event.work.tasks
        self._make_room(event.work)
        if isinstance(tasks, Bag):
            self.has_calls = self.has_calls or not tasks.template
            self.precedence.add_free(tasks.count)
            self.ready.extend(range(first, first + tasks.count))
            self.changes.ready.note_all(range(first, first + tasks.count))
            return
        for task, waits in enumerate(self.precedence.add_flow(tasks), first):
            if waits:
                self.status[task] = WAITING
                self.waiting += 1
            else:
                self._make_ready(task)

    def _make_ready(self, task: int) -> None:
        self.status[task] = READY
        self.ready.add(task)
        self.changes.ready.note(task)

    def _make_room(self, work: Work) -> None:
        """The columns of its tasks, which are all READY."""
        self.work.add(self.total, work, self.events + 1)
        self.status.extend(bytes(work.count))
        self.failures.extend(array("l", bytes(self.failures.itemsize * work.count)))
        self.winners.extend(array("q", bytes(8 * work.count)))

    def _files_found(self, event: ev.FilesFound) -> None:
        self.files_found = (self.files_found or set()) | set(event.names)
        self.file_links |= event.links

    def _arrivals_ended(self, event: ev.ArrivalsEnded) -> None:
        self.arrivals_open = False

    def _goal_changed(self, event: ev.GoalChanged) -> None:
        self.goal = event.goal
        self.ledger.change(event.goal.budgets())

    def _plans_offered(self, event: ev.PlansOffered) -> None:
        self.offered = event

    def _plan_chosen(self, event: ev.PlanChosen) -> None:
        self.plan = event
        self.committed_before_plan = self.ledger.committed

    def _strategy_chosen(self, event: ev.StrategyChosen) -> None:
        self.strategy = event

    def _assignment_changed(self, event: ev.AssignmentChanged) -> None:
        self.assignment = event

    def _budget_refilled(self, event: ev.BudgetRefilled) -> None:
        """The ledger knows by the time what is left."""

    def _stop_requested(self, event: ev.StopRequested) -> None:
        self.stopping = event

    def _run_resumed(self, event: ev.RunResumed) -> None:
        self.pauses.append((self.now, event.at))
        self.periods.append((event.at, event))
        if event.outputs and self.created is not None:
            options = msgspec.structs.replace(self.created.made_with, outputs=event.outputs)
            self.created = msgspec.structs.replace(self.created, options=options)
        self.stopping = None
        self.ended = None
        self.refusals.clear()

    def _retry_requested(self, event: ev.RetryRequested) -> None:
        for task in event.tasks:
            del self.failed_tasks[task]
            self.failed -= 1
            self.failures[task] = 0
            self._make_ready(task)
            self._move_below(task, BLOCKED, WAITING)
        for task in self.failed_tasks:
            self._move_below(task, WAITING, BLOCKED)

    def _run_ended(self, event: ev.RunEnded) -> None:
        self.ended = event

    def _machine_rented(self, event: ev.MachineRented) -> None:
        offer = self.market[event.offer]
        self.machines_rented = event.machine
        begun = self._begun_on[event.machine] = {}
        self.machines[event.machine] = Machine(
            event.machine,
            offer,
            event.at,
            event.until,
            attempts=MappingProxyType(begun),
            account=event.account,
        )
        self.changes.machines.note(event.machine)
        self.fleet[offer.name] = self.fleet.get(offer.name, 0) + 1
        self.ledger.commit(event.machine, offer, event.at, event.until, event.account)

    def _lease_extended(self, event: ev.LeaseExtended) -> None:
        _change(self.machines[event.machine], "until", event.until)
        self.changes.machines.note(event.machine)
        self.ledger.extend(event.machine, event.until)

    def _release_marked(self, event: ev.ReleaseMarked) -> None:
        _change(self.machines[event.machine], "marked", True)
        self.changes.machines.note(event.machine)

    def _release_ordered(self, event: ev.ReleaseOrdered) -> None:
        machine = self.machines[event.machine]
        self._begin_to_leave(machine)
        _change(machine, "releasing", True)
        for attempt in (*machine.attempts, *machine.waiting):
            self.changes.attempts.note(attempt)

    def _loss_announced(self, event: ev.LossAnnounced) -> None:
        machine = self.machines[event.machine]
        self._begin_to_leave(machine)
        _change(machine, "doomed", event.gone)

    def _begin_to_leave(self, machine: Machine) -> None:
        """Count a machine among those that leave, once: one may be announced, then released."""
        self.changes.machines.note(machine.id)
        if not machine.leaving:
            name = machine.offer.name
            self.fleet[name] -= 1
            self.leaving[name] = self.leaving.get(name, 0) + 1
            self.idle.discard(machine.id)

    def _machine_up(self, event: ev.MachineUp) -> None:
        machine = self.machines[event.machine]
        _change(machine, "up", event.at)
        self.changes.machines.note(event.machine)
        self.refusals.pop(machine.offer.name, None)
        if not machine.leaving:
            self.idle.add(machine.id)

    def _machine_adopted(self, event: ev.MachineAdopted) -> None:
        machine = self.machines[event.machine]
        _change(machine, "up", None)
        self.changes.machines.note(event.machine)
        self.idle.discard(machine.id)

    def _machine_down(self, event: ev.MachineDown) -> None:
        machine = self.machines.pop(event.machine)
        _change(machine, "down", True)
        self.changes.machines.note(event.machine)
        counts = self.leaving if machine.leaving else self.fleet
        counts[machine.offer.name] -= 1
        self.idle.discard(machine.id)
        for attempt in sorted((*machine.attempts, *machine.waiting)):
            live = self.attempts[attempt]
            self._end_attempt(live, event.at, event.at - live.started, _fate_of_attempts(event))
        del self._begun_on[machine.id]
        if event.cause == "refused":
            self.ledger.void(machine.id)
            since = self.refusals.get(machine.offer.name)
            self.refusals[machine.offer.name] = Refusal(
                event.at if since is None else since.since, event.at
            )
        else:
            self.ledger.close(machine.id, event.at if event.ended is None else event.ended)

    def _attempt_started(self, event: ev.AttemptStarted) -> None:
        machine = self.machines[event.machine]
        task = event.task
        self.attempts[event.attempt] = Attempt(
            event.attempt, task, machine, event.at, event.measure
        )
        self.log.begin(task, machine.id, event.at)
        self.changes.attempts.note(event.attempt)
        if machine.is_full:
            _change(machine, "waiting", (*machine.waiting, event.attempt))
        else:
            self._begun_on[machine.id][event.attempt] = None
            if machine.is_full:
                self.idle.discard(machine.id)
        if task in self.live_of:
            self.live_of[task].append(event.attempt)
        else:
            self.live_of[task] = [event.attempt]
            if self.status[task] == READY:
                self.ready.discard(task)
                self.status[task] = RUNNING

    def _cancel_ordered(self, event: ev.CancelOrdered) -> None:
        _change(self.attempts[event.attempt], "cancelling", True)
        self.changes.attempts.note(event.attempt)

    def _attempt_ended(self, event: ev.AttemptEnded) -> None:
        attempt = self.attempts[event.attempt]
        task = attempt.task
        if event.outcome == "success":
            if self.status[task] == RUNNING:
                self.status[task] = DONE
                self.winners[task] = attempt.id
                self.done += 1
                self.last_settled = event.at
                for child in self.precedence.done(task):
                    self.waiting -= 1
                    self._make_ready(child)
                if (forgotten := self.work.done(task)) is not None:
                    self.precedence.forget(forgotten)
        elif event.outcome in ("failed", "timeout"):
            self.failures[task] += 1
            self._judge(task, event)
        self._end_attempt(attempt, event.at, event.runtime, event.outcome)

    def _action_refused(self, event: ev.ActionRefused) -> None:
        """A refusal changes nothing but the record."""

    def _judge(self, task: int, event: ev.AttemptEnded) -> None:
        """A task fails for good when its retries are used up and no other attempt lives."""
        alone = len(self.live_of[task]) == 1
        if self.status[task] == RUNNING and alone and self.failures[task] > self.limits.retries:
            self.status[task] = FAILED
            self.failed += 1
            self.failed_tasks[task] = Failure(event.attempt, event.exit_code, event.why)
            self.last_settled = event.at
            self._move_below(task, WAITING, BLOCKED)

    def _move_below(self, task: int, old: TaskStatus, new: TaskStatus) -> None:
        """Give what needs a task, also through others, another status."""
        moved = 0
        for one in self.precedence.below(task, lambda child: self.status[child] == old):
            self.status[one] = new
            moved += 1
        gain = moved if new == BLOCKED else -moved
        self.blocked += gain
        self.waiting -= gain

    def _end_attempt(self, attempt: Attempt, at: Time, runtime: Time, outcome: ev.Outcome) -> None:
        task = attempt.task
        del self.attempts[attempt.id]
        self.log.end(attempt.id, at, runtime, outcome)
        self.changes.attempts.note(attempt.id)
        self._leave_slot(attempt, at)
        live = self.live_of[task]
        if len(live) > 1:
            live.remove(attempt.id)
            return
        del self.live_of[task]
        if self.status[task] == RUNNING:
            self._make_ready(task)

    def _leave_slot(self, attempt: Attempt, at: Time) -> None:
        """The slot of an attempt goes to the first that waits there, else it is free."""
        machine = attempt.machine
        if attempt.id in machine.waiting:
            _change(machine, "waiting", tuple(n for n in machine.waiting if n != attempt.id))
            return
        begun = self._begun_on[machine.id]
        begun.pop(attempt.id, None)
        if machine.waiting:
            following = self.attempts[machine.waiting[0]]
            _change(machine, "waiting", machine.waiting[1:])
            begun[following.id] = None
            _change(following, "started", at)
            self.log.started[following.id] = at
            self.changes.attempts.note(following.id)
        elif machine.is_open:
            self.idle.add(machine.id)

    # --- verifying -------------------------------------------------------------------------------

    def check(self) -> None:
        """Verify every invariant; slow, for tests."""
        from bursar.state.invariants import check

        check(self)


def _fate_of_attempts(event: ev.MachineDown) -> ev.Outcome:
    """What became of what ran on a machine: it was taken away, or we gave it back."""
    return "lost" if event.cause in ("lost", "refused") else "released"


def fold(events: Iterable[ev.AnyEvent]) -> RunState:
    """The state that a journal tells."""
    state = RunState()
    for event in events:
        state.apply(event)
    return state
