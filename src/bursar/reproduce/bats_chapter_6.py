"""`bats-kohonen` and `bats-sarsa`: six schedules for each real bag (BaTS thesis, chapter 6)."""

from __future__ import annotations

from typing import Final

from bursar.model.fleet import format_fleet
from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE
from bursar.plan.choices import Choice, least_budget, list_choices
from bursar.reproduce.result import Reproduction, Row, same, shown_only

OFFERS: Final = tuple(
    Offer(name, Money.parse(price), HOUR, limit=10)
    for name, price in (("m1.small", "0.08"), ("m1.medium", "0.16"), ("m1.large", "0.32"))
)
"""Table 6.1, with the cap of ten machines of each type."""

_Published = tuple[str, tuple[int, int, int], int]

_KOHONEN: Final[tuple[_Published, ...]] = (
    ("cheapest", (2, 0, 0), 67),
    ("cheapest +10 %", (9, 10, 0), 5),
    ("cheapest +20 %", (10, 10, 0), 5),
    ("fastest -20 %", (10, 10, 3), 4),
    ("fastest -10 %", (10, 10, 4), 4),
    ("fastest", (10, 10, 10), 3),
)
_SARSA: Final[tuple[_Published, ...]] = (
    ("cheapest", (3, 0, 0), 13),
    ("cheapest +10 %", (10, 10, 3), 1),
    ("cheapest +20 %", (10, 10, 4), 1),
    ("fastest -20 %", (10, 9, 7), 1),
    ("fastest -10 %", (9, 9, 9), 1),
    ("fastest", (10, 10, 10), 1),
)
_BAGS: Final = {
    "bats-kohonen": (5000 - 159, (1.66, 0.86, 0.97), _KOHONEN),
    "bats-sarsa": (9000 - 1115, (0.29, 0.15, 0.08), _SARSA),
}


def reproduce(name: str) -> Reproduction:
    tasks, minutes, published = _BAGS[name]
    runtimes = {
        offer.name: round(mean * MINUTE) for offer, mean in zip(OFFERS, minutes, strict=True)
    }
    found = {choice.name: choice for choice in list_choices(OFFERS, runtimes, tasks)}
    rows = [
        _row(found[choice], counts, hours, strict=(name, choice) != ("bats-sarsa", "cheapest"))
        for choice, counts, hours in published
    ]
    low = least_budget(OFFERS, runtimes, tasks)
    paper = {"bats-kohonen": "10.72", "bats-sarsa": "3.12"}[name]
    rows.append(same("cost of the cheapest, $", paper, str(low)))
    return Reproduction(
        name=name,
        title=f"Six schedules for the {name.removeprefix('bats-').capitalize()} bag",
        source="BaTS thesis, section 6.2",
        rows=tuple(rows),
        assumed=(
            "run times are the printed means, rounded as printed; tasks left are the bag less those"
            " done in the sampling phase",
        ),
    )


def _row(choice: Choice, counts: tuple[int, ...], hours: int, *, strict: bool) -> Row:
    names = [offer.name for offer in OFFERS]
    paper = f"{format_fleet(dict(zip(names, counts, strict=True)))}, {hours} h"
    ours = f"{format_fleet(choice.fleet)}, {max(choice.units.values())} h"
    if strict:
        return same(choice.name, paper, ours)
    note = f"an exact solver finds a faster fleet for the same ${choice.cost}"
    return shown_only(choice.name, paper, ours, note)
