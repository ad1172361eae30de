"""BudgetExecutor: Python calls on the market's machines, within a budget.

    with BudgetExecutor("market.toml", budget="2.50") as pool:
        results = list(pool.map(simulate, range(200)))

A `concurrent.futures.Executor`: `submit`, `map` and futures work as they do there.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from datetime import timedelta
from decimal import Decimal
from functools import partial
from itertools import islice
from types import TracebackType
from typing import Any, Final, ParamSpec, TypeVar

import msgspec

from bursar.execute.worker import call_all
from bursar.formats.market import given_market
from bursar.journal.names import check_run_name
from bursar.journal.runs import Home, RunDir
from bursar.model.budget_text import budget_in
from bursar.model.errors import InputError, instead_of, shown
from bursar.model.goal import Budget, Goal, Limits
from bursar.model.market import Market
from bursar.model.money import Money
from bursar.model.option_words import PYTHON
from bursar.model.site import PLACES, RunSite
from bursar.model.time import Time, read_duration
from bursar.report.summary import Summary, summarise
from bursar.runs.executor_run import CallRun, RunOver
from bursar.runs.quiet_interrupt import without_traceback
from bursar.runs.request import Request

__all__ = ["ArgumentError", "BudgetExecutor", "RunOver"]

P = ParamSpec("P")
T = TypeVar("T")

Duration = str | int | float | timedelta
"""`"90s"`, a number of seconds, or a timedelta"""

MOST_RETRIES: Final = 65_534
MOST_WORKERS: Final = 10_000
LARGEST_SEED: Final = 2**63 - 1


class ArgumentError(InputError, ValueError):
    """An argument of an executor that cannot be used as it is."""


class BudgetExecutor(Executor):
    """Runs calls in persistent worker processes, and never commits more than the budget.

    Functions need not be importable: closures, lambdas and those of a notebook work. A call that
    raised, or whose worker died, fails with that exception once its retries are used up. Calls
    start in the order of their submission. When the money is gone, calls that did not run fail with
    an error that says so. Ctrl-C stops the spending: what waits is cancelled, what runs may end.
    """

    def __init__(
        self,
        market: Market | str | os.PathLike[str] | None = None,
        budget: str | int | float | Decimal | Money | None = None,
        *,
        max_workers: int | None = None,
        deadline: Duration | None = None,
        fleet: Mapping[str, int] | None = None,
        retries: int = 0,
        timeout: Duration | None = None,
        policies: Mapping[str, str] | None = None,
        name: str | None = None,
        seed: int | None = None,
        on: str | None = None,
        scheduler: str | None = None,
        trust_cluster: bool = False,
        listen: str | None = None,
        progress: bool = False,
    ) -> None:
        """`on`, `scheduler`, `trust_cluster` and `listen`: machines elsewhere, as in `bursar run`.

        `progress`: one line in the terminal, or one output in a notebook, tells how it stands.
        """
        with _as_arguments():
            site = _site(on, scheduler, listen, trust=trust_cluster)
            known = _market(market, max_workers, fleet)
            if site is not None:
                from bursar.runs.sites import site_market

                known = site_market(site, None if market is None else known) or known
            request = Request(
                market=known,
                goal=Goal.within(_budget(budget, known), _duration("deadline", deadline)),
                limits=Limits(
                    _whole("retries", retries, 0, MOST_RETRIES), _duration("timeout", timeout)
                ),
                fleet=_table("fleet", fleet, int, '{"small": 10}'),
                policies={
                    "placer": "fifo",
                    **(_table("policies", policies, str, '{"replicator": "stochastic"}') or {}),
                },
                name=_name(name),
                seed=None if seed is None else _whole("seed", seed, 0, LARGEST_SEED),
                site=site,
                asked=PYTHON,
            )
            self._run = CallRun(request, progress=bool(progress))
        fleet_slots = ((request.market[k].slots, n) for k, n in request.full_fleet().items())
        self._max_workers = sum(slots * count for slots, count in fleet_slots)
        """calls that can run at once; dask and others look for it under this name"""
        weakref.finalize(self, self._run.close).atexit = False  # a forgotten pool rents no longer

    @property
    def run(self) -> str:
        """The run's name, for `bursar status` and `bursar why`."""
        return self._run.name

    def summary(self) -> Summary:
        """Tasks and money so far, as `bursar run --json` prints them."""
        return summarise(self._run.session.state)

    def _repr_html_(self) -> str:
        """In a notebook: how the run stands."""
        from bursar.report.page.watch import watch_now
        from bursar.report.pictures import run_html

        return run_html(watch_now(self._run.session.run_dir))

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        return self._run.submit(fn, args, kwargs)

    def map(
        self,
        fn: Callable[..., T],
        *iterables: Iterable[Any],
        timeout: float | None = None,
        chunksize: int = 1,
    ) -> Iterator[T]:
        """Results in the order of the arguments; `chunksize` calls are one task, if more than 1."""
        if chunksize < 1:
            raise ArgumentError("chunksize must be >= 1.")
        if chunksize == 1:
            return super().map(fn, *iterables, timeout=timeout)
        chunks = _chunks(zip(*iterables, strict=False), chunksize)
        results = super().map(partial(call_all, fn), chunks, timeout=timeout)
        return _one_by_one(results)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls; those that were submitted are done, or cancelled if not started."""
        self._run.close()
        if cancel_futures:
            self._run.cancel_waiting(
                "calls that had not started were cancelled by shutdown(cancel_futures=True)"
            )
        if wait:
            self._run.finish()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not isinstance(error, KeyboardInterrupt):
            self.shutdown()
            return
        with suppress(KeyboardInterrupt):  # the first one goes on from here
            self._run.finish(pressed=True)
        if self._run.is_interrupted:
            without_traceback(error)


# --- chunks of calls -----------------------------------------------------------------------------


def _chunks(calls: Iterator[tuple[Any, ...]], size: int) -> Iterator[list[tuple[Any, ...]]]:
    while chunk := list(islice(calls, size)):
        yield chunk


def _one_by_one(results: Iterator[list[T]]) -> Iterator[T]:
    """The results of chunks; none is kept here once it was handed on."""
    for chunk in results:
        chunk.reverse()
        while chunk:
            yield chunk.pop()


# --- arguments -----------------------------------------------------------------------------------


@contextmanager
def _as_arguments() -> Iterator[None]:
    """What a run refuses that is to begin is an argument that cannot be used."""
    try:
        yield
    except ArgumentError:
        raise
    except InputError as error:
        raise ArgumentError(str(error)) from None


def _site(
    on: str | None, scheduler: str | None, listen: str | None, *, trust: bool
) -> RunSite | None:
    if on in (None, "local"):
        if scheduler or listen or trust:
            raise ArgumentError(
                'scheduler=, trust_cluster= and listen= are for machines elsewhere: add on="dask"'
            )
        return None
    if on not in PLACES:
        raise ArgumentError(f"on={shown(on)} is not known; {instead_of(str(on), PLACES)}")
    return RunSite(on, scheduler or "", listen or "", trust_cluster=trust)


def _market(
    market: Market | str | os.PathLike[str] | None,
    workers: int | None,
    fleet: Mapping[str, int] | None,
) -> Market:
    if market is not None and not isinstance(market, Market | str | os.PathLike):
        hint = f"; did you mean max_workers={market}?" if isinstance(market, int) else ""
        raise ArgumentError(f"market= is a market file or a Market, not {shown(market)}{hint}")
    given = given_market(market)
    if workers is None:
        return given
    count = _whole("max_workers", workers, 1, MOST_WORKERS, "max_workers must be greater than 0")
    if market is not None or fleet is not None:
        raise ArgumentError(
            "max_workers= is for calls on this computer: with a market, fleet= tells how many"
            " machines to rent"
        )
    (offer,) = given.offers
    return msgspec.structs.replace(given, offers=(msgspec.structs.replace(offer, limit=count),))


def _budget(value: str | float | Decimal | Money | None, market: Market) -> Budget | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal | Money):
        raise ArgumentError(f'budget= is an amount such as "2.50", not {shown(value)}')
    try:
        return budget_in(market.currency, value)
    except InputError as error:
        raise ArgumentError(f"budget=: {error}") from None


def _duration(name: str, value: Duration | None) -> Time | None:
    try:
        return None if value is None else read_duration(value)
    except InputError as error:
        raise ArgumentError(f"{name}=: {error}") from None


def _whole(name: str, value: int, least: int, most: int, too_small: str = "") -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ArgumentError(f"{name}= is a whole number, not {shown(value)}")
    if value < least:
        raise ArgumentError(too_small or f"{name}= is at least {least}, not {value}")
    if value > most:
        raise ArgumentError(f"{name}= is at most {most:,}, not {shown(value)}")
    return value


def _name(name: str | None) -> str | None:
    if name is None:
        return None
    if not isinstance(name, str):
        raise ArgumentError(f"name= is a text, not {shown(name)}")
    check_run_name(name)
    if RunDir(name, Home.of(os.environ).path / name, 0.0).journal.exists():
        raise ArgumentError(f"there is a run {name} already: choose another name=")
    return name


def _table(
    name: str, value: Mapping[str, T] | None, kind: type[T], example: str
) -> Mapping[str, T] | None:
    if value is None:
        return None
    is_table = isinstance(value, Mapping) and all(
        isinstance(key, str) and isinstance(one, kind) and not isinstance(one, bool)
        for key, one in value.items()
    )
    if not is_table:
        raise ArgumentError(f"{name}= is a table such as {example}, not {shown(value)}")
    return value
