"""`bats-interval-size`: samples for intervals of a given width (BaTS thesis, section 4.3.2).

The thesis sets up the equations and solves none, as nobody knows the deviation beforehand: "it is
best to start with at least 30 observations and at most the number returned by formula (2.1)". Here
they are solved for its own bags, and the intervals are tried on samples of that size.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from bursar.beliefs.bounds import OfferBelief
from bursar.beliefs.sampling import sample_size
from bursar.reproduce.bats_chapter_4 import TASKS
from bursar.reproduce.bats_sample_size import (
    deviation_width,
    mean_width,
    size_for_deviation,
    size_for_mean,
)
from bursar.reproduce.result import (
    Band,
    Reproduction,
    Row,
    between,
    checked,
    judged,
    same,
    shown_only,
)

WIDTH: Final = 0.1
"""Ten per cent, as in the thesis's first scenario."""
LEVELS: Final = (0.9, 0.95)
TRIALS: Final = 2_000
CHANCE: Final = 2.58
MINUTES: Final = 10.0
"""Plus and minus five, as in its second."""

_MOMENTS: Final = {"NDB": (15.0, 5**0.5), "LTB": (14.70, 11.37), "MDB": (7.98, 6.27)}
"""Mean and deviation of the bags in minutes, as printed in sections 4.5.1, 4.5.4 and 4.5.6."""


def reproduce(name: str, trials: int = TRIALS) -> Reproduction:
    return Reproduction(
        name=name,
        title="Sample sizes from the width of an interval",
        source="BaTS thesis, section 4.3.2",
        rows=(*_published_rows(), *_deviation_rows(trials), *_mean_rows(trials), *_minute_rows()),
        assumed=(
            "the thesis solves none of its equations; what is printed is its advice of 30 tasks or"
            " more, and no more than equation 2.1 says, which are 30 for its bags of 1,000",
            f"intervals are tried on {trials:,} samples of normal run times: whether they hold as"
            " often as they say",
        ),
    )


def _published_rows() -> Iterator[Row]:
    yield same("least sample", 30, sample_size(TASKS), "at most what equation 2.1 says")
    for bag, (mean, deviation) in _MOMENTS.items():
        wide = 100 * mean_width(30, deviation / mean, 0.9)
        yield shown_only(f"{bag}: interval of the mean with 30 tasks, % of it", None, wide)
    wide = 100 * deviation_width(30, 0.9)
    yield shown_only("interval of the deviation with 30 tasks, % of it", None, wide)


def _deviation_rows(trials: int) -> Iterator[Row]:
    for level in LEVELS:
        size = size_for_deviation(WIDTH, level)
        what = f"deviation, {WIDTH:.0%} wide at {level:.0%}"
        yield from _solved(what, size, deviation_width(size - 1, level))
        width = deviation_width(size, level)
        yield judged(f"{what}: width, %", 100 * WIDTH, 100 * width, _narrow(size))
        yield _held(what, "deviation", level, size, trials)


def _mean_rows(trials: int) -> Iterator[Row]:
    for bag, (mean, deviation) in _MOMENTS.items():
        variation = deviation / mean
        size = size_for_mean(WIDTH, variation, 0.9)
        what = f"{bag}: mean, {WIDTH:.0%} wide at 90%"
        yield from _solved(what, size, mean_width(size - 1, variation, 0.9))
        width = mean_width(size, variation, 0.9)
        yield judged(f"{what}: width, %", 100 * WIDTH, 100 * width, _narrow(size))
    yield _held("mean", "mean", 0.9, size_for_mean(WIDTH, 0.5, 0.9), trials)


def _minute_rows() -> Iterator[Row]:
    """The second scenario: so many minutes, which needs the deviation."""
    for bag, (mean, deviation) in _MOMENTS.items():
        size = size_for_mean(MINUTES / mean, deviation / mean, 0.9)
        yield shown_only(f"{bag}: mean, 5 minutes either way at 90%: tasks", None, size)
        size = size_for_deviation(MINUTES / deviation, 0.9)
        yield shown_only(f"{bag}: deviation, 10 minutes wide at 90%: tasks", None, size)


def _solved(what: str, size: int, before: float) -> Iterator[Row]:
    """That one task less is too few."""
    band = between(100 * WIDTH, 200 * WIDTH, "one task less is too few")
    yield shown_only(f"{what}: tasks", None, size)
    yield checked(f"{what}: width with a task less, %", 100 * before, band)


def _narrow(size: int) -> Band:
    """The width falls by some half of one part in `size` with each task."""
    return between(100 * WIDTH * (1 - 2 / size), 100 * WIDTH, "the width asked for, in whole tasks")


def _held(what: str, parameter: str, level: float, size: int, trials: int) -> Row:
    """How often such an interval holds the true parameter of a normal distribution."""
    rng = np.random.default_rng([43, size])
    shape = OfferBelief(0.0, 1.0, size)
    held = 0
    for _ in range(trials):
        sample = rng.standard_normal(size)
        spread = float(sample.std())
        if parameter == "mean":
            held += abs(float(sample.mean())) <= shape.mean_interval(level).high * spread
        else:
            interval = shape.deviation_interval(level)
            held += interval.low * spread <= 1.0 <= interval.high * spread
    reach = CHANCE * (level * (1 - level) / trials) ** 0.5
    band = between(level - reach, level + reach, f"chance in {trials:,} samples")
    return checked(f"{what}: intervals that hold", held / trials, band)
