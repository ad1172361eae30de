"""`bats-table-3.2`: the schedules proposed after the sampling phase (BaTS thesis, table 3.2)."""

from __future__ import annotations

from typing import Final

from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import HOUR
from bursar.plan.bag.choices import choose, least_budget
from bursar.plan.bag.knapsack import fastest
from bursar.reproduce.bats_scenarios import MEAN
from bursar.reproduce.result import Reproduction, Row, between, judged, same

_SCENARIOS: Final = {
    "S3-4": (9, MEAN // 4, 889),
    "S4-1": (12, MEAN, 963),
}
"""price and mean run time of cluster 2, and tasks left after the sampling phase"""

_Published = tuple[str, str, int, tuple[int, int], int, int]
_SCHEDULES: Final[tuple[_Published, ...]] = (
    ("S3-4", "low", 100, (0, 29), 2, 11),
    ("S3-4", "low", 120, (6, 32), 2, 0),
    ("S3-4", "high", 80, (6, 32), 2, 0),
    ("S3-4", "high", 100, (32, 32), 2, 0),
    ("S4-1", "low", 100, (4, 0), 61, 0),
    ("S4-1", "low", 120, (32, 1), 8, 0),
    ("S4-1", "high", 80, (32, 19), 5, 97),
    ("S4-1", "high", 100, (32, 32), 4, 9),
)


def reproduce(name: str) -> Reproduction:
    rows: list[Row] = []
    for scenario, end, share, counts, hours, cushion in _SCHEDULES:
        rows.extend(_rows(scenario, end, share, counts, hours, cushion))
    return Reproduction(
        name=name,
        title="Schedules proposed after the sampling phase",
        source="BaTS thesis, table 3.2",
        rows=tuple(rows),
        assumed=(
            "the mean run time (910 s on cluster 1) and the tasks left (889 in S3-4, 963 in"
            " S4-1) are not printed; they follow from the printed budgets and Delta-N",
            "a budget is raised by steps of one per cent of the lower or upper bound",
        ),
    )


def _rows(
    scenario: str, end: str, share: int, counts: tuple[int, int], hours: int, cushion: int
) -> list[Row]:
    price, mean, tasks = _SCENARIOS[scenario]
    offers = (
        Offer("cluster1", Money.parse(3), HOUR, limit=32),
        Offer("cluster2", Money.parse(price), HOUR, limit=32),
    )
    runtimes = {"cluster1": MEAN, "cluster2": mean}
    low, high = least_budget(offers, runtimes, tasks), fastest(offers, runtimes, tasks).cost
    base = low if end == "low" else high
    found = choose("", offers, runtimes, tasks, base, share)
    what = f"{scenario}, {share} % of B_{'min' if end == 'low' else 'fastest'}"
    if found is None:
        return [same(what, f"{counts}, {hours} h", "no fleet")]
    ours = (found.fleet.get("cluster1", 0), found.fleet.get("cluster2", 0))
    rows = [same(what, f"{counts}, {hours} h", f"{ours}, {max(found.units.values())} h")]
    if cushion:
        band = between(cushion - 1, cushion + 1, "budgets are rounded up to whole dollars")
        rows.append(judged(f"{what}: cushion, $", cushion, float(found.cushion), band))
    return rows
