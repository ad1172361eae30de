"""How late a thread wakes here that only sleeps: what load adds to anything that is timed.

A contract that says "no order takes longer" is about the renter, not about a busy computer.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Final

from bursar.model.time import SECOND, Time

BEAT: Final[Time] = SECOND // 50


class Metronome:
    """Beats in a thread of its own until it is closed."""

    def __init__(self, now: Callable[[], Time]) -> None:
        self._now = now
        self._beats: deque[tuple[Time, Time]] = deque(maxlen=1000)
        """of the last ones: when it woke, and how late"""
        self._due = now() + BEAT
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self._thread.start()

    def lateness(self, since: Time) -> Time:
        """The worst since then; a beat that is overdue counts as far as it is."""
        past = [late for woke, late in list(self._beats) if woke >= since]
        return max([0, self._now() - self._due, *past])

    def close(self) -> None:
        self._closing.set()
        self._thread.join()

    def _beat(self) -> None:
        while not self._closing.wait(max(0, self._due - self._now()) / SECOND):
            woke = self._now()
            self._beats.append((woke, woke - self._due))
            self._due = woke + BEAT
