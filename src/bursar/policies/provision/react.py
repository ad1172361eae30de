"""`react`: as many slots as the load, and two more (workload thesis, 4.4.1).

The rule of Chieu et al. as its public code has it, simplified: what is missing is rented with two
slots to spare, and released is only what exceeds that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bursar.model.time import Time
from bursar.policies.load import LoadAutoscaler

SPARE: Final = 2


class React(LoadAutoscaler):
    """Follows the load of now."""

    def slots(
        self, load: int, supply: int, past: Sequence[tuple[Time, int]], now: Time, account: str
    ) -> tuple[int, str]:
        return load + SPARE, f"the load, and {SPARE} slots to spare"
