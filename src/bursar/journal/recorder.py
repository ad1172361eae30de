"""The journal of a run that is executed: its events, and with each commit a digest of its state."""

from __future__ import annotations

from bursar.journal.store import JournalWriter
from bursar.model.codec import encode
from bursar.state.digest import digest_of
from bursar.state.state import RunState


class Recorder:
    """Whoever appends an event applies it to the state before the next commit."""

    def __init__(self, writer: JournalWriter, state: RunState) -> None:
        self._writer = writer
        self._state = state
        self.append = writer.append

    def commit(self, *, safely: bool) -> None:
        self._writer.commit(safely=safely, digest=encode(digest_of(self._state)))
