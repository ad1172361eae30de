"""What a list of plans is made from: fleets with their bounds, and what is known of run times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.model.errors import InputError
from bursar.model.market import Market, Offer
from bursar.model.money import Money, format_money
from bursar.model.strategy import Strategy
from bursar.model.time import Time, format_duration
from bursar.plan.bag.choices import Choice

Samples = Mapping[str, NDArray[np.int64]]
"""Offer name to run times there; absent: nothing is known."""


class BudgetTooSmallError(InputError):
    """No plan finishes within a budget; `least` would be enough for one."""

    def __init__(self, budget: Money, least: Money, currency: str, beside: str = "") -> None:
        super().__init__(
            f"no plan finishes within a budget of {format_money(budget, currency)}{beside};"
            f" give at least {format_money(least, currency, up=True)}"
        )
        self.least = least


class DeadlineTooEarlyError(InputError):
    """No plan finishes in time; one may finish at the `earliest`."""

    def __init__(self, deadline: Time, earliest: Time) -> None:
        super().__init__(
            f"no fleet can finish within {format_duration(deadline)};"
            f" the earliest is about {format_duration(earliest, up=True)}"
        )
        self.earliest = earliest


class Bound(Protocol):
    """Times and costs that are not exceeded with a confidence."""

    @property
    def cautions(self) -> tuple[str, ...]: ...

    def makespan(self, confidence: float = 0.5) -> Time: ...

    def cost(self, confidence: float = 0.5) -> Money: ...


class Candidate(msgspec.Struct, frozen=True):
    """A choice with its bounds; with a strategy if some of its machines may vanish."""

    choice: Choice
    bound: Bound
    strategy: Strategy | None = None


def reliable_offers(market: Market) -> list[Offer]:
    """Those that can be rented."""
    return [offer for offer in market.offers if offer.pool == "reliable" and offer.limit != 0]
