"""The set-up of the BaTS thesis, chapter 4: bags, samples, offers and studies of them (4.5.3)."""

from __future__ import annotations

from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from bursar.beliefs.sampling import sample_size
from bursar.model.errors import InvariantError
from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, Time
from bursar.reproduce.result import Row, between, judged
from bursar.simulate.distributions import Runtimes

TASKS: Final = 1000
SAMPLE: Final = sample_size(TASKS)
LEFT: Final = TASKS - SAMPLE
BAGS: Final = {"NDB": "normal", "LTB": "levy", "MDB": "multi-modal"}
"""The thesis's name of a bag to ours."""

OFFERS: Final = (
    Offer("A", Money.parse(3), HOUR, limit=24, speed=1.0),
    Offer("B", Money.parse(12), HOUR, limit=24, speed=3.0),
    Offer("C", Money.parse(3), HOUR, limit=24, speed=2.0),
)
"""$3 an hour is not printed; it follows from $366 for 970 tasks on one machine C (4.5.5)."""

CHANCE: Final = 2.58
"""Standard deviations of a study by which the printed figure may differ: 99 % of studies do less.
"""
CHANCE_REASON: Final = "chance: 2.58 standard deviations of such a study"


Found = TypeVar("Found")


def sure(found: Found | None) -> Found:
    """What a budget buys that is known to be enough."""
    if found is None:
        raise InvariantError("one machine of the most profitable offer is a fleet")
    return found


def on(offer: Offer, runtimes: Runtimes) -> Runtimes:
    """Run times on a machine of an offer, from those on a machine A."""
    return np.rint(runtimes / offer.speed).astype(np.int64)


def means(mean: float) -> dict[str, Time | None]:
    """By offer, from that on a machine A."""
    return {offer.name: round(mean / offer.speed) for offer in OFFERS}


def one_of_these(
    what: str,
    paper: float,
    studies: NDArray[np.float64],
    most: float,
    note: str = "",
    why: str = "",
) -> Row:
    """A printed figure that is the outcome of one study, beside the mean of many such studies.

    `studies` are as large as the thesis's, each with a bag of its own; how far they lie apart is
    how far the printed figure may be from their mean. No figure is below zero or above `most`.
    """
    ours, reach = float(studies.mean()), CHANCE * float(studies.std(ddof=1))
    band = between(max(0.0, paper - reach), min(most, paper + reach), CHANCE_REASON)
    return judged(what, paper, round(ours, 3), band, note=note, why=why)
