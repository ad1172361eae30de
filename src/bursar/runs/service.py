"""Service: a run that stays open, and takes bags and workflows while it goes on.

    with Service("market.toml", budget="5/d", fleet={"small": 4}) as service:
        nightly = service.submit(flow, owner="ann")
        urgent = service.submit(other, owner="bob", priority=5)
        service.set_priority(nightly, 9)
        service.cancel(urgent)
        service.wait(nightly)
        for work in service.list():
            print(work.number, work.owner, work.status, work.done, work.tasks)

Which task runs next is up to the placer; `priority` is the default. All methods can be called from
any thread; the run itself has a thread of its own.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from decimal import Decimal
from functools import partial
from pathlib import Path
from time import sleep
from typing import Final, Literal, Self, TypeVar

import msgspec

from bursar.execute.leftovers import find_files
from bursar.execute.staging import SHARED, check_outputs
from bursar.formats.market import given_market
from bursar.journal.runs import Home
from bursar.model.budget_text import budget_in
from bursar.model.dag import Dag
from bursar.model.errors import InputError, shown
from bursar.model.goal import Goal, Limits
from bursar.model.market import Market
from bursar.model.money import Money
from bursar.model.option_words import PYTHON
from bursar.model.time import SECOND, Time, parse_duration
from bursar.model.work import Bag, Work
from bursar.model.workflow import Workflow
from bursar.model.workflow_builder import WorkflowBuilder
from bursar.report.summary import Summary, summarise
from bursar.runs.executor_run import RunOver
from bursar.runs.request import Request, check_tasks
from bursar.runs.session import Session
from bursar.state import events as ev
from bursar.state.read_only import view_of
from bursar.state.state import RunState
from bursar.state.task_status import BLOCKED, CANCELLED, DONE, FAILED, RUNNING
from bursar.state.work_index import WorkIndex

Answer = TypeVar("Answer")
Events = list[ev.AnyEvent]
Standing = Literal["waiting", "running", "done", "failed", "cancelled"]
Submitted = Bag | Workflow | WorkflowBuilder | Dag | Work
MOST_PRIORITY: Final = 2**31
MOMENT: Final = 0.001
LONG_MOMENT: Final = 0.2
"""seconds after which somebody who waits for an answer looks again"""


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


class Service:
    """Takes work until it is closed; within the budget, on the machines of the market."""

    def __init__(
        self,
        market: Market | str | os.PathLike[str] | None = None,
        budget: str | int | Decimal | Money | None = None,
        *,
        placer: str = "priority",
        fleet: Mapping[str, int] | None = None,
        policies: Mapping[str, str] | None = None,
        files: str = SHARED,
        retries: int = 0,
        timeout: str | None = None,
        name: str | None = None,
        seed: int | None = None,
    ) -> None:
        """The arguments are options of `bursar run`; `placer` is the name of any placer."""
        known = given_market(market)
        money = None if budget is None else budget_in(known.currency, budget)
        request = Request(
            market=known,
            goal=Goal.within(money, None),
            limits=Limits(retries, None if timeout is None else parse_duration(timeout)),
            fleet=fleet,
            policies={"placer": placer, **(policies or {})},
            files=files,
            takes_workflows=True,
            name=name,
            seed=seed,
            asked=PYTHON,
        )
        self._home, self._files = Home.of(os.environ), files
        self._session = Session.begin(self._home, request)
        self._lock = threading.Condition()
        self._works = 0
        """that were submitted; they are numbered from 1"""
        self._settled: set[int] = set()
        """works of which nothing more will run"""
        self._writers: dict[Path, int] = {}
        """files that workflows write, and which"""
        self._is_closed = self._is_over = False
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._drive, name="bursar-service", daemon=True)
        self._thread.start()

    @property
    def run(self) -> str:
        """The run's name, for `bursar status` and `bursar why`."""
        return self._session.state.run

    # --- works -----------------------------------------------------------------------------------

    def submit(
        self,
        work: Submitted,
        *,
        owner: str | None = None,
        priority: int | None = None,
        deadline: str | None = None,
    ) -> int:
        """Let a bag or a workflow run; its number is what the other methods want."""
        known = _work_of(work, owner, priority, deadline)
        found: list[ev.AnyEvent] = []
        if known.workflow is not None:
            directory = self._session.directory
            check_tasks(known.workflow, self._files, directory)
            check_outputs(known.workflow, directory, self._home.path)
            found = [find_files(known.workflow, directory)] if self._files == SHARED else []
        with self._lock:
            self._check_open()
            self._claim(known)
            self._works += 1
            number = self._works
            self._session.post(
                lambda now: [
                    ev.WorkArrived(now, known),
                    *(msgspec.structs.replace(one, at=now) for one in found),
                ]
            )
        return number

    def _claim(self, work: Work) -> None:
        """No two works that are not settled write the same file of the directory."""
        flow = work.workflow
        if flow is None or self._files != SHARED:
            return
        names = [flow.files.names[file] for row in flow.files.written for file in row]
        paths = {self._session.directory / name: name for name in names}
        for path, name in paths.items():
            other = self._writers.get(path)
            if other is not None and other not in self._settled:
                raise InputError(
                    f"the file {shown(name)} is written by work {other}, which has not ended; wait"
                    " for it, or let this one write elsewhere"
                )
        self._writers.update(dict.fromkeys(paths, self._works + 1))

    def cancel(self, number: int, why: str = "requested") -> None:
        """Nothing more of this work begins, and what runs is stopped; what is done is kept."""
        self._check_number(number)
        self._session.post(ev.WorkCancelled(0, number, why))

    def set_priority(self, number: int, priority: int) -> None:
        """Larger is more urgent; what runs is not stopped for it."""
        self._check_number(number)
        _check_priority(priority)
        self._session.post(ev.PriorityChanged(0, number, priority))

    def list(self) -> list[WorkStatus]:
        """All works, in the order of their arrival."""
        return self._ask(lambda state: [_status(state, place) for place in range(len(state.work))])

    def status(self, number: int) -> WorkStatus:
        """How a work stands."""
        self._check_number(number)
        return self._ask(lambda state: _status(state, number - 1))

    def wait(self, number: int | None = None, timeout: float | None = None) -> bool:
        """Wait until a work is settled, or all that were submitted; False: not within the time.

        Raises `RunOver` if the run ends before.
        """
        if number is not None:
            self._check_number(number)
        with self._lock:
            wanted = set(range(1, self._works + 1)) if number is None else {number}

            def is_settled() -> bool:
                return wanted <= self._settled

            self._lock.wait_for(lambda: is_settled() or self._is_over, timeout)
            if not is_settled() and self._is_over:
                raise RunOver(f"run {self.run} is over: {self._why_over()}")
            return is_settled()

    # --- the run ---------------------------------------------------------------------------------

    def summary(self) -> Summary:
        """Tasks and money so far, as `bursar run --json` prints them."""
        return self._ask(summarise)

    def stop(self, why: str = "stopped by its program", *, now: bool = False) -> None:
        """Start nothing more; with `now`, end what runs. `close` waits for the end."""
        self._session.stop(why, now=now)

    def close(self) -> None:
        """Take no more work, wait until all is settled, and release all machines.

        Raises what went wrong in the run.
        """
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                self._session.post(ev.ArrivalsEnded(0))
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:  # the program failed, or Ctrl-C was pressed: spend no more
            self.stop("its program ended", now=True)
        self.close()

    def _drive(self) -> None:
        """The engine's thread."""
        try:
            with self._session:
                self._session.execute([_Settled(self)])
        except BaseException as error:
            self._failure = error
        finally:
            with self._lock:
                self._is_closed = self._is_over = True
                self._lock.notify_all()

    def _found_settled(self, numbers: set[int]) -> None:
        with self._lock:
            self._settled |= numbers
            self._lock.notify_all()

    def _ask(self, question: Callable[[RunState], Answer]) -> Answer:
        """The answer of the engine's thread, once it has applied all that was posted before."""
        while True:
            heard: Future[tuple[Answer] | None] = Future()
            with self._lock:
                if self._is_over:
                    return question(self._session.state)
                self._session.post(partial(self._answer, question, heard))
            found = self._heard(heard)
            if found is not None:
                return found[0]
            sleep(MOMENT)

    def _answer(
        self,
        question: Callable[[RunState], Answer],
        heard: Future[tuple[Answer] | None],
        now: Time,
    ) -> Events:
        """None: something that was posted before is not applied yet; ask again."""
        try:
            has_news = self._session.world.has_news
            heard.set_result(None if has_news else (question(self._session.state),))
        except Exception as error:
            heard.set_exception(error)
        return []

    def _heard(self, heard: Future[tuple[Answer] | None]) -> tuple[Answer] | None:
        """None: ask again, since the run may have ended without an answer."""
        while not self._is_over or heard.done():
            try:
                return heard.result(timeout=LONG_MOMENT)
            except TimeoutError:
                continue
        return None

    def _check_open(self) -> None:
        if self._is_closed:
            raise RunOver(f"run {self.run} takes no more work: {self._why_over()}")

    def _check_number(self, number: int) -> None:
        with self._lock:
            if isinstance(number, bool) or not isinstance(number, int):
                raise InputError(f"{shown(number)} is not the number of a work; submit gives it")
            if not 1 <= number <= self._works:
                raise InputError(f"there is no work {number}; {self._works} were submitted")

    def _why_over(self) -> str:
        ended = self._session.state.ended
        if self._failure is not None:
            return str(self._failure)
        return "it was closed" if ended is None else (ended.why or ended.status)


