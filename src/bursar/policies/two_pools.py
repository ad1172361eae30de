"""The process that ExPERT schedules a bag by on two pools (sections 3 and 4.4, figure 3).

While there are enough tasks for all unreliable machines, each task has one instance at a time
there, given up after a default deadline. In the tail of its work (`policies.work_tails`) a task
without a result gets others, as the work's strategy NTDMr says. An instance of the tail is given up
after the deadline D; until then a late result counts.

The paper takes no failure as known before the deadline. Here an instance that is known to be lost
is followed by the next one at once, and so is one whose machine will be taken away before it is
likely to end. Where nothing comes back for long, reliable machines help: see `policies.early_help`.

`TwoPools` decides; the entries `mixed`, `pooled` and `ntdmr` carry its decisions to the engine.
"""

from __future__ import annotations

from heapq import heappop, heappush
from random import Random

from bursar.model.fleet import Fleet
from bursar.model.strategy import Kind, Strategy
from bursar.model.time import Time
from bursar.model.work import Bag, Work
from bursar.policies.deadline_help import DeadlineHelp
from bursar.policies.early_help import EarlyHelp
from bursar.policies.lost_tasks import LostTasks
from bursar.policies.pool_machines import (
    Free,
    all_refused,
    at_work,
    doomed_tasks,
    is_interim,
    is_unreliable,
    on_slowest,
    reliable_at_work,
    reliable_cost,
    slots_to_be_had,
)
from bursar.policies.pool_queues import PoolQueues
from bursar.policies.pool_timeout import ENOUGH, PoolTimeout
from bursar.policies.work_strategies import WorkStrategies
from bursar.policies.work_tails import WorkTails
from bursar.state import events as ev
from bursar.state.actions import Cancel, Start
from bursar.state.fleet_counts import FleetCounts
from bursar.state.task_status import DONE
from bursar.state.view import View


