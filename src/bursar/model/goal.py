"""Goals: what the user wants and what must not be exceeded."""

from __future__ import annotations

import msgspec

from bursar.model.money import Money
from bursar.model.time import Time


class Goal(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Budget and deadline are limits; None means there is none."""

    budget: Money | None = None
    """the most money that may ever be committed; None only where nothing costs money"""
    deadline: Time | None = None
    """as a time of the run, which begins with its sample if it has one"""

    def later(self, by: Time) -> Goal:
        """The same with the deadline put off by so much."""
        return self if self.deadline is None else Goal(self.budget, self.deadline + by)


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How patient a run is with a task."""

    retries: int = 0
    """further attempts after an attempt that failed by its own fault"""
    timeout: Time | None = None
    """longest run time of one attempt; None: as long as it takes"""
