"""The clock of a run on this computer, and what the computer's clocks say."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

from bursar.execute.processes import boottime
from bursar.model.time import Time, seconds
from bursar.state.events import Clocks

BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")


def read_clocks() -> Clocks:
    """What they show now."""
    try:
        boot = BOOT_ID.read_text().strip()
    except OSError:
        boot = ""
    return Clocks(time.time(), boot, boottime())


class RunClock:
    """Time since the run began: found out once, from then on by a clock that never jumps.

    It goes on while the computer is asleep, and starts no earlier than `reached`, the last time in
    the journal. `then` is a moment of the run and what the clocks showed at it, if only the wall
    clock at time zero. Where they disagree on how much time has passed since, the longest counts:
    it is the dearest.
    """

    def __init__(self, reached: Time, then: tuple[Time, Clocks] | None) -> None:
        now = read_clocks()
        readings = [reached]
        self.is_doubtful = False
        """the clock was set back, so that nobody knows how much time has passed"""
        if then is not None:
            at, clocks = then
            readings.append(at + seconds(now.wall - clocks.wall))
            if clocks.boot and clocks.boot == now.boot:
                readings.append(at + now.uptime - clocks.uptime)
            else:
                self.is_doubtful = readings[-1] < reached
        self._origin = now.uptime - max(readings)

    def now(self) -> Time:
        return boottime() - self._origin

    def to_boottime(self, at: Time) -> int:
        return at + self._origin

    def from_boottime(self, at: int) -> Time:
        return at - self._origin
