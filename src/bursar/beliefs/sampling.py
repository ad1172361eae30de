"""How many tasks to time before planning (BaTS thesis, sections 2.2.1 and 3.1.3).

Which tasks run where is decided by the `sample` entries of the policies; what they have shown is in
the log of samples (`samples`).
"""

from __future__ import annotations

from math import ceil
from statistics import NormalDist
from typing import Final

from bursar.model.errors import InputError

REPLACEMENT_SHARE: Final = 0.05
"""A sample up to this share of the bag may be taken for one with replacement (section 2.2.1)."""


def sample_size(bag: int, confidence: float = 0.95, error: float = 0.25) -> int:
    """How many tasks to time for a bag (equation 2.1): never more than it has.

    The defaults are those of the evaluation (section 2.3.1): 30 tasks for a bag of 1,000, and 31
    for those of chapter 6, with 5,000 and 9,000 tasks; 31 is the most for any bag.
    """
    if bag < 1:
        raise InputError(f"a bag of {bag} tasks has no sample; it needs at least one")
    if not (0 < confidence < 1 and 0 < error < 1):
        raise InputError(
            f"confidence {confidence} and error {error} must be between 0 and 1, as 0.95 and 0.25"
        )
    square = NormalDist().inv_cdf((1 + confidence) / 2) ** 2
    return min(bag, ceil(bag * square / (square + 2 * (bag - 1) * error**2)))


def size_caution(bag: int, size: int) -> str | None:
    """A sentence for people about a bag that is small for its sample; None if it is not."""
    if size >= bag:
        return (
            f"The sample takes all {bag} tasks: nothing is left to plan, and there is no fleet to"
            " choose."
        )
    if size > REPLACEMENT_SHARE * bag:
        return (
            f"The sample takes {size} of {bag} tasks ({size / bag:.0%}): for a bag this small,"
            " sampling is a large part of the work, and no plan can save that."
        )
    return None


def missing_caution(size: int, seen: int) -> str | None:
    """A sentence for people about a sample that ended early; None if it did not."""
    if seen >= size:
        return None
    return (
        f"Only {seen} of the {size} tasks of the sample were timed: the bounds are further from"
        " the estimates than they need be."
    )
