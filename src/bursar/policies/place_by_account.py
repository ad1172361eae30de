"""Placers that look at all works, where each account has machines of its own.

Such a placer can serve one account alone. Where a run has several, there is one of
them for each, and none sees the works or the machines of another.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from random import Random

from bursar.engine.roles import Placer
from bursar.model.time import Time
from bursar.state.actions import Start
from bursar.state.view import View


class AccountPlacer(Placer):
    """A placer that can serve one account alone."""

    @abstractmethod
    def serve(self, account: str) -> None:
        """Place tasks of this account alone, on its machines. Called before anything else."""


class PlacedByAccount(Placer):
    """A placer for each account, made when it is first needed."""

    def __init__(self, make: Callable[[], AccountPlacer]) -> None:
        self._make = make
        made = make()
        self.on_arrival, self.on_idle = made.on_arrival, made.on_idle
        self._placers: dict[str, AccountPlacer] = {}
        """by account"""

    def place(self, view: View, now: Time, rng: Random) -> Iterable[Start]:
        starts: list[Start] = []
        for account in view.ledger.accounts:
            if account not in self._placers:
                self._placers[account] = self._make()
                self._placers[account].serve(account)
            starts += self._placers[account].place(view, now, rng)
        return starts
