"""The clock of a run on this computer."""

from __future__ import annotations

import time

from bursar.execute.processes import boottime
from bursar.model.time import Time, seconds


class RunClock:
    """Time since the run began: by the wall clock once, from then on by one that never jumps.

    It goes on while the computer is asleep, and starts no earlier than `reached`, the last time in
    the journal, even if the wall clock was set back since.
    """

    def __init__(self, reached: Time, began: float | None) -> None:
        elapsed = reached if began is None else seconds(time.time() - began)
        self._origin = boottime() - max(reached, elapsed)

    def now(self) -> Time:
        return boottime() - self._origin

    def to_boottime(self, at: Time) -> int:
        return at + self._origin

    def from_boottime(self, at: int) -> Time:
        return at - self._origin
