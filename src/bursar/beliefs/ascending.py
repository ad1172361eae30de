"""Times in ascending order, in arrays: what of them is longer, for many bounds at once."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.model.time import Time

Integers = NDArray[np.int64]


class AscendingTimes(msgspec.Struct, frozen=True, eq=False):
    """Ascending times, and the sum from each place to the end."""

    times: Integers
    sums: Integers

    @classmethod
    def of(cls, times: Sequence[Time] | Integers) -> AscendingTimes:
        """Those that are in order already."""
        ascending = np.array(times, dtype=np.int64)
        return cls(ascending, np.append(np.cumsum(ascending[::-1])[::-1], 0))

    def __len__(self) -> int:
        return len(self.times)

    def with_one(self, time: Time) -> AscendingTimes:
        """These times and another, for what it takes to copy them."""
        at = int(self.times.searchsorted(time))
        return AscendingTimes(
            np.concatenate((self.times[:at], (time,), self.times[at:])),
            np.concatenate((self.sums[: at + 1] + time, self.sums[at:])),
        )

    def with_all(self, others: AscendingTimes) -> AscendingTimes:
        places = self.times.searchsorted(others.times)
        return AscendingTimes.of(np.insert(self.times, places, others.times))

    def above(self, bounds: Integers) -> tuple[Integers, Integers]:
        """How many are longer than each bound, and their sum."""
        places = self.times.searchsorted(bounds, side="right")
        return len(self.times) - places, self.sums[places]
