"""A checkpoint: the state as a value, from which the same state is made again.

Columns are stored as they are; what follows from the rest is built again. Bags and workflows are
not stored: the journal has them, and each is known by the number of the event it came with.

A new field of the state is listed here with what becomes of it (`tests/state/test_checkpoint.py`
fails otherwise), and counts `VERSION` up where an older checkpoint no longer tells all.
"""

from __future__ import annotations

import sys
from array import array
from collections import deque
from collections.abc import Callable
from types import MappingProxyType
from typing import Any, Final

import msgspec

from bursar.model.codec import packed, unpacker
from bursar.model.collection import IndexedSet
from bursar.model.goal import Budget, Goal, Limits
from bursar.model.money import Money
from bursar.model.time import Time
from bursar.model.work import Work
from bursar.model.workflow import Workflow
from bursar.state import events as ev
from bursar.state.attempts import Failure
from bursar.state.boot_times import BootTimes
from bursar.state.charges import Charge, ClosedCharges
from bursar.state.ledger import Ledger
from bursar.state.state import RunState
from bursar.state.time_series import AccountSeries, TimeSeries
from bursar.state.view import Attempt, Machine, Refusal
from bursar.state.work_plans import WorkPlans

VERSION: Final = f"10 {sys.byteorder} {array('l').itemsize}"
"""Which checkpoints can be read: of the same fields, on a computer with the same numbers."""

COLUMNS: Final = ("status", "failures", "winners", "offers_rented")
LOG_COLUMNS: Final = ("task", "machine", "started", "ended", "runtime", "outcome")
SETS: Final = ("ready", "idle")
SERIES: Final = ("demand", "supply")
REBUILT: Final = (
    "market",
    "ledger",
    "work",
    "precedence",
    "failed_tasks",
    "machines",
    "attempts",
    "log",
    "begun_on",
    "live_of",
    "changes",  # of one process only: an index begins with all that is there
    "runtimes",  # of one process only: who makes the policy sets it up
    "ranked",  # the same
)
"""Fields that have a form of their own in a checkpoint, or follow from others."""

Recall = Callable[[int], Work]
"""Finds in the journal what came with the event of this number."""


class Plain(msgspec.Struct, frozen=True):
    """Fields of the state that are stored as they are."""

    run: str
    now: Time
    events: int
    created: ev.RunCreated | None
    goal: Goal
    limits: Limits
    has_calls: bool
    done: int
    failed: int
    waiting: int
    blocked: int
    cancelled: int
    cancelled_works: dict[int, str]
    priorities: dict[int, int]
    last_settled: Time
    machines_rented: int
    fleet: dict[str, int]
    leaving: dict[str, int]
    refusals: dict[str, Refusal]
    boots: BootTimes
    plans: dict[int, WorkPlans]
    forecasts: list[ev.ForecastMade]
    arrivals_open: bool
    files_found: set[str] | None
    file_links: dict[str, str]
    periods: list[tuple[Time, ev.RunCreated | ev.RunResumed]]
    pauses: list[tuple[Time, Time]]
    stopping: ev.StopRequested | None
    ended: ev.RunEnded | None


class _Machine(msgspec.Struct, frozen=True, array_like=True):
    id: int
    offer: str
    rented: Time
    until: Time
    up: Time | None
    marked: bool
    releasing: bool
    doomed: Time | None
    attempts: list[int]
    waiting: tuple[int, ...]
    account: str


class _Attempt(msgspec.Struct, frozen=True, array_like=True):
    id: int
    task: int
    machine: int
    started: Time
    measure: bool
    cancelling: bool


class _Charge(msgspec.Struct, frozen=True, array_like=True):
    machine: int
    offer: str
    begin: Time
    end: Time
    account: str
    was_lost: bool


class _LedgerPart(msgspec.Struct, frozen=True):
    budgets: dict[str, Budget | None]
    committed: Money
    spent: Money
    live: list[_Charge]
    closed: list[_Charge]


class _Failed(msgspec.Struct, frozen=True, array_like=True):
    task: int
    attempt: int
    exit_code: int | None
    why: str | None


class _WorkPart(msgspec.Struct, frozen=True, array_like=True):
    event: int
    """the number of the event it came with"""
    before: int
    left: int
    """tasks that are not done"""
    arrived: Time


class _SeriesPart(msgspec.Struct, frozen=True, array_like=True):
    """The fields of a `TimeSeries`."""

    account: str
    value: int
    moment: str
    """a whole number of any length"""
    due: Time
    times: memoryview
    notes: memoryview
    sums: memoryview


class _Snapshot(msgspec.Struct, frozen=True):
    plain: Plain
    works: list[_WorkPart]
    columns: dict[str, memoryview]
    log: dict[str, memoryview]
    missing: memoryview
    sets: dict[str, memoryview]
    series: dict[str, list[_SeriesPart]]
    ledger: _LedgerPart
    failed_tasks: list[_Failed]
    machines: list[_Machine]
    attempts: list[_Attempt]


_UNPACKER: Final = unpacker(_Snapshot)


