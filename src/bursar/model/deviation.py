"""How far run times differ: as somebody writes it, a share of their mean or a time."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from bursar.model.errors import InputError
from bursar.model.numbers import parse_number
from bursar.model.reading import read_duration
from bursar.model.time import Time

LARGEST_DEVIATION: Final = 10.0


class Deviation(msgspec.Struct, frozen=True):
    """A standard deviation; one of the two."""

    share: float | None = None
    """of the mean"""
    time: Time | None = None

    def of(self, mean: Time) -> Time:
        """For run times with this mean."""
        return round(mean * self.share) if self.share is not None else self.time or 0


def read_deviation(value: Any) -> float:
    """A share of a run time, such as `30%` or `0.3`."""
    problem = InputError("must be a share of a run time, such as 30%")
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise problem
    try:
        if not isinstance(value, str):
            share = float(value)
        elif value.endswith("%"):
            share = parse_number(value[:-1]) / 100
        else:
            share = parse_number(value)
    except (InputError, OverflowError):
        raise problem from None
    if not 0 <= share <= LARGEST_DEVIATION:
        raise problem
    return share


def read_any_deviation(value: Any) -> Deviation:
    """A share of a run time, or a time with its unit: `30%`, `0.3`, `40s`."""
    if isinstance(value, str) and value[-1:].isalpha():
        try:
            return Deviation(time=read_duration(value))
        except InputError:
            raise InputError(
                "must be a share of a run time, such as 30%, or of a bag a time, such as 40s"
            ) from None
    return Deviation(share=read_deviation(value))
