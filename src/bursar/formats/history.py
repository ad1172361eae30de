"""What an earlier run tells of unreliable machines: a job log, or a journal of bursar."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from bursar.beliefs.pool import Characterisation, PoolObserver
from bursar.beliefs.reliability import History, Instance, effective_size, tail_start
from bursar.formats.files import source_name
from bursar.formats.joblog import JoblogRow, read_joblog
from bursar.journal.export import NO_EXIT, RELEASED
from bursar.journal.names import LAST
from bursar.journal.replay import load_state
from bursar.journal.runs import Home
from bursar.model.errors import InputError, shown
from bursar.model.market import Market
from bursar.model.time import LONGEST, SECOND, Time, seconds

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_JOURNAL: Final = b"SQLite format 3\0"
"""How a journal begins."""
_CLOSE: Final = 0.002
"""Seconds by which a time in a job log may be off, since it is rounded to milliseconds."""


class PoolHistory(msgspec.Struct, frozen=True):
    """What was sent to unreliable machines in an earlier run, as of `now`."""

    source: str
    history: History
    now: Time
    throughput_end: Time | None
    """when fewer tasks remained than there were unreliable machines"""
    reliable_time: Time | None
    """the mean run time on reliable machines"""

    def characterise(
        self, turnarounds: NDArray[np.int64] | None = None, requested: int | None = None
    ) -> Characterisation:
        """The pool as it was; turnaround times that are given stand for those of the history."""
        try:
            return Characterisation.from_history(
                self.history,
                self.now,
                throughput_end=self.throughput_end,
                requested=requested,
                turnarounds=turnarounds,
                reliable_time=self.reliable_time,
            )
        except InputError as error:
            raise InputError(f"{self.source}: {error}") from None


def read_history(source: str, home: Home, market: Market | None = None) -> PoolHistory:
    """Read a job log, the journal in a file or a run's directory, or that of a run by its name.

    A market tells which of a job log's machines are unreliable. Without it all are.
    """
    path = Path(source)
    path = path / "journal.db" if path.is_dir() else path
    if _is_journal(path):
        return _from_journal(path, source)
    if source == "-" or path.exists():
        return from_joblog(read_joblog(path), source_name(path), market)
    if source and any(run.name.startswith(source) or source == LAST for run in home.list()):
        return _from_journal(home.find(source).journal, source)
    raise InputError(f"{shown(source)} is not a job log, a journal or a run in {home.path}")


def _is_journal(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_JOURNAL)) == _JOURNAL
    except (OSError, ValueError):  # reported by the next reader
        return False


def _from_journal(path: Path, source: str) -> PoolHistory:
    observer = PoolObserver()
    state = load_state(path, [observer])
    history = observer.history()
    now = max(state.now, history.end)
    return PoolHistory(source_name(source), history, now, observer.tail, observer.reliable_time)


def from_joblog(
    rows: Sequence[JoblogRow], source: str, market: Market | None = None
) -> PoolHistory:
    """Exit value and signal 0 are a result, all else is none.

    An attempt that did not end by itself, and not before another of its task had the result, was
    called back; so was one whose machine was given back.
    """
    first = min((row.start for row in rows), default=0.0)
    if any(max(row.start - first, row.runtime) > LONGEST / SECOND / 2 for row in rows):
        raise InputError(f"{source}: its times are more than 50 years apart; check them")
    reliable = [row for row in rows if _pool(row, market) == "reliable"]
    sent = [row for row in rows if _pool(row, market) != "reliable"]
    results: dict[int, float] = {}
    for row in rows:
        if row.has_result:
            results[row.seq] = min(row.end, results.get(row.seq, row.end))
    history = History.of(_instance(row, first, results) for row in sent)
    times = [seconds(row.runtime) for row in reliable if row.has_result]
    completions = [seconds(end - first) for end in results.values()]
    return PoolHistory(
        source=source,
        history=history,
        now=history.end,
        throughput_end=_throughput_end(history, completions, len({row.seq for row in rows})),
        reliable_time=round(sum(times) / len(times)) if times else None,
    )


def _instance(row: JoblogRow, first: float, results: dict[int, float]) -> Instance:
    sent, runtime = seconds(row.start - first), seconds(row.runtime)
    if row.has_result:
        return Instance(sent, turnaround=max(1, runtime))
    is_cut_short = (row.exitval, row.signal) == (NO_EXIT, 0)
    is_too_late = row.seq in results and row.end >= results[row.seq] - _CLOSE
    is_released = (row.exitval, row.signal) == (NO_EXIT, RELEASED)
    is_withdrawn = is_released or (is_cut_short and is_too_late)
    return Instance(sent, until=sent + runtime, is_withdrawn=is_withdrawn)


def _throughput_end(history: History, completions: Sequence[Time], tasks: int) -> Time | None:
    """When the tail began, by the number of machines until an instance was last sent."""
    if not len(history):
        return None
    machines = effective_size(history, 0, int(history.sent[-1]))
    start = tail_start(completions, tasks, machines)
    return start if start is not None and start > int(history.sent[0]) else None


def _pool(row: JoblogRow, market: Market | None) -> str | None:
    """Pool of the machine, which is named after its offer and a number; None: not in the market."""
    name, _, number = row.host.rpartition("-")
    is_known = market is not None and number.isdecimal() and name in market
    return market[name].pool if market is not None and is_known else None
