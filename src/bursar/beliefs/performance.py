"""What machines perform, from calibrations, and what a task takes on them (Prob, sections 2 and 5).

Bandwidths of disks and networks vary, and how they vary changes slowly: the distribution in a
window of time is taken to be that of the window before. How long a window should be is seen in
what was measured: the length whose windows predict the following ones best. A processor's speed is
rather stable, so it is one number.

A bandwidth is kept as the time for a byte, since the time of a volume is that time multiplied. Its
mean is the mean of times, not the volume by the mean bandwidth, which is always too short.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.beliefs.histogram import Histogram
from bursar.model.errors import InputError
from bursar.model.time import DAY, HOUR, SECOND, Time

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

DEFAULT_WINDOW: Final = DAY
"""The paper's, for disks and networks, where too little was measured to choose."""
WINDOWS: Final = (HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY)
"""The lengths among which one is chosen."""
LEAST_MEASURED: Final = 20
"""A window with fewer measurements tells nothing about a distribution."""
LEAST_PREDICTED: Final = 2
"""A length is judged by at least so many windows that another one predicted."""


class Calibration(msgspec.Struct, frozen=True, eq=False):
    """Bandwidths in bytes a second, as they were measured: times ascending."""

    times: Integers
    bandwidths: Floats

    def __post_init__(self) -> None:
        if self.times.shape != self.bandwidths.shape or self.times.ndim != 1:
            raise InputError("a calibration needs a time for each bandwidth")
        if np.any(np.diff(self.times) < 0):
            raise InputError("the times of a calibration must be ascending; sort it")
        if not np.all((self.bandwidths > 0) & np.isfinite(self.bandwidths)):
            raise InputError("a bandwidth of 0 or less, or without bound; leave it out")

    def until(self, now: Time) -> Calibration:
        """What was known then."""
        known = int(np.searchsorted(self.times, now, side="right"))
        return Calibration(self.times[:known], self.bandwidths[:known])

    def windows(self, length: Time, now: Time) -> list[Floats]:
        """The bandwidths by windows that end now, the oldest first; empty ones among them."""
        known = self.until(now)
        if len(known.times) == 0:
            return []
        ages = (now - known.times) // length
        oldest = int(ages[0])
        cuts = np.searchsorted(-ages, np.arange(-oldest + 1, 1))
        return np.split(known.bandwidths, cuts)


def predicted(calibration: Calibration, now: Time, window: Time) -> Histogram:
    """The time for a byte in the coming window, in seconds: as in the one that ends now.

    Where too little was measured in it, the latest measurements before it count, too.
    """
    known = calibration.until(now)
    if len(known.times) == 0:
        raise InputError("no bandwidth was measured yet; calibrate the offer first")
    inside = len(known.times) - int(np.searchsorted(known.times, now - window, side="right"))
    return Histogram.from_bandwidths(known.bandwidths[-max(inside, LEAST_MEASURED) :])


def error_of(calibration: Calibration, now: Time, window: Time) -> float | None:
    """How far windows were from what the ones before predicted, by Bhattacharyya's distance.

    What they have in common is averaged, not the distance: after a sudden change one window has
    nothing in common with the one before, at an infinite distance, whatever the length. None where
    too few windows follow each other to tell.
    """
    rows = calibration.windows(window, now)
    in_common = [
        math.exp(-Histogram.from_samples(before).distance(Histogram.from_samples(after)))
        for before, after in pairwise(rows)
        if min(len(before), len(after)) >= LEAST_MEASURED
    ]
    if len(in_common) < LEAST_PREDICTED:
        return None
    mean = sum(in_common) / len(in_common)
    return -math.log(mean) if mean > 0 else math.inf


def best_window(calibration: Calibration, now: Time, lengths: Sequence[Time] = WINDOWS) -> Time:
    """The length of window that has predicted best so far; of equals, the shortest.

    Few measurements differ by chance alone, so that a short window is chosen only where bandwidths
    change fast enough to outweigh that.
    """
    errors = {length: error_of(calibration, now, length) for length in sorted(lengths)}
    judged = {length: error for length, error in errors.items() if error is not None}
    return min(judged, key=judged.__getitem__) if judged else DEFAULT_WINDOW


# --- tasks ---------------------------------------------------------------------------------------


class Profile(msgspec.Struct, frozen=True):
    """What a task does, on whatever machine."""

    work: Time
    """processor time at speed 1"""
    disk_bytes: int = 0
    """read and written"""
    network_bytes: int = 0
    """received and sent"""


class Performance(msgspec.Struct, frozen=True):
    """What a machine of an offer does: a speed, and seconds for a byte, which vary."""

    speed: float
    disk: Histogram
    network: Histogram


def time_on(profile: Profile, performance: Performance) -> Histogram:
    """What a task takes, in seconds: processor, disk and network one after the other."""
    if profile.work < 0 or profile.disk_bytes < 0 or profile.network_bytes < 0:
        raise InputError("a task cannot take less than no time; check its profile")
    if not performance.speed > 0:
        raise InputError(f"a machine of speed {performance.speed:g}; it must be above 0")
    moving = performance.disk.scaled(profile.disk_bytes)
    moving += performance.network.scaled(profile.network_bytes)
    return moving.shifted(profile.work / SECOND / performance.speed)
