"""`reg`: up with the load, down by a curve through the last loads (workload thesis, 4.4.1).

The rule of Iqbal et al.: while the load exceeds the supply, the load and a twentieth. Else a
parabola through the loads of the last 60 intervals tells what is needed now. Where it tells more
than there is, all that idles goes, as its public code has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from math import ceil
from typing import Final

from bursar.model.time import Time
from bursar.policies.load import LoadAutoscaler

POINTS: Final = 60
HEADROOM: Final = 1.05
DEGREE: Final = 2
ROUNDING: Final = 1e-6
"""Below which a part of a slot is taken for an error of rounding."""


class Reg(LoadAutoscaler):
    """Follows the load up, and a regression down."""

    def slots(
        self, load: int, supply: int, past: Sequence[tuple[Time, int]], now: Time, account: str
    ) -> tuple[int, str]:
        if load >= supply:
            return ceil(HEADROOM * load), "the load has reached the supply"
        points = [*islice(reversed(past), POINTS - 1)][::-1]
        points.append((now, load))
        foreseen = ceil(curve_now(points) - ROUNDING)
        if foreseen > supply:
            return 0, "the curve through the loads exceeds the supply, but the load does not"
        return max(0, foreseen), f"the curve through the last {len(points)} loads"


def curve_now(points: Sequence[tuple[Time, int]]) -> float:
    """The value at the last time of the parabola that fits best; of fewer points, a simpler curve.

    Least squares, by polynomials that are orthogonal on these very times: each adds its part to the
    value without a matrix to solve. The next one is found from the two before it.
    """
    import numpy as np  # late: not every run has an autoscaler

    times = np.array([at for at, _ in points], dtype=np.float64)
    loads = np.array([load for _, load in points], dtype=np.float64)
    times = (times - times[-1]) / max(float(np.ptp(times)), 1.0)
    degree = min(DEGREE, len(set(times.tolist())) - 1)
    before, curve = np.zeros(len(times)), np.ones(len(times))
    squares_before, value = 1.0, 0.0
    for power in range(degree + 1):
        squares = float(curve @ curve)
        value += float(curve @ loads) / squares * float(curve[-1])
        centre = float((times * curve) @ curve) / squares
        back = squares / squares_before if power else 0.0
        before, curve = curve, (times - centre) * curve - back * before
        squares_before = squares
    return value
