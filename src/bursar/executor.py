"""BudgetExecutor: Python calls on the market's machines, within a budget.

    with BudgetExecutor("market.toml", budget="2.50") as pool:
        results = list(pool.map(simulate, range(200)))

A `concurrent.futures.Executor`: `submit`, `map` and futures work as they do there.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from decimal import Decimal
from functools import partial
from itertools import takewhile
from typing import ParamSpec, TypeVar

from bursar import events as ev
from bursar.execute.calls import Calls
from bursar.journal.runs import Home
from bursar.model.errors import BursarError
from bursar.model.goal import Goal, Limits
from bursar.model.market import Market
from bursar.model.money import Money
from bursar.model.time import Time, parse_duration
from bursar.model.work import Bag
from bursar.rent.local import given_market
from bursar.report.summary import Summary, summarise
from bursar.request import Request
from bursar.session import Session

P = ParamSpec("P")
T = TypeVar("T")


class RunOver(BursarError, RuntimeError):  # noqa: N818
    """The run has ended (by its budget, by its deadline, or by shutdown): nothing more runs."""


class BudgetExecutor(Executor):
    """Runs calls in persistent worker processes, and never commits more than the budget.

    Functions need not be importable: closures, lambdas and those of a notebook work. A call that
    raised, or whose worker died, fails with that exception once its retries are used up. Calls
    start in the order of their submission. When the money is gone, calls that did not run fail with
    an error that says so.
    """

    def __init__(
        self,
        market: Market | str | os.PathLike[str] | None = None,
        budget: str | int | Decimal | Money | None = None,
        *,
        deadline: str | None = None,
        fleet: Mapping[str, int] | None = None,
        retries: int = 0,
        timeout: str | None = None,
        policies: Mapping[str, str] | None = None,
        name: str | None = None,
        seed: int | None = None,
    ) -> None:
        goal = Goal(
            budget if budget is None or isinstance(budget, Money) else Money.parse(budget),
            None if deadline is None else parse_duration(deadline),
        )
        request = Request(
            market=given_market(market),
            goal=goal,
            limits=Limits(retries, None if timeout is None else parse_duration(timeout)),
            fleet=fleet,
            policies={"placer": "fifo", **(policies or {})},
            name=name,
            seed=seed,
            budget_as="budget=",
        )
        self._calls = Calls()
        self._session = Session.begin(Home.of(os.environ), request, self._calls)
        self._lock = threading.Lock()
        self._submitted = 0
        self._waiting: deque[str] = deque()
        """labels of calls that the engine has not heard of, in the order of their tasks"""
        self._closing = False
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._drive, name="bursar", daemon=True)
        self._thread.start()
        atexit.register(self.shutdown)

    @property
    def run(self) -> str:
        """The run's name, for `bursar status` and `bursar why`."""
        return self._session.state.run

    def summary(self) -> Summary:
        """Tasks and money so far, as `bursar run --json` prints them."""
        return summarise(self._session.state)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        with self._lock:
            if self._closing or not self._thread.is_alive():
                raise RunOver(f"run {self.run} is over: {self._why_over()}")
            self._submitted += 1
            future: Future[T] = self._calls.add(self._submitted, fn, args, kwargs)
            self._waiting.append(getattr(fn, "__qualname__", type(fn).__name__))
            if len(self._waiting) == 1:
                self._session.post(self._arrive)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        atexit.unregister(self.shutdown)
        with self._lock:
            if not self._closing:
                self._closing = True
                self._session.post(ev.ArrivalsEnded(0))
        if cancel_futures:
            self._calls.cancel_waiting()
        if wait and self._thread is not threading.current_thread():
            self._thread.join()
            if self._failure is not None:
                raise self._failure

    def _arrive(self, now: Time) -> ev.AnyEvent:
        """All calls that wait, as one bag; calls of another function come with the next."""
        with self._lock:
            label = self._waiting[0]
            count = sum(1 for _ in takewhile(partial(str.__eq__, label), self._waiting))
            for _ in range(count):
                self._waiting.popleft()
            if self._waiting:
                self._session.post(self._arrive)
        return ev.WorkArrived(now, Bag(count=count, label=label))

    def _drive(self) -> None:
        """The engine's thread."""
        try:
            with self._session:
                self._session.execute()
        except BaseException as error:
            self._failure = error
        finally:
            with self._lock:
                self._closing = True
            self._calls.abandon(f"run {self.run} ended before this call: {self._why_over()}")

    def _why_over(self) -> str:
        ended = self._session.state.ended
        if self._failure is not None:
            return str(self._failure)
        if ended is None:
            return "it was shut down"
        return ended.why or ended.status
