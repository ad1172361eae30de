"""Advisors: they look at a run and decide slowly, next to the engine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from bursar.model.time import Time
from bursar.state import events as ev
from bursar.state.state import RunState

Make = Callable[[Time], ev.AnyEvent]
"""An event, once its time is known."""


class Counsel(ABC):
    """An observer that answers with events; it is silent until it knows where to send them."""

    def __init__(self) -> None:
        self.tell: Callable[[Make], None] | None = None
        """lets an event happen"""
        self.start: Callable[[Callable[[], None]], object] = lambda work: work()
        """does something that takes its time; in a real run beside it"""

    @abstractmethod
    def saw(self, event: ev.AnyEvent, state: RunState) -> None:
        """Called after the event was applied."""

    def look(self, state: RunState) -> None:  # noqa: B027 -- most have nothing to decide then
        """Decide what the past calls for, before a run that was resumed goes on."""
