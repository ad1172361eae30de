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
any thread; the run itself has a thread of its own. What `submit` has accepted is in the journal:
`Service.resume(name)` continues it after a crash.
"""

from __future__ import annotations

import os
import threading
from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple, Protocol, Self, TypeVar

import msgspec

from bursar.execute.leftovers import find_files
from bursar.execute.staging import SHARED, check_outputs
from bursar.formats.market import given_market
from bursar.journal.reader import JournalReader
from bursar.journal.recorder import Listener
from bursar.journal.runs import Home
from bursar.model.budget_text import budget_in
from bursar.model.errors import InputError, shown
from bursar.model.goal import Account, Goal, Limits
from bursar.model.market import Market
from bursar.model.money import Money
from bursar.model.option_words import PYTHON
from bursar.model.time import Time, parse_duration
from bursar.model.work import Work
from bursar.report.summary import Summary, summarise
from bursar.runs.engine_calls import EngineCalls
from bursar.runs.executor_run import RunOver
from bursar.runs.request import Request, check_tasks
from bursar.runs.service_work import Submitted, WorkStatus, check_priority, status_of, work_of
from bursar.runs.session import Session
from bursar.runs.submission_keys import SubmissionKeys, key_text
from bursar.state import events as ev
from bursar.state.read_only import view_of
from bursar.state.state import RunState
from bursar.state.work_index import WorkIndex

Answer = TypeVar("Answer")
Amount = str | int | Decimal | Money


class ServiceListener(Listener, Protocol):
    """Hears of all that happens in a service, in the engine's thread."""

    def begins(self, state: RunState, journal: Path) -> None:
        """The service is about to go on; what happened before is in its journal."""
        ...


class Accepted(NamedTuple):
    """A work that is in the journal."""

    number: int
    is_new: bool
    """False: it was submitted before, with the same key"""


