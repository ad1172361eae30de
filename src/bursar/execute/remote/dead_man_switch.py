"""The dead man's switch of a machine that costs money while it is on: it turns itself off.

The system's own `shutdown` is set before anything else is done there, and set again whenever the
lease is extended. It counts whole minutes, and a machine takes a while to be off: so it is set to a
time that is always before the end of the lease.
"""

from __future__ import annotations

import subprocess
from typing import Final

from bursar.execute.processes import boottime
from bursar.model.time import MINUTE, SECOND, Time

MARGIN: Final[Time] = 30 * SECOND
"""for a machine to be off once it was turned off"""
TIMEOUT: Final = 10.0
"""seconds for `shutdown` to take an order"""
EARLY: Final[Time] = MINUTE + MARGIN
"""The switch turns a machine off this long before the end of its lease, at most."""


class DeadManSwitch:
    """Turns this computer off in time, unless it is set again."""

    def __init__(self) -> None:
        self._fires: Time = 0
        """when, by `boottime`; 0: it was not set here"""

    def arm(self, until: Time) -> None:
        """The lease ends then, by `boottime`; a switch that is set for about then is left alone."""
        now = boottime()
        minutes = (until - MARGIN - now) // MINUTE
        fires = now + minutes * MINUTE
        if minutes < 1 or self._fires <= fires < self._fires + MARGIN:
            return
        words = ["shutdown", "-P", f"+{minutes}"]
        done = subprocess.run(words, capture_output=True, timeout=TIMEOUT, check=False)
        if not done.returncode:
            self._fires = fires
