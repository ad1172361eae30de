"""Orders that EC2 gets in one call: as many as it takes, and as a tag can name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bursar.engine.renter import RentOrder
from bursar.model.number_ranges import write_ranges

MOST_AT_ONCE: Final = 500
"""machines in one call"""
LONGEST_TAG: Final = 250
"""letters, some fewer than EC2 takes"""


def launch_batches(orders: Sequence[RentOrder]) -> list[list[RentOrder]]:
    """The orders in their order; none is in two batches."""
    batches: list[list[RentOrder]] = []
    for order in orders:
        batch = batches[-1] if batches else None
        if batch is None or len(batch) >= MOST_AT_ONCE or _is_full(batch, order):
            batches.append([order])
        else:
            batch.append(order)
    return batches


def _is_full(batch: Sequence[RentOrder], order: RentOrder) -> bool:
    if order.machine == batch[-1].machine + 1:
        return False  # it makes the text at most a little longer
    text = write_ranges(one.machine for one in (*batch, order))
    return len(text) > LONGEST_TAG
