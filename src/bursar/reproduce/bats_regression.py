"""`bats-regression`: samples completed by a base cluster (BaTS thesis, section 3.1.3, figure 3.3).

Seven tasks run on both clusters, the others of the sample on one of them. Figure 3.3 shows that
mean and deviation of the bag come out on both; it prints no numbers. Tables 6.2 and 6.3 print lines
from the small type to two others, which can be inverted and composed.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean
from typing import Final

import numpy as np

from bursar.beliefs.regression import Line
from bursar.beliefs.samples import REPLICATED
from bursar.beliefs.sampling import sample_size
from bursar.reproduce.bats_base_offer import complete_samples, line_between
from bursar.reproduce.bats_chapter_6 import BAGS, OFFERS
from bursar.reproduce.bats_scenarios import SCENARIOS, TASKS, bag, scenario
from bursar.reproduce.bats_tables_6 import HALF, TABLES
from bursar.reproduce.result import Band, Reproduction, Row, between, checked, judged

SEEDS: Final = 30
CHANCE: Final = 2.58
"""Standard errors within which the mean of so many samples lies: 99 % do."""
SIZE: Final = sample_size(TASKS)

Samples = dict[str, dict[int, float]]


def sampled(name: str, seed: int, base: str) -> Samples:
    """The complete samples of one bag, by a base cluster."""
    market, runtimes = scenario(name), bag(seed)
    rng = np.random.default_rng([33, seed])
    tasks = rng.permutation(TASKS)[:SIZE].tolist()
    speeds = np.array([offer.speed for offer in market.offers])
    alone = rng.choice(len(speeds), SIZE, p=speeds / speeds.sum())
    measured: Samples = {offer.name: {} for offer in market.offers}
    for place, task in enumerate(tasks):
        for number, offer in enumerate(market.offers):
            if place < REPLICATED or alone[place] == number:
                measured[offer.name][task] = float(round(runtimes[task] / offer.speed))
    return complete_samples(measured, tasks[:REPLICATED], base)


def reproduce(name: str, seeds: int = SEEDS) -> Reproduction:
    rows = [row for title in SCENARIOS for row in _scenario_rows(title, seeds)]
    for table in TABLES:
        rows.extend(_line_rows(table))
    return Reproduction(
        name=name,
        title="Run times converted by a base cluster",
        source="BaTS thesis, section 3.1.3, figure 3.3, and tables 6.2 and 6.3",
        rows=tuple(rows),
        assumed=(
            f"ratios are means over {seeds} bags, each with a sample of {SIZE} tasks; what figure"
            " 3.3 shows is read as: the ratios are one, but for the chance in so many samples",
            "tasks that run on one cluster only are dealt out in proportion to the speeds",
        ),
    )


def _scenario_rows(title: str, seeds: int) -> Iterator[Row]:
    """Mean and deviation on both clusters, and whether the base makes a difference."""
    apart = 0.0
    ratios: dict[str, list[tuple[float, float]]] = {}
    for seed in range(seeds):
        first, other = (sampled(title, seed, base) for base in ("cluster0", "cluster1"))
        real = np.array(bag(seed))
        for offer in scenario(title).offers:
            ours = np.array([first[offer.name][task] for task in sorted(first[offer.name])])
            again = np.array([other[offer.name][task] for task in sorted(other[offer.name])])
            apart = max(apart, float(np.abs(ours / again - 1).max()))
            mean, deviation = real.mean() / offer.speed, real.std() / offer.speed
            found = float(ours.mean() / mean), float(ours.std(ddof=1) / deviation)
            ratios.setdefault(offer.name, []).append(found)
    for offer_name, found_here in ratios.items():
        for what, place, band in (("mean", 0, _mean_band(seeds)), ("deviation", 1, _spread(seeds))):
            ratio = fmean(each[place] for each in found_here)
            yield checked(f"{title}, {offer_name}: {what}, sample by bag", ratio, band)
    band = between(0.0, 1e-4, "run times are whole microseconds; lines are exact")
    yield checked(f"{title}: largest difference between bases, %", 100 * apart, band)


def _mean_band(seeds: int) -> Band:
    reach = CHANCE * (5**0.5 / 15) / (SIZE * seeds) ** 0.5
    return between(1 - reach, 1 + reach, f"chance in {seeds} samples of {SIZE}")


def _spread(seeds: int) -> Band:
    """A deviation's own standard error is its share 1 / sqrt(2 (n - 1)) for normal bags."""
    reach = CHANCE / (2 * (SIZE - 1) * seeds) ** 0.5
    return between(1 - reach, 1 + reach, f"chance in {seeds} samples of {SIZE}")


def _line_rows(table: str) -> Iterator[Row]:
    """Printed means from each other, by inverses and compositions of the printed lines."""
    printed = TABLES[table]
    small, medium, large = (offer.name for offer in OFFERS)
    lines = {small: Line(1.0, 0.0), medium: printed.lines[0], large: printed.lines[1]}
    means = dict(zip((small, medium, large), BAGS[printed.bag].minutes, strict=True))
    for source, target in ((medium, small), (large, small), (medium, large), (large, medium)):
        line = line_between(lines, source, target)
        yield judged(
            f"table {table[-3:]}: mean on {target} from that on {source}, min",
            means[target],
            line.apply(means[source]),
            _rounding(lines, means, source, target),
            why=printed.why[0] if large in (source, target) else "",
        )


def _rounding(lines: dict[str, Line], means: dict[str, float], source: str, target: str) -> Band:
    """What rounding of the printed means, slopes and intercepts leaves open."""
    back, on = lines[source], lines[target]
    base = (means[source] - back.intercept) / back.slope
    off = HALF * (2 + base) / back.slope if back.slope != 1 else HALF
    reach = on.slope * off + (HALF * (1 + base) if on.slope != 1 else 0.0) + HALF
    paper = means[target]
    return between(paper - reach, paper + reach, "means, slopes and intercepts are rounded")
