"""The tails of works on two pools: each work has its own (ExPERT, sections 2.1 and 3).

The tail of a work begins when fewer of its tasks remain than there are unreliable machines, and all
of them were sent; other works may still be at their beginning, and more may arrive. It is opened
once the work's strategy NTDMr is known. From then on a task of it without a result gets its next
instance when the timeout T has passed since it was last sent: N of them for the unreliable pool,
then one for the reliable pool. What a tail sends again goes before the tasks of other works that
were never sent: it is what its work waits for.

`policies.two_pools` asks here what is due.
"""

from __future__ import annotations

from collections.abc import Mapping

from bursar.beliefs.reliability import is_tail
from bursar.model.strategy import Kind
from bursar.model.time import Time
from bursar.policies.pool_queues import PoolQueues, TaskDues
from bursar.policies.work_strategies import ENDLESS, WorkStrategies
from bursar.state.task_status import DONE
from bursar.state.view import View


class WorkTails:
    """What is left of each work, whose tail is open, and when its tasks are due."""

    def __init__(self, strategies: WorkStrategies, queues: PoolQueues) -> None:
        self._strategies, self._queues = strategies, queues
        self._left: dict[int, int] = {}
        """by work that is not settled, its tasks that are not"""
        self._begun: set[int] = set()
        """works whose tail has begun"""
        self.opened: dict[int, Time] = {}
        """by work that is not settled, since when its strategy is followed in its tail"""
        self.last_opened: Time | None = None
        """when a tail was last opened; None: none was"""
        self._stage: dict[int, int] = {}
        """by task, instances queued in the tail; above N no other will be"""
        self._dues = TaskDues()

    # --- what happened ---------------------------------------------------------------------------

    def arrived(self, work: int, tasks: int) -> None:
        self._left[work] = tasks

    def settle(self, task: int) -> None:
        """It has a result, or will get none."""
        self._dues.drop(task)
        if not self._queues.settle(task):
            return
        work = self._strategies.work_of(task)
        left = self.left_of(work) - 1
        if left > 0:
            self._left[work] = left
        else:
            self._left.pop(work, None)
            self.opened.pop(work, None)
            self._begun.discard(work)

    def strategy_chosen(self, work: int) -> None:
        """Its tail is opened again, with the new one."""
        self.opened.pop(work, None)

    def begin_again(self) -> None:
        """What ran before is gone: tails are opened again with what remains."""
        for one in (self._begun, self.opened, self._stage, self._dues):
            one.clear()

    def saw_before(self, view: View) -> None:
        """Learn what is left of works that arrived before anybody watched."""
        self._left = {}
        for place, (before, work) in enumerate(view.work):
            tasks = range(before + 1, before + 1 + work.count)
            left = sum(view.status[task] < DONE for task in tasks)
            if left:
                self._left[place + 1] = left

    # --- beginning and opening -------------------------------------------------------------------

    @property
    def are_open(self) -> bool:
        """Whether all works that are not settled are in their tails, which are open."""
        return self.opened.keys() >= self._left.keys()

    def left_of(self, work: int) -> int:
        """Tasks that are not settled."""
        return self._left.get(work, 0)

    def begins(self, work: int, slots: int) -> bool:
        """Whether fewer of its tasks remain than there are unreliable slots, and all were sent."""
        return is_tail(self.left_of(work), slots) and not self._queues.has_work(work)

    def open(self, slots: int, sent: Mapping[int, Time], now: Time) -> None:
        """Open the tails that begin, or began before, and whose strategies are known.

        `sent` has the tasks that were sent and have no result, and when.
        """
        for work in sorted(self._left.keys() - self.opened.keys()):
            if work not in self._begun and self.begins(work, slots):
                self._begun.add(work)
            if work in self._begun and self._strategies.of_work(work) is not None:
                self._open(work, sent, now)

    def _open(self, work: int, sent: Mapping[int, Time], now: Time) -> None:
        self.opened[work] = self.last_opened = now
        strategy, copies = self._strategies.of_work(work), self._strategies.copies_of(work)
        assert strategy is not None  # noqa: S101
        for task in sorted(one for one in sent if self._strategies.work_of(one) == work):
            if self._queues.has(task) or self._stage.get(task, 0) > copies:
                continue
            if strategy.kind == Kind.COMBINED_THEN_BOTH:
                self._queues.add_first(task)
                self._queues.add_reliable(task)
                self.ends_with(task)
            else:
                self._dues.set(task, max(now, sent[task] + strategy.timeout))

    # --- tasks -----------------------------------------------------------------------------------

    def has(self, task: int) -> bool:
        """Whether the tail of its work is open."""
        return bool(self.opened) and self._strategies.work_of(task) in self.opened

    def stage_of(self, task: int) -> int:
        """Instances of it that were queued in the tail."""
        return self._stage.get(task, 0)

    def sent(self, task: int, now: Time) -> None:
        """An instance was sent to the unreliable pool in the tail: when the next one is due."""
        strategy = self._strategies.of(task)
        if strategy is not None and self.stage_of(task) <= self._copies_of(task):
            self._dues.set(task, now + strategy.timeout)

    def came_back(self, task: int, view: View, now: Time) -> None:
        """It has no instance any more, in the tail: its next one is due at once."""
        strategy = self._strategies.of(task)
        if self._queues.has(task) or strategy is None:
            return
        if strategy.copies is None or self.stage_of(task) <= strategy.copies:
            self._dues.set(task, now)
        elif task in view.ready:
            self._queues.add_reliable(task)

    def ends_with(self, task: int) -> None:
        """What it has now is the last that it gets."""
        self._stage[task] = ENDLESS + 1
        self._dues.drop(task)

    def take_dues(self, now: Time, *, paid_all: bool) -> None:
        """Queue an instance of each task whose timeout has passed.

        `paid_all`: those whose strategy is to spend a budget have had their last.
        """
        for task in self._dues.take(now):
            strategy, stage, copies = (
                self._strategies.of(task),
                self.stage_of(task),
                self._copies_of(task),
            )
            is_paid = paid_all and strategy is not None and strategy.budget is not None
            if self._queues.is_settled(task) or stage > copies or is_paid:
                continue
            if stage < copies:
                self._queues.add_first(task)
            else:
                self._queues.add_reliable(task)
            self._stage[task] = stage + 1

    def due_by(self, moment: Time, *, reliable: bool) -> int:
        """How many tasks may get another instance for this pool until then."""
        dues = self._dues.until(moment)
        return sum((self.stage_of(task) >= self._copies_of(task)) == reliable for task in dues)

    @property
    def next_due(self) -> Time | None:
        return self._dues.next

    def _copies_of(self, task: int) -> int:
        return self._strategies.copies_of(self._strategies.work_of(task))
