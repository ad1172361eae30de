"""What happens in the service, for those who watch it: whose an event is, and why it was decided.

It hears of every event in the engine's thread, before that is applied, and wakes the server's loop
after each commit. Events themselves are read from the journal (`stream.py`); lines of decisions are
kept, the last of each user.
"""

from __future__ import annotations

import asyncio
from collections import deque
from pathlib import Path
from typing import Final

import msgspec

from bursar.journal.reader import JournalReader
from bursar.model.time import SECOND
from bursar.report.decisions import decision_of
from bursar.state import events as ev
from bursar.state.state import RunState

EVERYBODY: Final = "*"
"""Whose those events are that concern all users."""
NOBODY: Final = ""
"""Whose those are that only the administrator sees: what they tell may be of several users."""
KEPT: Final = 2_000
"""decisions of each user"""
REPLAYED: Final = 200_000
"""A journal of more events is not read again for the decisions in it when a service is resumed."""


class WhyLine(msgspec.Struct, frozen=True):
    """A decision, and its reason."""

    seq: int
    """the event's number in the journal"""
    at_s: float
    what: str
    why: str
    user: str = ""
    """whose it is; empty: of all, or of the service itself"""


class Feed:
    """A listener of the journal's writer (`bursar.journal.recorder.Listener`)."""

    def __init__(self) -> None:
        self._state: RunState | None = None
        self.seq = 0
        """events that are in the journal"""
        self._machines: dict[int, str] = {}
        """whose each machine is or was"""
        self._owners: list[str] = []
        """of the works, in order"""
        self._lines: dict[str, deque[WhyLine]] = {}
        self.is_complete = True
        """whether the decisions of before are known, too, as far as they are kept"""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._watchers: set[asyncio.Event] = set()
        self._is_woken = False
        """whether the loop knows that there is something new"""

    # --- in the engine's thread ------------------------------------------------------------------

    def begins(self, state: RunState, journal: Path) -> None:
        """From here on `state` is that of the service; what happened before is in its journal."""
        with JournalReader(journal) as reader:
            if state.events <= REPLAYED:
                self._state = past = RunState()
                for event in reader.events():
                    self.appended(event)
                    past.apply(event)
            else:
                self.is_complete = False
                self._machines = {one.machine: one.account for one in state.ledger.charges()}
                for event in reader.events_of((ev.WorkArrived,)):
                    if isinstance(event, ev.WorkArrived):
                        self._owners.append(event.work.owner)
        self._state, self.seq = state, state.events

    def appended(self, event: ev.AnyEvent) -> bool:
        state = self._state
        assert state is not None  # noqa: S101
        if isinstance(event, ev.MachineRented):
            self._machines[event.machine] = event.account
        elif isinstance(event, ev.WorkArrived):
            self._owners.append(event.work.owner)
        decision = decision_of(event, state)
        if decision is not None:
            user = self.user_of(event)
            known = "" if user == EVERYBODY else user
            line = WhyLine(state.events + 1, event.at / SECOND, decision.what, decision.why, known)
            self._lines.setdefault(user, deque(maxlen=KEPT)).append(line)
        return False

    def committed(self) -> None:
        assert self._state is not None  # noqa: S101
        self.seq = self._state.events
        if self._watchers and not self._is_woken and self._loop is not None:
            self._is_woken = True
            self._loop.call_soon_threadsafe(self._tell)

    # --- in the server's thread ------------------------------------------------------------------

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def _tell(self) -> None:
        self._is_woken = False
        for watcher in self._watchers:
            watcher.set()

    def watch(self) -> asyncio.Event:
        """Is set after each commit; `leave` when nobody looks at it any more."""
        watcher = asyncio.Event()
        self._watchers.add(watcher)
        return watcher

    def leave(self, watcher: asyncio.Event) -> None:
        self._watchers.discard(watcher)

    def why(self, user: str | None, after: int, most: int) -> list[WhyLine]:
        """Decisions beyond an event, of a user or all, the first `most`."""
        users = list(self._lines) if user is None else [user, EVERYBODY]
        lines = [
            line for name in users for line in tuple(self._lines.get(name, ())) if line.seq > after
        ]
        return sorted(lines, key=lambda line: line.seq)[:most]

    # --- in both: what is read here is only ever added to ----------------------------------------

    def user_of(self, event: ev.AnyEvent) -> str:
        """Whose an event is."""
        assert self._state is not None  # noqa: S101
        match event:
            case ev.MachineRented() | ev.ScaleDecided() | ev.BudgetRefilled():
                return event.account
            case ev.WorkArrived():
                return event.work.owner
            case (
                ev.LeaseExtended()
                | ev.ReleaseOrdered()
                | ev.ReleaseMarked()
                | ev.MachineUp()
                | ev.MachineAdopted()
                | ev.LossAnnounced()
                | ev.ConnectionLost()
                | ev.ConnectionRestored()
                | ev.MachineDown()
                | ev.AttemptStarted()
            ):
                return self._machines.get(event.machine, NOBODY)
            case ev.CancelOrdered() | ev.AttemptEnded():
                return self._machines.get(self._state.log.machine[event.attempt], NOBODY)
            case ev.WorkCancelled() | ev.PriorityChanged():
                return self._owners[event.work - 1]
            case ev.StopRequested() | ev.RunResumed() | ev.RunEnded():
                return EVERYBODY
        return NOBODY

    def work_of(self, event: ev.AnyEvent, seq: int) -> int | None:
        """The number of the work that an event is about; None: it is about none."""
        state = self._state
        assert state is not None  # noqa: S101
        match event:
            case ev.WorkCancelled() | ev.PriorityChanged():
                return event.work
            case ev.WorkArrived():
                return state.work.arrived_with(seq)
            case ev.AttemptStarted():
                return state.work_of(event.task)
            case ev.CancelOrdered() | ev.AttemptEnded():
                return state.work_of(state.log.task[event.attempt])
        return None

    def task_of(self, event: ev.AnyEvent) -> int | None:
        """The task that an event is about, as the run counts it."""
        assert self._state is not None  # noqa: S101
        match event:
            case ev.AttemptStarted():
                return event.task
            case ev.CancelOrdered() | ev.AttemptEnded():
                return self._state.log.task[event.attempt]
        return None
