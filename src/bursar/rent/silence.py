"""Says that somebody who is asked again and again does not answer: once, and once that they do."""

from __future__ import annotations

import logging
import threading
import time
from typing import Final

LONGEST_SILENCE: Final = 10.0
"""seconds for which nothing is said: what fails for a moment is no news"""
_LOG: Final = logging.getLogger("bursar")


class Silence:
    """From any thread. Its lines go to the log `bursar`: to stderr, unless a program says so."""

    def __init__(self, who: str) -> None:
        self._who = who
        self._since: float | None = None
        """the first of the failures in a row"""
        self._is_said = False
        self._lock = threading.Lock()

    def failed(self, why: object) -> None:
        with self._lock:
            now = time.monotonic()
            since = self._since = now if self._since is None else self._since
            if self._is_said or now - since < LONGEST_SILENCE:
                return
            self._is_said = True
        message = "%s has not answered for %.0f s, and is asked again: %s"
        _LOG.warning(message, self._who, now - since, why)

    def answered(self) -> None:
        with self._lock:
            since, was_said = self._since, self._is_said
            self._since, self._is_said = None, False
        if was_said and since is not None:
            _LOG.warning("%s answers again, after %.0f s", self._who, time.monotonic() - since)
