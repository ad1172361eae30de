"""The journal of a run that is executed: its events, and with each commit a digest of its state.

Now and then, and at the end, goes a checkpoint, so that a reader need not begin with the first
event. How often depends on what one takes: they are never more than a small share of the time.
"""

from __future__ import annotations

import time
from contextlib import suppress
from math import inf
from threading import Thread
from typing import Final, Protocol

from bursar.journal.checkpoints import Checkpoint, checkpoint_of, write_checkpoint
from bursar.journal.reader import work_reader
from bursar.journal.writer import JournalWriter
from bursar.model.codec import encode
from bursar.state import events as ev
from bursar.state.digest import digest_of
from bursar.state.failures import FailureGroups
from bursar.state.state import RunState

APART: Final = 10_000
"""Events between two checkpoints, at least: so many are replayed in a tenth of a second."""
SHARE: Final = 0.02
"""The most of the time that is spent on checkpoints."""
LARGE: Final = 1_000_000
"""Bytes of a checkpoint from which on a thread writes it: the run goes on meanwhile."""


class Listener(Protocol):
    """Hears what is written, in the thread that writes it."""

    def appended(self, event: ev.AnyEvent) -> bool:
        """Called before the event is applied; True: its commit must survive a power failure."""
        ...

    def committed(self) -> None:
        """All that was appended is in the journal."""
        ...


class Recorder:
    """The caller appends an event and applies it to the state before the next commit."""

    def __init__(self, writer: JournalWriter, state: RunState) -> None:
        self._writer = writer
        self._state = state
        state.work.recall = work_reader(writer.path)
        self.append = writer.append
        self._failures = FailureGroups()
        self._listener: Listener | None = None
        self._is_urgent = False
        """whether the next commit must survive a power failure, as the listener says"""
        self._next = state.events + APART
        """no checkpoint before this event ..."""
        self._rest = 0.0
        """... and this time, by the monotonic clock"""
        self._thread: Thread | None = None
        """which writes, or wrote, the last large checkpoint"""

    def tell(self, listener: Listener) -> None:
        """From here on the listener hears of every event."""
        self._listener, self.append = listener, self._append

    def _append(self, event: ev.AnyEvent) -> None:
        self._writer.append(event)
        if self._listener is not None and self._listener.appended(event):
            self._is_urgent = True

    def commit(self, *, safely: bool) -> None:
        safely = safely or self._is_urgent
        digest = digest_of(self._state, self._failures)
        self._writer.commit(safely=safely, digest=encode(digest))
        self._is_urgent = False
        if self._listener is not None:
            self._listener.committed()
        if self._state.events >= self._next and time.monotonic() >= self._rest:
            self._checkpoint()

    def close(self) -> None:
        """Nothing more will be recorded; the journal itself stays open."""
        if self._thread is not None:
            self._thread.join()
        if self._state.events >= self._next:
            self._checkpoint()
        if self._thread is not None:
            self._thread.join()

    def _checkpoint(self) -> None:
        """Keep the state as of the last commit; where there is no room, readers do without it."""
        began, self._next, self._rest = time.monotonic(), self._state.events + APART, inf
        if self._writer.seq != self._state.events:
            self._rest = began
            return
        checkpoint = checkpoint_of(self._state, self._writer.crc)
        if memoryview(checkpoint.state).nbytes < LARGE:
            self._write(checkpoint, began)
        else:
            self._thread = Thread(target=self._write, args=(checkpoint, began), daemon=True)
            self._thread.start()

    def _write(self, checkpoint: Checkpoint, began: float) -> None:
        """Perhaps in a thread; no other checkpoint is begun before this one has ended."""
        with suppress(OSError):
            write_checkpoint(self._writer.path, checkpoint)
        now = time.monotonic()
        self._rest = now + (now - began) / SHARE
