"""When an idle machine of a workflow is given back: shared by the policy that gives it back and by
the compiled simulation of it.
"""

from __future__ import annotations

from typing import Final

from bursar.model.market import Offer
from bursar.model.time import MINUTE, SECOND, Time

LONG_UNIT: Final[Time] = 10 * MINUTE
"""A billing unit from here on is used to its end."""
EARLY_PART: Final = 10
EARLIEST: Final[Time] = SECOND
"""A machine with short units is given back this part of a unit before one ends, and at most so long
before, since a release takes some time."""


def is_long(offer: Offer) -> bool:
    return offer.billing >= LONG_UNIT
