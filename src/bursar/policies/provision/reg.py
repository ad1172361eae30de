"""`reg`: up with the load, down by a curve through the last loads (workload thesis, 4.4.1).

The rule of Iqbal et al.: while the load exceeds the supply, the load and a twentieth. Else a
parabola through the loads of the last 60 intervals tells what is needed now. Where it tells more
than there is, all that idles goes, as its public code has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Final

from bursar.model.time import SECOND, Time
from bursar.policies.load import LoadAutoscaler

POINTS: Final = 60
HEADROOM: Final = 1.05
DEGREE: Final = 2


class Reg(LoadAutoscaler):
    """Follows the load up, and a regression down."""

    def slots(
        self, load: int, supply: int, past: Sequence[tuple[Time, int]], now: Time, account: str
    ) -> tuple[int, str]:
        if load >= supply:
            return ceil(HEADROOM * load), "the load has reached the supply"
        points = [*list(past)[-(POINTS - 1) :], (now, load)]
        foreseen = ceil(curve_now(points))
        if foreseen > supply:
            return 0, "the curve through the loads exceeds the supply, but the load does not"
        return max(0, foreseen), f"the curve through the last {len(points)} loads"


def curve_now(points: Sequence[tuple[Time, int]]) -> float:
    """The value at the last time of the parabola that fits best; of fewer points, a simpler curve.

    Equal to least squares by the normal equations; solved by an orthogonal basis, since times are
    far from zero.
    """
    import numpy as np  # late: not every run has an autoscaler

    times = np.array([at / SECOND for at, _ in points])
    loads = np.array([load for _, load in points], dtype=np.float64)
    span = max(float(np.ptp(times)), 1.0)
    degree = min(DEGREE, len(set(times.tolist())) - 1)
    found = np.polynomial.Polynomial.fit((times - times[-1]) / span, loads, degree)
    return float(found(0.0))