class Service:
    """Takes work until it is closed; within the budget, on the machines of the market."""

    def __init__(
        self,
        market: Market | str | os.PathLike[str] | None = None,
        budget: Amount | None = None,
        *,
        users: Mapping[str, Amount | None] | None = None,
        placer: str = "priority",
        fleet: Mapping[str, int] | None = None,
        policies: Mapping[str, str] | None = None,
        files: str = SHARED,
        retries: int = 0,
        timeout: str | None = None,
        name: str | None = None,
        seed: int | None = None,
    ) -> None:
        """The arguments are options of `bursar run`; `placer` is the name of any placer.

        With `users`, each has a budget of its own in place of one for all, and owns what is
        submitted for it.
        """
        known = given_market(market)
        request = Request(
            market=known,
            goal=_goal(known, budget, users),
            limits=Limits(retries, None if timeout is None else parse_duration(timeout)),
            fleet=fleet,
            policies={"placer": placer, **(policies or {})},
            files=files,
            takes_workflows=True,
            name=name,
            seed=seed,
            asked=PYTHON,
        )
        self._start(Session.begin(Home.of(os.environ), request))

    @classmethod
    def begin(cls, request: Request, listener: ServiceListener | None = None) -> Self:
        """A new service; the request says all that it needs."""
        made = cls.__new__(cls)
        made._start(Session.begin(Home.of(os.environ), request), listener)
        return made

    @classmethod
    def resume(
        cls,
        name: str | None = None,
        *,
        goal: Goal | None = None,
        listener: ServiceListener | None = None,
    ) -> Self:
        """Continue a service that was stopped or has crashed; a new goal changes its budgets."""
        run = Home.of(os.environ).find(name)
        session = Session.take_up(run, goal)
        if not session.state.arrivals_open:
            session.close()
            raise InputError(f"run {run.name} takes no more work; continue it: bursar resume")
        made = cls.__new__(cls)
        made._start(session, listener)
        return made

    def _start(self, session: Session, listener: ServiceListener | None = None) -> None:
        self._session = session
        assert session.state.created is not None  # noqa: S101
        self._files = session.state.created.made_with.files or SHARED
        self._home = Home.of(os.environ).path
        self._lock = threading.Condition()
        self._owners: list[str] = []
        """of the works, in order; they are numbered from 1"""
        self._by_owner: dict[str, list[int]] = {}
        self._settled: set[int] = set()
        """works of which nothing more will run"""
        self._sizes = array("q")
        """tasks of the works, in order"""
        self._unsettled: Counter[str] = Counter()
        """tasks of works that are not settled, by owner"""
        self._writers: dict[Path, int] = {}
        """files that workflows write, and which"""
        self._keys = SubmissionKeys()
        self._calls = EngineCalls(session, self._over_text)
        self._is_closed = self._is_over = False
        self._failure: BaseException | None = None
        self._listener = listener
        self._recall()
        self._watch = _Settled(self)
        if listener is not None:
            listener.begins(session.state, session.run_dir.journal)
        session.tell(self)
        self._thread = threading.Thread(target=self._drive, name="bursar-service", daemon=True)
        self._thread.start()

    def _recall(self) -> None:
        """What was submitted before the service was resumed."""
        state = self._session.state
        if not state.work:
            return
        with JournalReader(self._session.run_dir.journal) as reader:
            arrivals = reader.events_of((ev.WorkArrived,))
        for number, event in enumerate(arrivals, 1):
            assert isinstance(event, ev.WorkArrived)  # noqa: S101
            self._enter(event.work, number, event.key)

    @property
    def run(self) -> str:
        """The run's name, for `bursar status` and `bursar why`."""
        return self._session.state.run

    @property
    def directory(self) -> Path:
        """Where its journal and its outputs are."""
        return self._session.run_dir.path

    @property
    def working_directory(self) -> Path:
        """Where the commands run."""
        return self._session.directory

    @property
    def state(self) -> RunState:
        """Only to be read in the engine's thread, or what never changes."""
        return self._session.state

    def now(self) -> Time:
        """The time of the run; in the engine's thread."""
        return self._session.world.now()

    # --- works -----------------------------------------------------------------------------------

    def submit(
        self,
        work: Submitted,
        *,
        owner: str | None = None,
        priority: int | None = None,
        deadline: str | None = None,
    ) -> int:
        """Let a bag or a workflow run; its number is what the other methods want.

        It is in the journal when this returns.
        """
        return self.submit_soon(work_of(work, owner, priority, deadline)).result().number

    def submit_soon(self, work: Work, key: str = "", digest: str = "") -> Future[Accepted]:
        """The same without waiting; with a key, what was submitted before is not taken twice."""
        found: list[ev.AnyEvent] = []
        if work.workflow is not None:
            directory = self._session.directory
            check_tasks(work.workflow, self._files, directory)
            check_outputs(work.workflow, directory, self._home)
            found = [find_files(work.workflow, directory)] if self._files == SHARED else []
        with self._lock:
            known = self._keys.number_of(work.owner, key, digest)
            if known is not None:
                return self._calls.happen(lambda now: [], Accepted(known, is_new=False))
            self._check_open()
            self._check_owner(work.owner)
            number = len(self._owners) + 1
            self._check_files(work, number)
            self._enter(work, number, key_text(key, digest))
            made = ev.WorkArrived(0, work, key_text(key, digest))
            return self._calls.happen(
                lambda now: [msgspec.structs.replace(one, at=now) for one in (made, *found)],
                Accepted(number, is_new=True),
            )

    def _enter(self, work: Work, number: int, key: str) -> None:
        """A work gets its number."""
        self._owners.append(work.owner)
        self._sizes.append(work.count)
        self._unsettled[work.owner] += work.count
        self._by_owner.setdefault(work.owner, []).append(number)
        self._keys.add(work.owner, key, number)
        for path in self._written(work):
            self._writers[path] = number

    def _written(self, work: Work) -> dict[Path, str]:
        """Files that a work writes where other works may write, too."""
        flow = work.workflow
        if flow is None or self._files != SHARED:
            return {}
        names = [flow.files.names[file] for row in flow.files.written for file in row]
        return {self._session.directory / name: name for name in names}

    def _check_files(self, work: Work, number: int) -> None:
        """No two works that are not settled write the same file of the directory."""
        for path, name in self._written(work).items():
            other = self._writers.get(path)
            if other is not None and other not in self._settled:
                is_theirs = self._owners[other - 1] == work.owner
                which = f"work {other}" if is_theirs else "another work"
                raise InputError(
                    f"the file {shown(name)} is written by {which}, which has not ended; wait"
                    " for it, or let this one write elsewhere"
                )

    def _check_owner(self, owner: str) -> None:
        names = [one.name for one in self._session.state.goal.accounts]
        if names and owner not in names:
            raise InputError(f"no user {shown(owner)}; there are {', '.join(names)}")

    def cancel(self, number: int, why: str = "requested") -> None:
        """Nothing more of this work begins, and what runs is stopped; what is done is kept."""
        self._check_number(number)
        self.happen_soon(ev.WorkCancelled(0, number, why)).result()

    def set_priority(self, number: int, priority: int) -> None:
        """Larger is more urgent; what runs is not stopped for it."""
        self._check_number(number)
        check_priority(priority)
        self.happen_soon(ev.PriorityChanged(0, number, priority)).result()

    def happen_soon(self, event: ev.WorkCancelled | ev.PriorityChanged) -> Future[None]:
        """Done when it is in the journal, or does not concern anything that goes on."""
        return self._calls.happen(lambda now: [msgspec.structs.replace(event, at=now)], None, event)

    def list(self) -> list[WorkStatus]:
        """All works, in the order of their arrival."""
        return self._ask(
            lambda state: [status_of(state, place) for place in range(len(state.work))]
        )

    def status(self, number: int) -> WorkStatus:
        """How a work stands."""
        self._check_number(number)
        return self._ask(lambda state: status_of(state, number - 1))

    def owner_of(self, number: int) -> str | None:
        """Whose a work is; None: there is no such work."""
        with self._lock:
            return self._owners[number - 1] if 1 <= number <= len(self._owners) else None

    def numbers_of(self, owner: str | None) -> Sequence[int]:
        """The works of an owner, or all, in the order of their arrival."""
        with self._lock:
            if owner is None:
                return range(1, len(self._owners) + 1)
            return tuple(self._by_owner.get(owner, ()))

    def unsettled_tasks(self, owner: str) -> int:
        """Tasks of the works of an owner that are not settled."""
        with self._lock:
            return self._unsettled[owner]

    def is_settled(self, number: int) -> bool:
        with self._lock:
            return number in self._settled

    def wait(self, number: int | None = None, timeout: float | None = None) -> bool:
        """Wait until a work is settled, or all that were submitted; False: not within the time.

        Raises `RunOver` if the run ends before.
        """
        if number is not None:
            self._check_number(number)
        with self._lock:
            wanted = set(range(1, len(self._owners) + 1)) if number is None else {number}

            def is_settled() -> bool:
                return wanted <= self._settled

            self._lock.wait_for(lambda: is_settled() or self._is_over, timeout)
            if not is_settled() and self._is_over:
                raise RunOver(self._over_text())
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
        self.join()

    def join(self) -> None:
        """Wait until the run ends, by whatever; raises what went wrong in it."""
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    @property
    def is_over(self) -> bool:
        return self._is_over

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
                self._session.execute([self._watch])
        except BaseException as error:
            self._failure = error
        finally:
            with self._lock:
                self._is_closed = self._is_over = True
                self._lock.notify_all()
            self._calls.over()
            if self._listener is not None:
                self._listener.committed()

    def found_settled(self, numbers: set[int]) -> None:
        """Called in the engine's thread when works are settled."""
        with self._lock:
            for number in numbers - self._settled:
                self._unsettled[self._owners[number - 1]] -= self._sizes[number - 1]
            self._settled |= numbers
            self._lock.notify_all()

    # --- what the journal's writer tells, in the engine's thread ---------------------------------

    def appended(self, event: ev.AnyEvent) -> bool:
        """What is submitted survives a power failure before its number is given away."""
        is_urgent = self._listener is not None and self._listener.appended(event)
        return is_urgent or isinstance(event, ev.WorkArrived)

    def committed(self) -> None:
        self._calls.committed()
        if self._listener is not None:
            self._listener.committed()

    # --- asking the engine -----------------------------------------------------------------------

    def ask_soon(self, question: Callable[[RunState], Answer]) -> Future[Answer]:
        """The answer of the engine's thread, of all that was committed before."""
        return self._calls.ask(question)

    def _ask(self, question: Callable[[RunState], Answer]) -> Answer:
        return self.ask_soon(question).result()

    def _check_open(self) -> None:
        if self._is_closed:
            raise RunOver(f"run {self.run} takes no more work: {self._why_over()}")

    def _check_number(self, number: int) -> None:
        with self._lock:
            if isinstance(number, bool) or not isinstance(number, int):
                raise InputError(f"{shown(number)} is not the number of a work; submit gives it")
            count = len(self._owners)
            if not 1 <= number <= count:
                raise InputError(f"there is no work {number}; {count} were submitted")

    def _over_text(self) -> str:
        return f"run {self.run} is over: {self._why_over()}"

    def _why_over(self) -> str:
        ended = self._session.state.ended
        if self._failure is not None:
            return str(self._failure)
        return "it was closed" if ended is None else (ended.why or ended.status)


def _goal(market: Market, budget: Amount | None, users: Mapping[str, Amount | None] | None) -> Goal:
    if users is None:
        return Goal.within(None if budget is None else budget_in(market.currency, budget), None)
    if budget is not None:
        raise InputError("budget= is for all users together, and users= has one for each; drop one")
    return Goal(
        accounts=tuple(
            Account(name, None if amount is None else budget_in(market.currency, amount))
            for name, amount in users.items()
        )
    )


class _Settled:
    """Sees what happens in a run, and tells the service which works are settled."""

    def __init__(self, service: Service) -> None:
        self._service, self._index = service, WorkIndex()
        state = service.state
        self._view = view_of(state)
        self._index.look(self._view)
        known = range(1, len(state.work) + 1)
        service.found_settled({one for one in known if self._index.is_settled(one)})

    def saw(self, event: ev.AnyEvent, state: RunState) -> None:
        if isinstance(event, ev.AttemptEnded):
            number = state.work_of(state.log.task[event.attempt])
        elif isinstance(event, ev.WorkCancelled):
            number = event.work
        else:
            return
        self._index.look(self._view)
        if self._index.is_settled(number):
            self._service.found_settled({number})
