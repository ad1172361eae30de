"""What the process on two pools asks of machines, offers and strategies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from bursar.model.market import Offer
from bursar.model.strategy import Kind, Strategy
from bursar.model.time import LONGEST
from bursar.view import Machine, View

INTERIM: Final = "combined"
"""The name of a strategy that holds until the tail begins."""


class Free:
    """Free slots of both pools, as machine numbers."""

    def __init__(self, view: View) -> None:
        self.unreliable: list[int] = []
        self.reliable: list[int] = []
        for number in view.idle:
            machine = view.machines[number]
            where = self.unreliable if is_unreliable(machine) else self.reliable
            where += [number] * (machine.offer.slots - len(machine.attempts))


def is_unreliable(machine: Machine) -> bool:
    return machine.offer.pool == "unreliable"


def by_price(offers: Iterable[Offer]) -> list[Offer]:
    """The cheapest first, for the work that they do."""
    return sorted(offers, key=lambda one: float(one.price) / one.billing / one.speed)


def interim(ratio: float) -> Strategy:
    """For the time until the tail begins, on which is decided then: both pools are combined."""
    return Strategy(None, LONGEST, LONGEST, ratio, INTERIM, Kind.COMBINED)


def is_interim(strategy: Strategy | None) -> bool:
    return strategy is not None and strategy.name == INTERIM
