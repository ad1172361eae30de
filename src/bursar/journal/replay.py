"""From a journal back to the state: at once, or step by step while the run goes on."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from bursar.engine.learners import Learners
from bursar.engine.world import Observer
from bursar.journal.checkpoints import newest_checkpoint
from bursar.journal.problems import AGAIN
from bursar.journal.reader import JournalReader, work_reader
from bursar.model.closable import Closable
from bursar.model.codec import decoder
from bursar.model.errors import BursarError, InvariantError, JournalError, shown
from bursar.state import events as ev
from bursar.state.digest import Digest, digest_of
from bursar.state.state import RunState

_DIGEST: Final = decoder(Digest)


class Follower(Closable):
    """Keeps a state up to date with a journal that may still be written.

    Observers see what they would have seen in the engine, from the first event on. Without any, it
    begins at the newest checkpoint, and so it does with entries that can learn from a state.
    """

    def __init__(
        self,
        path: str | Path,
        observers: Sequence[Observer] = (),
        learners: Learners | None = None,
    ) -> None:
        self.reader = JournalReader(path)
        is_late = not observers and (learners is None or learners.may_begin_late)
        known = newest_checkpoint(self.reader) if is_late else None
        self.state = RunState() if known is None else known
        self.state.work.recall = work_reader(self.reader.path)
        if known is not None and learners is not None:
            learners.saw_before(known)
        self._observers = (*observers, *(() if learners is None else (learners,)))

    @property
    def seen(self) -> int:
        """Events applied so far."""
        return self.state.events

    def catch_up(self) -> int:
        """Apply what was committed since the last call; tells how many events that were."""
        before, state, observers = self.seen, self.state, self._observers
        for event in self.reader.events(after=before):
            apply(event, state, self.reader.path)
            for observer in observers:
                observer.saw(event, state)
        return self.seen - before

    def close(self) -> None:
        self.reader.close()


def load_state(
    path: str | Path,
    observers: Sequence[Observer] = (),
    learners: Learners | None = None,
    *,
    verified: bool = False,
) -> RunState:
    """The state that a journal tells; observers see it unfold, and learners learn from it.

    With `verified` every event is checked, also those before a checkpoint.
    """
    with Follower(path, observers, learners) as follower:
        if verified and follower.seen:
            follower.reader.verify()
        follower.catch_up()
        if not follower.seen:
            raise JournalError(f"{path}: has no events, so the run never began: {AGAIN}")
        return follower.state


def load_digest(path: str | Path) -> Digest:
    """How a run stands, as of its last commit: one row is read, however long the journal is.

    A journal without a digest that this version can read is replayed, and so is one of an earlier
    version whose digest does not say how tasks failed.
    """
    with JournalReader(path) as reader:
        record = reader.digest()
    if record is not None:
        with suppress(msgspec.MsgspecError, BursarError, ValueError, ArithmeticError):
            digest: Digest = _DIGEST.decode(record)
            if digest.failures or not digest.failed:
                return digest
    return digest_of(load_state(path))


def apply(event: ev.AnyEvent, state: RunState, source: object) -> None:
    """Apply the next event of a source outside this process, which may contradict itself."""
    try:
        if (state.created is None) is not isinstance(event, ev.RunCreated):
            raise InvariantError("a run is created once, before anything else")
        state.apply(event)
    except Exception as error:  # an event of nonsense may go wrong in any way
        raise JournalError(
            f"{source}: event {state.events + 1} ({type(event).__name__}) contradicts those before"
            f" it ({shown(repr(error))}): restore the file from a copy"
        ) from error
