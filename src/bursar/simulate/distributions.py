"""Bags whose run times are drawn as in the evaluation of BaTS (Oprescu's thesis, chapters 4 and 5).

All draws are whole microseconds of a machine of speed 1, at least one. The normal and the Levy bag
have printed parameters. Of the multi-modal bag the thesis prints only the form and some moments;
`MULTI_MODAL` says what is assumed.
"""

from __future__ import annotations

from collections.abc import Callable
from math import atan
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.model.time import MICROSECOND, MINUTE, Time

Runtimes = NDArray[np.int64]
Draw = Callable[[np.random.Generator, int], Runtimes]
"""Draws the run times of so many tasks."""


def _whole(runtimes: NDArray[np.float64]) -> Runtimes:
    return np.maximum(np.rint(runtimes), MICROSECOND).astype(np.int64)


def normal(
    rng: np.random.Generator,
    count: int,
    mean: Time = 15 * MINUTE,
    deviation: float = 5**0.5 * MINUTE,
) -> Runtimes:
    """N(15, 5) in minutes (section 4.5.1); what falls below a microsecond is raised to it."""
    return _whole(rng.normal(mean, deviation, count))


def late_normal(rng: np.random.Generator, count: int) -> Runtimes:
    """The normal bag of chapter 5: an expectation of 60 minutes (section 5.2.1).

    Its deviation is not printed; that of chapter 4 is assumed, the square root of 5 minutes.
    """
    return normal(rng, count, mean=60 * MINUTE)


def truncated_levy(
    rng: np.random.Generator,
    count: int,
    scale: Time = 12 * MINUTE,
    longest: Time = 45 * MINUTE,
) -> Runtimes:
    """A Levy distribution of scale 12 minutes, truncated to at most 45 (sections 4.4.2 and 4.5.1).

    The scale divided by the square of a standard normal is Levy; what is too long is drawn again.
    """
    kept = np.empty(count, dtype=np.float64)
    have = 0
    while have < count:
        squares = np.square(rng.standard_normal(2 * (count - have) + 16))
        runtimes = scale / squares[squares * longest >= scale]
        taken = runtimes[: count - have]
        kept[have : have + len(taken)] = taken
        have += len(taken)
    return _whole(kept)


class Hump(msgspec.Struct, frozen=True):
    """A Cauchy distribution cut to a range, in minutes."""

    weight: float
    at: float
    width: float
    low: float
    high: float


class Stretch(msgspec.Struct, frozen=True):
    """A uniform distribution, in minutes."""

    weight: float
    low: float
    high: float


class Mixture(msgspec.Struct, frozen=True):
    """Each task comes from one part, chosen by weight; the weights sum to one."""

    humps: tuple[Hump, ...]
    stretches: tuple[Stretch, ...]


MULTI_MODAL: Final = Mixture(
    humps=(
        Hump(weight=0.52, at=3.5, width=0.8, low=0.2, high=20.0),
        Hump(weight=0.28, at=12.0, width=1.0, low=0.2, high=20.0),
    ),
    stretches=(
        Stretch(weight=0.178, low=1.0, high=20.0),
        Stretch(weight=0.006, low=20.0, high=30.0),
        Stretch(weight=0.016, low=30.0, high=45.0),
    ),
)
"""The supernova workload: two Cauchy and three uniform distributions, two of them the tail (4.5.1).

Printed: a mean of 7.98 and a deviation of 6.27 minutes (4.5.4), hardly any task between 20 and 30
minutes (5.2.3), and that the chi-square interval of the deviation at 90 % held the true one for 50
to 57 % of the samples (tables 4.2 to 4.4), which tells how heavy the tail is. Weights, places and
widths are not printed; these agree with all of the above.
"""


def multi_modal(rng: np.random.Generator, count: int, mixture: Mixture = MULTI_MODAL) -> Runtimes:
    """Draw from a mixture of humps and stretches, by default the thesis's."""
    parts: list[Hump | Stretch] = [*mixture.humps, *mixture.stretches]
    which = rng.choice(len(parts), size=count, p=[part.weight for part in parts])
    chance = rng.random(count)
    minutes = np.empty(count, dtype=np.float64)
    for number, part in enumerate(parts):
        chosen = which == number
        minutes[chosen] = _quantile(part, chance[chosen])
    return _whole(minutes * MINUTE)


def _quantile(part: Hump | Stretch, chance: NDArray[np.float64]) -> NDArray[np.float64]:
    if isinstance(part, Stretch):
        return part.low + (part.high - part.low) * chance
    low = atan((part.low - part.at) / part.width)
    high = atan((part.high - part.at) / part.width)
    return part.at + part.width * np.tan(low + (high - low) * chance)


BAGS: Final[dict[str, Draw]] = {
    "normal": normal,
    "levy": truncated_levy,
    "multi-modal": multi_modal,
    "late-normal": late_normal,
}
"""The bags of chapter 4 (the first three) and chapter 5 by name."""