class _Settled:
    """Sees what happens in a run, and tells the service which works are settled."""

    def __init__(self, service: Service) -> None:
        self._service, self._index = service, WorkIndex()
        self._open: set[int] = set()
        """works that are not known to be settled"""

    def saw(self, event: ev.AnyEvent, state: RunState) -> None:
        if isinstance(event, ev.WorkArrived):
            self._open.add(len(state.work))
        if not isinstance(event, ev.AttemptEnded | ev.WorkCancelled):
            return
        self._index.look(view_of(state))
        settled = self._open - {work.number for work in self._index.unsettled()}
        if settled:
            self._open -= settled
            self._service._found_settled(settled)


def _work_of(
    work: Submitted, owner: str | None, priority: int | None, deadline: str | None
) -> Work:
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
        _check_priority(priority)
    return msgspec.structs.replace(
        work,
        owner=work.owner if owner is None else owner,
        priority=work.priority if priority is None else priority,
        deadline=work.deadline if deadline is None else parse_duration(deadline),
    )


def _check_priority(priority: int) -> None:
    is_whole = isinstance(priority, int) and not isinstance(priority, bool)
    if not is_whole or abs(priority) > MOST_PRIORITY:
        raise InputError(f"the priority {shown(priority)} must be a whole number")


def _status(state: RunState, place: int) -> WorkStatus:
    before, work = state.work[place]
    tasks = state.status[before + 1 : before + 1 + work.count]
    counts = {status: tasks.count(status) for status in (DONE, FAILED, BLOCKED, CANCELLED, RUNNING)}
    settled = sum(counts[one] for one in (DONE, FAILED, BLOCKED, CANCELLED))
    name = work.tasks.name if isinstance(work.tasks, Workflow) else work.tasks.describe(0)
    standing: Standing = "running" if counts[RUNNING] or counts[DONE] else "waiting"
    if place + 1 in state.cancelled_works:
        standing = "cancelled"
    elif settled == work.count:
        standing = "failed" if counts[FAILED] else "done"
    return WorkStatus(
        number=place + 1,
        name=name,
        owner=work.owner,
        priority=work.priority,
        status=standing,
        tasks=work.count,
        done=counts[DONE],
        failed=counts[FAILED],
        running=counts[RUNNING],
        arrived_s=state.work.arrived(place) / SECOND,
    )
