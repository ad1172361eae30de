"""What was measured on machines of one offer, and the performance that it predicts.

A market's `speed` is what its author says, a calibration is what was seen. Where something was not
measured, the market's speed and the reference bandwidths stand for it.
"""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np

from bursar.beliefs.histogram import Histogram
from bursar.beliefs.performance import (
    LEAST_MEASURED,
    Calibration,
    Performance,
    best_window,
    predicted,
)
from bursar.model.time import Time

REFERENCE_DISK: Final = 100e6
"""bytes a second of the machine on which a workflow's run times hold"""
REFERENCE_NETWORK: Final = 100e6
"""bytes a second, the same for its network"""


def nothing_measured() -> Calibration:
    return Calibration(np.empty(0, dtype=np.int64), np.empty(0))


class OfferCalibration(msgspec.Struct, frozen=True, eq=False):
    """Measurements of one offer; times are microseconds since 1970."""

    cpu: Calibration = msgspec.field(default_factory=nothing_measured)
    """not bandwidths but speeds, relative to the reference processor"""
    disk: Calibration = msgspec.field(default_factory=nothing_measured)
    network: Calibration = msgspec.field(default_factory=nothing_measured)

    def speed(self, now: Time) -> float | None:
        """The median of the latest speeds, since a processor is rather stable; None: not measured.

        A median, so that a moment in which the machine was busy with something else counts little.
        """
        known = self.cpu.until(now).bandwidths
        return float(np.median(known[-LEAST_MEASURED:])) if len(known) else None

    def performance(self, now: Time, market_speed: float = 1.0) -> Performance:
        """What machines of the offer will do in the coming window (section 5)."""
        measured = self.speed(now)
        return Performance(
            speed=market_speed if measured is None else measured,
            disk=_per_byte(self.disk, now, REFERENCE_DISK),
            network=_per_byte(self.network, now, REFERENCE_NETWORK),
        )


def _per_byte(calibration: Calibration, now: Time, reference: float) -> Histogram:
    known = calibration.until(now)
    if len(known.times) == 0:
        return Histogram.constant(1 / reference)
    return predicted(known, now, best_window(known, now))
