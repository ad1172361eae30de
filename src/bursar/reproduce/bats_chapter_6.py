"""`bats-kohonen` and `bats-sarsa`: six schedules for each real bag (BaTS thesis, chapter 6)."""

from __future__ import annotations

from typing import Final

import msgspec

from bursar.model.fleet import format_fleet
from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, Time
from bursar.plan.bag.choices import Choice, list_choices
from bursar.reproduce.result import Reproduction, Row, same

OFFERS: Final = tuple(
    Offer(name, Money.parse(price), HOUR, limit=10)
    for name, price in (("m1.small", "0.08"), ("m1.medium", "0.16"), ("m1.large", "0.32"))
)
"""Table 6.1, with the cap of ten machines of each type."""

_Schedules = tuple[tuple[str, tuple[int, int, int], int], ...]


class PublishedBag(msgspec.Struct, frozen=True):
    """What is printed of a bag after its sampling phase."""

    tasks: int
    done: int
    """in the sampling phase"""
    minutes: tuple[float, float, float]
    """mean run times, to 0.01"""
    schedules: _Schedules
    """name, machines of each type, hours"""

    @property
    def left(self) -> int:
        return self.tasks - self.done


_KOHONEN: Final[_Schedules] = (
    ("cheapest", (2, 0, 0), 67),
    ("cheapest +10 %", (9, 10, 0), 5),
    ("cheapest +20 %", (10, 10, 0), 5),
    ("fastest -20 %", (10, 10, 3), 4),
    ("fastest -10 %", (10, 10, 4), 4),
    ("fastest", (10, 10, 10), 3),
)
_SARSA: Final[_Schedules] = (
    ("cheapest", (3, 0, 0), 13),
    ("cheapest +10 %", (10, 10, 3), 1),
    ("cheapest +20 %", (10, 10, 4), 1),
    ("fastest -20 %", (10, 9, 7), 1),
    ("fastest -10 %", (9, 9, 9), 1),
    ("fastest", (10, 10, 10), 1),
)
BAGS: Final = {
    "bats-kohonen": PublishedBag(5000, 159, (1.66, 0.86, 0.97), _KOHONEN),
    "bats-sarsa": PublishedBag(9000, 1115, (0.29, 0.15, 0.08), _SARSA),
}


def mean_times(bag: PublishedBag) -> dict[str, Time]:
    return {
        offer.name: round(mean * MINUTE) for offer, mean in zip(OFFERS, bag.minutes, strict=True)
    }


def reproduce(name: str) -> Reproduction:
    bag = BAGS[name]
    choices = list_choices(OFFERS, mean_times(bag), bag.left)
    found = {choice.name: choice for choice in choices}
    return Reproduction(
        name=name,
        title=f"Six schedules for the {name.removeprefix('bats-').capitalize()} bag",
        source="BaTS thesis, section 6.2",
        rows=tuple(_row(found[choice], counts, hours) for choice, counts, hours in bag.schedules),
        assumed=(
            "run times are the printed means, rounded as printed; tasks left are the bag less those"
            " done in the sampling phase",
        ),
    )


def _row(choice: Choice, counts: tuple[int, ...], hours: int) -> Row:
    names = [offer.name for offer in OFFERS]
    paper = f"{format_fleet(dict(zip(names, counts, strict=True)))}, {hours} h"
    ours = f"{format_fleet(choice.fleet)}, {max(choice.units.values())} h"
    why = f"an exact solver finds a faster fleet for the same ${choice.cost}"
    return same(choice.name, paper, ours, why=why)