def to_bytes(state: RunState) -> bytes:
    """The state as a value; `from_bytes` makes the same of it."""
    return packed(
        _Snapshot(
            plain=Plain(*(getattr(state, name) for name in Plain.__struct_fields__)),
            works=[
                _WorkPart(
                    event,
                    state.work.before(place),
                    state.work.left(place),
                    state.work.arrived(place),
                )
                for place, event in enumerate(state.work.events)
            ],
            columns={name: memoryview(getattr(state, name)) for name in COLUMNS},
            log={name: memoryview(getattr(state.log, name)) for name in LOG_COLUMNS},
            missing=memoryview(state.precedence._missing),
            sets={name: memoryview(array("q", getattr(state, name))) for name in SETS},
            series={name: _series(getattr(state, name)) for name in SERIES},
            ledger=_ledger(state.ledger),
            failed_tasks=[
                _Failed(task, one.attempt, one.exit_code, one.why)
                for task, one in state.failed_tasks.items()
            ],
            machines=[_machine(machine) for machine in state.machines.values()],
            attempts=[
                _Attempt(one.id, one.task, one.machine.id, one.started, one.measure, one.cancelling)
                for one in state.attempts.values()
            ],
        )
    )


def from_bytes(data: bytes | memoryview, recall: Recall) -> RunState:
    """The state that `to_bytes` was given; bags and workflows come from the journal."""
    found: _Snapshot = _UNPACKER.decode(data)
    state = RunState()
    for name in Plain.__struct_fields__:
        setattr(state, name, getattr(found.plain, name))
    if state.created is not None:
        state.market = state.created.market
    for name, column in found.columns.items():
        _fill(getattr(state, name), column)
    for name, column in found.log.items():
        _fill(getattr(state.log, name), column)
    for name, members in found.sets.items():
        setattr(state, name, IndexedSet(members.cast("q")))
    for name, parts in found.series.items():
        _restore_series(getattr(state, name), parts)
    _restore_work(state, found, recall)
    state.ledger = _restored_ledger(found.ledger, state)
    for one in found.failed_tasks:
        state.failed_tasks[one.task] = Failure(one.attempt, one.exit_code, one.why)
    _restore_machines(state, found)
    return state


def _fill(column: Any, data: memoryview) -> None:
    """Put stored numbers in the place of those that a column has."""
    del column[:]
    if isinstance(column, bytearray):
        column.extend(data)
    else:
        column.frombytes(data)


def _series(stored: AccountSeries) -> list[_SeriesPart]:
    return [
        _SeriesPart(
            account,
            one.value,
            str(one.moment),
            one.due,
            memoryview(one.times),
            memoryview(one.notes),
            memoryview(one.sums),
        )
        for account, one in stored.series.items()
    ]


def _restore_series(series: AccountSeries, parts: list[_SeriesPart]) -> None:
    for part in parts:
        one = series.series.setdefault(part.account, TimeSeries())
        one.value, one.moment, one.due = part.value, int(part.moment), part.due
        for name in ("times", "notes", "sums"):
            _fill(getattr(one, name), getattr(part, name))


def _restore_work(state: RunState, found: _Snapshot, recall: Recall) -> None:
    """Those that are done stay in the journal until somebody asks for them."""
    ends = [*(one.before for one in found.works), state.total][1:]
    for place, (one, end) in enumerate(zip(found.works, ends, strict=True)):
        work = recall(one.event) if one.left else None
        if work is None:
            state.work.add_forgotten(one.before, one.event, one.arrived)
        else:
            state.work.add(one.before, work, one.event, one.arrived)
            state.work.count_left(place, one.left)
        if work is not None and isinstance(work.tasks, Workflow):
            deque(state.precedence.add_workflow(work.tasks), maxlen=0)
        else:
            state.precedence.add_free(end - one.before)
    for number, priority in state.priorities.items():
        state.work.change_priority(number - 1, priority)
    state.work.recall = recall
    _fill(state.precedence._missing, found.missing)


def _machine(machine: Machine) -> _Machine:
    return _Machine(
        machine.id,
        machine.offer.name,
        machine.rented,
        machine.until,
        machine.up,
        machine.marked,
        machine.releasing,
        machine.doomed,
        list(machine.attempts),
        machine.waiting,
        machine.account,
    )


def _restore_machines(state: RunState, found: _Snapshot) -> None:
    for one in found.machines:
        begun = state.begun_on[one.id] = dict.fromkeys(one.attempts)
        state.machines[one.id] = Machine(
            one.id,
            state.market[one.offer],
            one.rented,
            one.until,
            one.up,
            one.marked,
            one.releasing,
            one.doomed,
            attempts=MappingProxyType(begun),
            waiting=one.waiting,
            account=one.account,
        )
    for live in found.attempts:
        machine = state.machines[live.machine]
        state.attempts[live.id] = Attempt(
            live.id, live.task, machine, live.started, live.measure, live.cancelling
        )
        state.live_of.setdefault(live.task, []).append(live.id)


def _ledger(ledger: Ledger) -> _LedgerPart:
    charges = list(ledger.charges())
    return _LedgerPart(
        {account: ledger.budget_of(account) for account in ledger.accounts},
        ledger.committed,
        ledger.spent,
        [_charge(one) for one in charges if one.is_open],
        [_charge(one) for one in charges if not one.is_open],
    )


def _charge(one: Charge) -> _Charge:
    return _Charge(one.machine, one.offer.name, one.begin, one.end, one.account, one.was_lost)


def _restored_ledger(stored: _LedgerPart, state: RunState) -> Ledger:
    def charge(one: _Charge, *, is_open: bool) -> Charge:
        offer = state.market[one.offer]
        return Charge(one.machine, offer, one.begin, one.end, is_open, one.account, one.was_lost)

    ledger = Ledger(stored.budgets)
    ledger.now = state.now
    ledger.committed, ledger.spent = stored.committed, stored.spent
    ledger._open = {one.machine: charge(one, is_open=True) for one in stored.live}
    ledger._units = {number: one.units for number, one in ledger._open.items()}
    ledger._closed = ClosedCharges(charge(one, is_open=False) for one in stored.closed)
    ledger.change(stored.budgets)
    return ledger