class TwoPools:
    """The queues of both pools, and what is due when."""

    def __init__(
        self,
        fleet: Fleet,
        unreliable: int,
        strategy: Strategy | None = None,
        timeout: Time | None = None,
        *,
        in_order: bool = False,
        runs_on: bool = False,
    ) -> None:
        self.strategies = WorkStrategies(strategy)
        """of each work its own; `strategy` is of those that have none"""
        self.starts: list[Start] = []
        """to be started now"""
        self.cancels: list[Cancel] = []
        """to be given up now"""
        self.fleet = fleet
        """the most machines of each offer"""
        self.unreliable = unreliable
        """the size of the pool, in slots; what a strategy's ratio refers to"""
        self._timeout = PoolTimeout(timeout)
        self.counts = FleetCounts()
        """of machines and attempts, as at the last look"""
        self._early_help = EarlyHelp(fleet, unreliable, self._timeout, self.counts)
        self._deadline_help = DeadlineHelp()
        self._lost = LostTasks()
        self._in_order = in_order
        """tasks are sent by their numbers, not at random, which makes a fair sample of the first"""
        self._runs_on = runs_on
        """an instance that was sent runs to its end, even when its task has a result"""
        self._returned: list[int] = []
        """tasks that have no live attempt any more, or were given up, and are not yet queued"""
        self._settled = bytearray(1)
        self.queues = PoolQueues(self._settled, self.strategies.work_of)
        self.tails = WorkTails(self.strategies, self.queues)
        self._sent: dict[int, Time] = {}
        """by task without a result, when it was last sent to the unreliable pool"""
        self._deadlines: list[tuple[Time, int]] = []
        """heap of when an instance of the tail is given up"""
        self._tail_starts: set[tuple[int, int]] = set()
        """task and machine of what is sent in the tail, until it is an attempt"""
        self._announced: list[int] = []
        """machines that were just announced to be taken away"""
        self._spare = 0
        """unreliable slots without a task, also those that are yet to be rented or freed"""
        self._reliable_at_work = 0
        """reliable slots that have a task, those of `starts` among them"""
        self._first_end: Time | None = None
        """when what is sent now is given up; it is no attempt yet"""
        self._lacks_machines = False
        """the tail wants unreliable machines that are not available now"""
        self._paid_all = False
        """all that remained was sent to the reliable pool, as the budget allowed"""
        self.lacks_unreliable = False
        """unreliable machines are no longer available: all goes to reliable ones"""

    def resize(self, fleet: Fleet, unreliable: int) -> None:
        """Another fleet, with so many unreliable slots."""
        self.fleet, self.unreliable = fleet, unreliable
        self._early_help.resize(fleet, unreliable)

    # --- what happened ---------------------------------------------------------------------------

    def saw(self, event: ev.AnyEvent, state: View) -> None:
        self.strategies.saw(event, state)
        self._deadline_help.saw(event, state)
        self._lost.saw(event, state)
        match event:
            case ev.WorkArrived(work=Work(tasks=Bag())):
                first = state.total - event.work.count + 1
                self._settled.extend(bytes(event.work.count))
                self._returned.extend(range(first, state.total + 1))
                self.tails.arrived(len(state.work), event.work.count)
            case ev.WorkCancelled():
                self._cancelled(event.work, state)
            case ev.AttemptStarted():
                self._attempt_started(event, state)
            case ev.AttemptEnded():
                self._attempt_ended(event, state)
            case ev.LossAnnounced():
                self._announced.append(event.machine)
            case ev.MachineDown() | ev.RetryRequested():
                self._returned.extend(state.ready)
            case ev.StrategyChosen() | ev.PlanChosen(strategy=Strategy()):
                self.tails.strategy_chosen(event.work)
            case ev.RunResumed():
                self._begin_again()
            case _:
                pass

    def _cancelled(self, number: int, state: View) -> None:
        """None of its tasks is wanted any more."""
        before, work = state.work[number - 1]
        for task in range(before + 1, before + 1 + work.count):
            self._sent.pop(task, None)
            self.tails.settle(task)

    def _attempt_started(self, event: ev.AttemptStarted, state: View) -> None:
        if state.machines[event.machine].offer.pool == "reliable":
            return
        self._sent.setdefault(event.task, event.at)  # which a replay shows that did not send it
        limit = self._timeout.longer_with(event.task)
        if (event.task, event.machine) in self._tail_starts:
            self._tail_starts.remove((event.task, event.machine))
            strategy = self.strategies.of(event.task)
            if strategy is not None and strategy.is_timed:
                limit = max(strategy.deadline, limit)
        if limit:
            heappush(self._deadlines, (event.at + limit, event.attempt))
        else:
            self._timeout.watch(event.attempt, event.at)

    def _attempt_ended(self, event: ev.AttemptEnded, state: View) -> None:
        task = state.log.task[event.attempt]
        if state.status[task] >= DONE:
            self.tails.settle(task)
            self._sent.pop(task, None)
        elif event.outcome != "cancelled":
            self._returned.append(task)
        machine = state.machines.get(state.log.machine[event.attempt])
        if event.outcome != "success" or machine is None:
            return
        if is_unreliable(machine):
            self._timeout.returned(event.at - state.log.started[event.attempt])
        else:
            self._timeout.returned_surely(on_slowest(state, event.runtime, machine.offer.speed))

    def _begin_again(self) -> None:
        """What ran before is gone: tails are opened again with what remains."""
        self._paid_all = False
        self._timeout.forget()
        self.tails.begin_again()
        for one in (
            self.queues,
            self._sent,
            self._deadlines,
            self._tail_starts,
            self._announced,
        ):
            one.clear()
        # Index 0 is no task; the rest is queued again as far as it is not settled.
        self._returned = [task for task, done in enumerate(self._settled) if task and not done]

    def saw_before(self, view: View) -> None:
        """Learn what happened before anybody watched; the tail is opened again when it goes on."""
        for one in (
            self.strategies,
            self._deadline_help,
            self._timeout,
            self.tails,
            self._lost,
        ):
            one.saw_before(view)
        self._settled[1:] = bytes(status >= DONE for status in view.status[1:])
        self._returned = list(view.ready)

    # --- what to do ------------------------------------------------------------------------------

    def advance(self, view: View, now: Time, rng: Random) -> None:
        """Decide what is sent and given up at this moment."""
        self.rest()
        self.counts.look(view)
        self._reliable_at_work = reliable_at_work(view, self.counts)
        self._adopt(view)
        free = Free(view)
        self._early_help.look(view, now, self.strategies.in_force)
        self._look_at_deadline(view, now)
        self._seek_help(view, now)
        self._give_up(view, now)
        doomed, self._announced = self._announced, []
        self._returned += doomed_tasks(view, doomed, self._timeout, now)
        # What runs on machines that will be taken away is no longer among those available.
        self._spare = max(
            0,
            slots_to_be_had(view, self.counts, self.fleet)
            - at_work(view, self.counts, self.cancels),
        )
        self._lacks_machines = self._has_no_more(view)
        self._collect(view, now, rng)
        if self._has_kind(Kind.ALL_RELIABLE):
            self._move_all_to_reliable()
        self._spend_budget(view)
        self._dispatch(free, now)
        self.tails.open(self._slots(view), self._sent, now)
        while True:
            self._spend_budget(view)
            self.tails.take_dues(now, paid_all=self._paid_all)
            if not self._dispatch(free, now):
                return

    def _adopt(self, view: View) -> None:
        """Take on work that arrived before anybody watched."""
        missing = view.total + 1 - len(self._settled)
        if missing > 0:
            first = len(self._settled)
            self._settled.extend(bytes(missing))
            self.tails.saw_before(view)
            self._returned.extend(task for task in view.ready if task >= first)

    def rest(self) -> None:
        """Nothing happened and nothing is due: what was decided before is done."""
        self.starts, self.cancels, self._first_end = [], [], None

    def next_look(self) -> Time | None:
        """When something is due next."""
        first = self._deadlines[0][0] if self._deadlines else None
        own = (first, self.tails.next_due, self._first_end)
        others = (self._timeout.next_end(), self._deadline_help.moment)
        return min((end for end in (*own, *others) if end is not None), default=None)

    @property
    def results(self) -> int:
        """Results of the unreliable pool."""
        return self._timeout.results

    @property
    def timeout(self) -> Time | None:
        """The deadline of an instance in the throughput phase (section 5.3); None: not known."""
        return self._timeout.known

    @property
    def reliable_limit(self) -> int:
        """Reliable slots that may be used at once."""
        force = self.strategies.in_force
        limit = max(0 if one is None else one.reliable_machines(self.unreliable) for one in force)
        if not self.tails.are_open:
            limit = max(limit, self._early_help.limit)
        limit = max(limit, self._deadline_help.slots)
        return max(limit, self.unreliable) if self.lacks_unreliable else limit

    @property
    def reliable_demand(self) -> int:
        """Tasks that wait for a reliable machine."""
        spare = max(0, len(self.queues.unreliable) - self._left_to_spot)
        return self.queues.unsettled_reliable + (spare if self._combines else 0)

    @property
    def has_use_for_reliable(self) -> bool:
        """Whether tasks wait for reliable machines, and no more of these work than may."""
        return bool(self.reliable_demand) and self._reliable_at_work < self.reliable_limit

    @property
    def is_reserving(self) -> bool:
        """Whether reliable machines work before the tail because somebody prefers it."""
        return not self.tails.are_open and any(map(is_interim, self.strategies.in_force))

    @property
    def helps_deadline(self) -> bool:
        """Whether reliable machines take part for the sake of the deadline."""
        return self._deadline_help.slots > 0

    @property
    def _left_to_spot(self) -> int:
        """Queued tasks that find an unreliable slot; close to the deadline nobody counts on it."""
        return 0 if self.helps_deadline or self.lacks_unreliable else max(0, self._spare)

    @property
    def _combines(self) -> bool:
        """Whether reliable machines take what finds no unreliable one."""
        is_before = not self.tails.are_open
        if is_before and self._has_kind(Kind.COMBINED_THEN_BOTH):
            return True
        if self.helps_deadline:
            return True
        is_barren = self._early_help.is_barren and is_before
        lacks = self.lacks_unreliable or self._lacks_machines or is_barren
        return lacks or self._has_kind(Kind.COMBINED)

    def _has_kind(self, kind: Kind) -> bool:
        return any(one is not None and one.kind == kind for one in self.strategies.in_force)

    # --- the steps -------------------------------------------------------------------------------

    def _look_at_deadline(self, view: View, now: Time) -> None:
        """Close to the deadline reliable machines take part, also in what runs elsewhere."""
        self._deadline_help.look(view, now, self.fleet)
        if self.helps_deadline and not self.queues.unreliable:
            for task in sorted(self._sent)[: self._deadline_help.slots]:
                rivals = (view.attempts[one].machine for one in view.attempts_of(task))
                if all(map(is_unreliable, rivals)):
                    self.queues.add_reliable(task)

    def _give_up(self, view: View, now: Time) -> None:
        waiting = len(self.queues.reliable) > 0
        if self.tails.opened or not self._early_help.is_testing(view, now, waiting=waiting):
            for attempt in self._timeout.overdue(view, now):
                self._cancel(view, attempt)
        while self._deadlines:
            deadline, attempt = self._deadlines[0]
            if attempt in view.attempts and deadline > now:
                break
            heappop(self._deadlines)
            self._cancel(view, attempt)

    def _cancel(self, view: View, attempt: int) -> None:
        live = view.attempts.get(attempt)
        if live is None or live.cancelling:
            return
        self.cancels.append(Cancel(attempt, reason="no result by its deadline", give_up=True))
        self._timeout.gave_up(live.task)
        strategy = self.strategies.of(live.task)
        is_timed = self.tails.has(live.task) and strategy is not None and strategy.is_timed
        rivals = (view.attempts[one].machine for one in view.attempts_of(live.task))
        if not is_timed and not self._settled[live.task] and all(map(is_unreliable, rivals)):
            self._returned.append(live.task)

    def _seek_help(self, view: View, now: Time) -> None:
        """Let reliable machines help where nothing comes back; without them all is sent again."""
        if self.tails.are_open or self._has_kind(Kind.ALL_RELIABLE) or self._paid_all:
            return
        if not self._early_help.may_help(view, now, self.strategies.in_force):
            for _ in range(len(self.queues.reliable)):
                task = self.queues.take_reliable()
                (self.queues.add_reliable if self.tails.has(task) else self.queues.add)(task)
        elif self._early_help.tests(view, now):
            tasks = [self.queues.take() for _ in range(min(ENOUGH, len(self.queues.unreliable)))]
            tasks += sorted(self._sent, key=self._sent.__getitem__)[: ENOUGH - len(tasks)]
            for task in tasks:
                self.queues.add_reliable(task)

    def _collect(self, view: View, now: Time, rng: Random) -> None:
        """Queue what came back; in the tail its next instance is due at once."""
        waits = self.queues.has_reliable
        returned = sorted(
            {one for one in self._returned if not self._settled[one] and not waits(one)}
        )
        self._returned = []
        if self.tails.opened:
            for task in filter(self.tails.has, returned):
                self.tails.came_back(task, view, now)
            returned = [task for task in returned if not self.tails.has(task)]
        if not self._in_order:
            rng.shuffle(returned)
        enqueue = self.queues.add_reliable if self._early_help.is_barren else self.queues.add
        for task in returned:
            enqueue(task)

    def _move_all_to_reliable(self) -> None:
        """All tasks of works whose strategy is that; the others stay in their order."""
        for _ in range(len(self.queues.unreliable)):
            task = self.queues.take()
            strategy = self.strategies.of(task)
            if strategy is not None and strategy.kind == Kind.ALL_RELIABLE:
                self.queues.add_reliable(task)
            else:
                self.queues.add(task)

    def begins_tail(self, work: int, view: View) -> bool:
        """Whether fewer tasks of a work remain than there are unreliable machines, and all were
        sent.
        """
        return self.tails.begins(work, self._slots(view))

    def _slots(self, view: View) -> int:
        """Unreliable slots that are there, or can be rented."""
        self.counts.look(view)
        return min(self.unreliable, slots_to_be_had(view, self.counts, self.fleet))

    def _has_no_more(self, view: View) -> bool:
        """Whether a tail that ends on reliable machines finds no other unreliable one."""
        force = map(self.strategies.of_work, self.tails.opened)
        return any(one and one.needs_reliable for one in force) and all_refused(view, self.fleet)

    def _spend_budget(self, view: View) -> None:
        """Replicate all that remains on the reliable pool, once what is left of the budget pays it.

        Section 5.3, B=7.5.
        """
        budgets = [one.budget for one in self.strategies.in_force if one and one.budget is not None]
        if not budgets or self._paid_all:
            return
        cost = reliable_cost(view, self._timeout.turnaround // max(1, self.results))
        if not self.results or cost + view.ledger.committed > min(budgets):
            return
        self._paid_all = True
        for task in range(1, view.total + 1):
            strategy = self.strategies.of(task)
            if not self._settled[task] and strategy is not None and strategy.budget is not None:
                self.queues.add_reliable(task)

    # --- sending ---------------------------------------------------------------------------------

    def _dispatch(self, free: Free, now: Time) -> bool:
        """Give queued tasks to free machines, first come, first served; whether any was given."""
        before = len(self.starts)
        while self.queues.unreliable and free.unreliable:
            task = self.queues.take()
            if not self._settled[task]:
                self._send(task, *free.take_unreliable(task, self._lost.lost_on(task)), now)
        while self.queues.reliable and free.reliable:
            task = self.queues.take_reliable()
            if not self._settled[task]:
                self._send_reliable(task, free.reliable.pop())
        # What is just being given up leaves a slot to the first in the queue.
        combines = self._combines and (self.helps_deadline or not self.cancels)
        while combines and len(self.queues.unreliable) > self._left_to_spot and free.reliable:
            if self._reliable_at_work >= self.reliable_limit:
                break
            # What was lost is last in the queue, and longer than most: it belongs where it stays.
            task = self.queues.take_last() if self.is_reserving else self.queues.take()
            if not self._settled[task]:
                self._send_reliable(task, free.reliable.pop())
        return len(self.starts) > before

    def _send(self, task: int, machine: int, apart: str, now: Time) -> None:
        reason = "no result so far: sent again" if task in self._sent else ""
        self._sent[task] = now
        self._spare -= 1
        limit = self._timeout.shortest
        if self.tails.has(task):
            strategy = self.strategies.of(task)
            assert strategy is not None  # noqa: S101
            limit = strategy.deadline if strategy.is_timed else limit
            self._tail_starts.add((task, machine))
            reason = f"no result so far: attempt {self.tails.stage_of(task)} of the tail"
            self.tails.sent(task, now)
        self._first_end = now + limit
        if apart:
            reason += f", on another kind of machine than {apart}"
        self.starts.append(Start(task, machine, reason, measure=self._runs_on))

    def _send_reliable(self, task: int, machine: int) -> None:
        """No other instance will be needed."""
        self.tails.ends_with(task)
        why = "no result so far" if task in self._sent else "both pools take part"
        self._reliable_at_work += 1
        reason = f"{why}: on a reliable machine"
        self.starts.append(Start(task, machine, reason, measure=self._runs_on))
