"""The view that entries get: what they assign raises, and nothing in it leads to the state.

Its fields are proxies, which can only be read, and functions that give values. That holds for code
that is faulty. Python has no wall against code that means harm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, overload

import msgspec

from bursar.model.goal import Goal, Limits
from bursar.model.market import Market, Offer
from bursar.model.strategy import Strategy
from bursar.model.time import Time
from bursar.model.work import Work
from bursar.state.events import AnyEvent, StopRequested
from bursar.state.read_only_ledger import ledger_of
from bursar.state.run_times import Elsewhere, RunTimes
from bursar.state.structure import structure_of
from bursar.state.structure_view import StructureView
from bursar.state.view import (
    Attempt,
    ChangesView,
    Column,
    LedgerView,
    LogView,
    Machine,
    Members,
    PrecedenceView,
    RecentView,
    Refusal,
    SeriesView,
    StatusColumn,
    View,
    WorksView,
)
from bursar.state.work_plans import FollowedPlan

if TYPE_CHECKING:
    from numpy import int64
    from numpy.typing import NDArray


class _Log(msgspec.Struct, frozen=True):
    task: Column
    machine: Column
    started: Column
    ended: Column
    runtime: Column
    outcome: Column
    _length: Callable[[], int]

    def __len__(self) -> int:
        return self._length()


class _Recent(msgspec.Struct, frozen=True):
    since: Callable[[int], Sequence[int] | None]
    _end: Callable[[], int]

    @property
    def end(self) -> int:
        return self._end()


class _Changes(msgspec.Struct, frozen=True):
    attempts: RecentView
    blocked: RecentView
    machines: RecentView
    ready: RecentView
    works: RecentView


class _WorksView(msgspec.Struct, frozen=True):
    place_of: Callable[[int], int]
    before: Callable[[int], int]
    left: Callable[[int], int]
    arrived: Callable[[int], Time]
    arrived_since: Callable[[Time], range]
    _at: Callable[[int], tuple[int, Work]]
    _length: Callable[[], int]

    @overload
    def __getitem__(self, place: int) -> tuple[int, Work]: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[tuple[int, Work]]: ...
    def __getitem__(self, place: int | slice) -> tuple[int, Work] | Sequence[tuple[int, Work]]:
        if isinstance(place, slice):
            return [self._at(one) for one in range(*place.indices(len(self)))]
        return self._at(place)

    def __len__(self) -> int:
        return self._length()

    def __iter__(self) -> Iterator[tuple[int, Work]]:
        return map(self._at, range(len(self)))


class _SeriesView(msgspec.Struct, frozen=True):
    _accounts: Callable[[], Sequence[str]]
    _now: Callable[[str], int]
    _at: Callable[[Time, str], int]
    _mean: Callable[[Time, Time, str], float]
    _means: Callable[[Time, int, Time, str], Sequence[float]]

    @property
    def accounts(self) -> Sequence[str]:
        return self._accounts()

    def now(self, account: str = "") -> int:
        return self._now(account)

    def at(self, moment: Time, account: str = "") -> int:
        return self._at(moment, account)

    def mean(self, begin: Time, end: Time, account: str = "") -> float:
        return self._mean(begin, end, account)

    def means(self, every: Time, count: int, now: Time, account: str = "") -> Sequence[float]:
        return self._means(every, count, now, account)


class _RunTimesView(msgspec.Struct, frozen=True):
    _all: Callable[[], RunTimes]

    def saw(self, event: AnyEvent, state: View) -> None:
        """It has learned from the event already."""

    def saw_before(self, view: View) -> None:
        """It has learned what happened before."""

    def expected(self, offer: str, elapsed: Time = 0, task: int = 0) -> Time | None:
        return self._all().expected(offer, elapsed, task)

    def at_speed_one(self, task: int) -> Time | None:
        return self._all().at_speed_one(task)

    def correction(self, work: int) -> float:
        return self._all().correction(work)

    def expected_each(
        self, offer: str, elapsed: NDArray[int64], tasks: NDArray[int64]
    ) -> NDArray[int64] | None:
        return self._all().expected_each(offer, elapsed, tasks)

    def moved(self, source: str, elapsed: Time, offer: str, task: int = 0) -> Time | None:
        return self._all().moved(source, elapsed, offer, task)

    def may_end_sooner(self, sources: Iterable[str], offer: str) -> bool:
        return self._all().may_end_sooner(sources, offer)

    def elsewhere(
        self,
        offers: Sequence[str],
        sources: NDArray[int64],
        elapsed: NDArray[int64],
        tasks: NDArray[int64],
    ) -> Elsewhere:
        return self._all().elsewhere(offers, sources, elapsed, tasks)

    def longest(self, offer: str, elapsed: Time) -> Time | None:
        return self._all().longest(offer, elapsed)

    def pace(self, offer: str) -> Time | None:
        return self._all().pace(offer)


class _Precedence(msgspec.Struct, frozen=True):
    parents: Callable[[int], Sequence[int]]
    children: Callable[[int], Sequence[int]]
    missing: Callable[[int], int]


class ReadOnlyView(msgspec.Struct, frozen=True, eq=False):
    """A `View` whose fields are proxies and functions that give values, and nothing else."""

    ledger: LedgerView
    ready: Members
    idle: Members
    machines: Mapping[int, Machine]
    attempts: Mapping[int, Attempt]
    fleet: Mapping[str, int]
    refusals: Mapping[str, Refusal]
    status: StatusColumn
    winners: Column
    failures: Column
    log: LogView
    changes: ChangesView
    precedence: PrecedenceView
    work: WorksView
    demand: SeriesView
    supply: SeriesView
    runtimes: RunTimes
    structure: StructureView
    attempts_of: Callable[[int], Sequence[int]]
    plan_of: Callable[[int], FollowedPlan | None]
    strategy_of: Callable[[int], Strategy | None]
    account_of: Callable[[int], str]
    offer_of: Callable[[int], str]
    may_replicate: Callable[[int], bool]
    boot_time: Callable[[Offer, Time], Time]
    boot_left: Callable[[Machine, Time], Time]
    _now: Callable[[], Time]
    _market: Callable[[], Market]
    _goal: Callable[[], Goal]
    _limits: Callable[[], Limits]
    _total: Callable[[], int]
    _done: Callable[[], int]
    _failed: Callable[[], int]
    _settled: Callable[[], int]
    _waiting: Callable[[], int]
    _arrivals_open: Callable[[], bool]
    _stopping: Callable[[], StopRequested | None]
    _pauses: Callable[[], Sequence[tuple[Time, Time]]]

    @property
    def now(self) -> Time:
        return self._now()

    @property
    def market(self) -> Market:
        return self._market()

    @property
    def goal(self) -> Goal:
        return self._goal()

    @property
    def limits(self) -> Limits:
        return self._limits()

    @property
    def total(self) -> int:
        return self._total()

    @property
    def done(self) -> int:
        return self._done()

    @property
    def failed(self) -> int:
        return self._failed()

    @property
    def settled(self) -> int:
        return self._settled()

    @property
    def waiting(self) -> int:
        return self._waiting()

    @property
    def arrivals_open(self) -> bool:
        return self._arrivals_open()

    @property
    def stopping(self) -> StopRequested | None:
        return self._stopping()

    @property
    def pauses(self) -> Sequence[tuple[Time, Time]]:
        return self._pauses()


def seen_with(view: View, market: Callable[[], Market], goal: Goal) -> ReadOnlyView:
    """The same run, as if the market and the goal were these: for an entry that guides another.

    The market is asked for each time that somebody looks at it.
    """
    shown = view if isinstance(view, ReadOnlyView) else view_of(view)
    return msgspec.structs.replace(shown, _market=market, _goal=lambda: goal)


def view_of(state: View) -> ReadOnlyView:
    """What entries see of this state, now and later; nothing of it can be written."""

    def attempts_of(task: int) -> Sequence[int]:
        return tuple(state.attempts_of(task))

    def plan_of(work: int) -> FollowedPlan | None:
        return state.plan_of(work)

    def strategy_of(work: int) -> Strategy | None:
        return state.strategy_of(work)

    def account_of(task: int) -> str:
        return state.account_of(task)

    def offer_of(machine: int) -> str:
        return state.offer_of(machine)

    def may_replicate(task: int) -> bool:
        return state.may_replicate(task)

    boot_time, boot_left = _boots_of(state)
    read = partial(partial, getattr, state)  # no frame of Python at each look
    return ReadOnlyView(
        ledger=ledger_of(state),
        ready=_proxy(state.ready),
        idle=_proxy(state.idle),
        machines=_proxy(state.machines),
        attempts=_proxy(state.attempts),
        fleet=_proxy(state.fleet),
        refusals=_proxy(state.refusals),
        status=_proxy(state.status),
        winners=_proxy(state.winners),
        failures=_proxy(state.failures),
        log=_log_of(state.log),
        changes=_changes_of(state.changes),
        precedence=_precedence_of(state.precedence),
        work=_works_of(state.work),
        demand=_series_of(state.demand),
        supply=_series_of(state.supply),
        runtimes=_RunTimesView(lambda: state.runtimes),
        structure=structure_of(state),
        attempts_of=attempts_of,
        plan_of=plan_of,
        strategy_of=strategy_of,
        account_of=account_of,
        offer_of=offer_of,
        may_replicate=may_replicate,
        boot_time=boot_time,
        boot_left=boot_left,
        _now=read("now"),
        _market=read("market"),
        _goal=read("goal"),
        _limits=read("limits"),
        _total=read("total"),
        _done=read("done"),
        _failed=read("failed"),
        _settled=read("settled"),
        _waiting=read("waiting"),
        _arrivals_open=read("arrivals_open"),
        _stopping=read("stopping"),
        _pauses=lambda: tuple(state.pauses),
    )


def _boots_of(
    state: View,
) -> tuple[Callable[[Offer, Time], Time], Callable[[Machine, Time], Time]]:
    """The functions `boot_time` and `boot_left`; a method would lead to the state."""

    def boot_time(offer: Offer, now: Time) -> Time:
        return state.boot_time(offer, now)

    def boot_left(machine: Machine, now: Time) -> Time:
        return state.boot_left(machine, now)

    return boot_time, boot_left


def _log_of(log: LogView) -> LogView:
    def length() -> int:
        return len(log)

    return _Log(
        task=_proxy(log.task),
        machine=_proxy(log.machine),
        started=_proxy(log.started),
        ended=_proxy(log.ended),
        runtime=_proxy(log.runtime),
        outcome=_proxy(log.outcome),
        _length=length,
    )


def _changes_of(changes: ChangesView) -> ChangesView:
    return _Changes(
        attempts=_recent_of(changes.attempts),
        blocked=_recent_of(changes.blocked),
        machines=_recent_of(changes.machines),
        ready=_recent_of(changes.ready),
        works=_recent_of(changes.works),
    )


def _precedence_of(precedence: PrecedenceView) -> PrecedenceView:
    def parents(task: int) -> Sequence[int]:
        return tuple(precedence.parents(task))

    def children(task: int) -> Sequence[int]:
        return tuple(precedence.children(task))

    def missing(task: int) -> int:
        return precedence.missing(task)

    return _Precedence(parents, children, missing)


def _works_of(works: WorksView) -> WorksView:
    def place_of(task: int) -> int:
        return works.place_of(task)

    def before(place: int) -> int:
        return works.before(place)

    def left(place: int) -> int:
        return works.left(place)

    def arrived(place: int) -> Time:
        return works.arrived(place)

    def arrived_since(moment: Time) -> range:
        return works.arrived_since(moment)

    return _WorksView(
        place_of=place_of,
        before=before,
        left=left,
        arrived=arrived,
        arrived_since=arrived_since,
        _at=lambda place: works[place],
        _length=lambda: len(works),
    )


def _series_of(series: SeriesView) -> SeriesView:
    def value(account: str) -> int:
        return series.now(account)

    def at(moment: Time, account: str) -> int:
        return series.at(moment, account)

    def mean(begin: Time, end: Time, account: str) -> float:
        return series.mean(begin, end, account)

    def means(every: Time, count: int, now: Time, account: str) -> Sequence[float]:
        return series.means(every, count, now, account)

    return _SeriesView(lambda: series.accounts, value, at, mean, means)


def _recent_of(recent: RecentView) -> RecentView:
    def since(place: int) -> Sequence[int] | None:
        return recent.since(place)

    def end() -> int:
        return recent.end

    return _Recent(since, end)


def _proxy(container: Any) -> Any:
    """The same, to be read only. Any container with places will do, not only a mapping."""
    return MappingProxyType(container)
