"""Whether reality has left the predicted band: a test at every finished task that never cries wolf.

A right prediction has at most a tenth of the tasks above its P90, and as many below its P10. The
watch bets against that, task by task: a bet that a share `p` of tasks lies outside multiplies its
stake by p / 0.1 if the next one does, and by (1 - p) / 0.9 if not. While the prediction is right no
bet gains on average, whatever the distribution, and by Ville's inequality the chance that the stake
*ever* grows by a factor of 1 / alpha is at most alpha, however long the run and however often one
looks. Bets on several shares run side by side. A part of the stake is put in at each task, so that
a change late in a run is found as well as one at its beginning.

What it takes for granted: a task lies outside with a chance of at most a tenth whatever the tasks
before it did. Tasks that are slow together, say on a disk that is slow for an hour, raise the alarm
more often; then a new plan is due indeed.
"""

from __future__ import annotations

import math
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from bursar.beliefs.histogram import Histogram
from bursar.model.errors import InputError

Floats = NDArray[np.float64]
Side = Literal["slower", "faster"]

OUTSIDE: Final = 0.1
"""The share of tasks above the band of a right prediction, and that below it."""
FALSE_ALARMS: Final = 0.01
"""The chance of an alarm in a whole run though the prediction is right, for both sides together."""
TOLERANCE: Final = 0.1
"""The band is wider by this share at either end: less is not worth a new plan."""
SHARES: Final = (0.2, 0.35, 0.5, 0.75, 0.95)
"""of tasks outside, on which bets are made"""


class _Bets:
    """Bets that more than a share OUTSIDE of what is seen lies outside."""

    def __init__(self) -> None:
        self.seen = 0
        self._at_play = [0.0] * len(SHARES)

    def saw(self, is_outside: bool) -> None:
        """Put in a part of what is in reserve, 1 / (n (n + 1)) at the n-th, and settle the bets."""
        self.seen += 1
        entering = 1 / (self.seen * (self.seen + 1))
        for number, share in enumerate(SHARES):
            gain = share / OUTSIDE if is_outside else (1 - share) / (1 - OUTSIDE)
            self._at_play[number] = (self._at_play[number] + entering) * gain

    @property
    def stake(self) -> float:
        """What 1 has become: what is at play, on average over the shares, and the reserve."""
        return sum(self._at_play) / len(SHARES) + 1 / (self.seen + 1)


class BandWatch:
    """Watches one prediction; after a new plan, start another watch.

    An alarm stays: that later tasks fit again does not make the prediction right.
    """

    def __init__(self, false_alarms: float = FALSE_ALARMS) -> None:
        if not 0 < false_alarms < 1:
            raise InputError(f"a rate of false alarms of {false_alarms:g}; use e.g. 0.01")
        self._enough = 2 / false_alarms
        self._above, self._below = _Bets(), _Bets()
        self.side: Side | None = None
        """which way reality has left the band; None: it has not"""

    def saw(self, predicted: Histogram, actual: float) -> None:
        """A task has finished: what was predicted, and the seconds that it took."""
        if not 0 <= actual < math.inf:
            raise InputError(f"a task took {actual:g} s; it must be finite and not negative")
        low, high = band(predicted)
        self.judged(is_above=actual > high, is_below=actual < low)

    def judged(self, *, is_above: bool, is_below: bool) -> None:
        """A task has finished, outside the band that was predicted or within it."""
        self._above.saw(is_above)
        self._below.saw(is_below)
        if self.side is None and self._above.stake >= self._enough:
            self.side = "slower"
        elif self.side is None and self._below.stake >= self._enough:
            self.side = "faster"

    def is_outside_band(self) -> bool:
        return self.side is not None


def band(predicted: Histogram) -> tuple[float, float]:
    """P10 and P90 by bins, and the tolerance: no more than a tenth of the bins beyond either."""
    low, high = bands(predicted.values)
    return float(low), float(high)


def bands(values: Floats) -> tuple[Floats, Floats]:
    """The same of many, a row of ascending values each."""
    cut = int(values.shape[-1] * OUTSIDE)
    return values[..., cut] * (1 - TOLERANCE), values[..., -cut - 1] * (1 + TOLERANCE)
