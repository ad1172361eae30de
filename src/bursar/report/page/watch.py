"""A journal for a page: read once, then only what was added since.

It begins at the newest checkpoint where there is one. Attempts are in the columns of the state; of
the events before the checkpoint only those of machines and decisions are read.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bursar.journal.checkpoints import newest_checkpoint
from bursar.journal.problems import AGAIN
from bursar.journal.reader import JournalReader, work_reader
from bursar.journal.replay import apply
from bursar.journal.runs import RunDir
from bursar.model.closable import Closable
from bursar.model.errors import BursarError, JournalError
from bursar.model.time import Time, seconds
from bursar.report.page.forecasts import RestForecast
from bursar.report.page.headline import PageTile, PageVerdict
from bursar.report.page.machine_log import MachineLog
from bursar.report.page.reasons import Reasons
from bursar.report.page.snapshot import RunSnapshot, headline, snapshot
from bursar.state import events as ev
from bursar.state.state import RunState

_MANY: Final = (ev.AttemptStarted, ev.AttemptEnded, ev.WorkArrived, ev.FilesFound)
"""of which there are many, or which are large: what they tell is in the state, but for ..."""
_WITH_REASON: Final = '"reason":'
"""... why an attempt was started; no text of a user can contain this, as it has quotes"""


class RunWatch(Closable):
    """Keeps what a page needs up to date with a journal that may still be written."""

    def __init__(self, path: str | Path) -> None:
        self.reader = JournalReader(path)
        self.machines = MachineLog()
        self.reasons = Reasons(self.machines)
        known = newest_checkpoint(self.reader)
        self.state = RunState() if known is None else known
        self.state.work.recall = work_reader(self.reader.path)
        for event in self._before(self.state.events):
            self.machines.saw(event)
            self.reasons.saw(event)

    def _before(self, number: int) -> Sequence[ev.AnyEvent]:
        """What a page wants of the first events, without those of all attempts."""
        return self.reader.events_without(_MANY, number, _WITH_REASON) if number else ()

    def catch_up(self) -> int:
        """Apply what was committed since the last call; tells how many events that were."""
        before, state = self.state.events, self.state
        for event in self.reader.events(after=before):
            apply(event, state, self.reader.path)
            if type(event) is not ev.AttemptEnded:
                self.machines.saw(event)
                self.reasons.saw(event)
        return state.events - before

    def snapshot(self, now: Time, *, is_live: bool, redact: bool = False) -> RunSnapshot:
        """How the run stands."""
        return snapshot(
            self.state, self.machines, self.reasons, now, is_live=is_live, redact=redact
        )

    def headline(
        self, now: Time, *, is_live: bool
    ) -> tuple[PageVerdict, list[PageTile], RestForecast | None]:
        """What changes at every moment."""
        return headline(self.state, now, is_live=is_live)

    def close(self) -> None:
        self.reader.close()


def time_of(state: RunState, wall: float) -> Time:
    """The time of a run at a moment, in seconds since 1970."""
    began = wall if state.created is None else state.created.began
    return max(state.now, seconds(wall - began))


def is_executed(run: RunDir) -> bool:
    """Whether a process executes the run now, as far as that can be seen from here."""
    try:
        return run.owner() is not None
    except BursarError:
        return False


def watch_now(run: RunDir, *, redact: bool = False) -> RunSnapshot:
    """How a run stands now."""
    with RunWatch(run.journal) as watch:
        watch.catch_up()
        if not watch.state.events:
            raise JournalError(f"{run.journal}: has no events, so the run never began: {AGAIN}")
        now = time_of(watch.state, time.time())
        return watch.snapshot(now, is_live=is_executed(run), redact=redact)
