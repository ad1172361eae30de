"""When a run will end, as far as the tasks done so far tell."""

from __future__ import annotations

from bursar.model.time import Time
from bursar.state import events as ev
from bursar.state.state import RunState


class Forecast:
    """An observer that keeps the mean run time of successful attempts, and what it implies."""

    def __init__(self) -> None:
        self._count = 0
        self._total: Time = 0

    def saw(self, event: ev.AnyEvent, state: RunState) -> None:
        if isinstance(event, ev.AttemptEnded) and event.outcome == "success":
            self._count += 1
            self._total += event.runtime

    def remaining(self, state: RunState) -> Time | None:
        """Expected time to the end with the machines at work now; None: too early to tell."""
        busy = len(state.attempts)
        if not self._count or not busy:
            return None
        mean = self._total / self._count
        return round(mean * (len(state.ready) + busy / 2) / busy)
