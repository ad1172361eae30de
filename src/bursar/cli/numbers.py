"""Numbers as options: read strictly, within limits, with one line about what is wrong."""

from __future__ import annotations

from typing import Any

import rich_click as click

from bursar.model.errors import InputError
from bursar.model.numbers import LARGEST_NUMBER, LARGEST_WHOLE, parse_number, parse_whole


class Whole(click.ParamType):  # type: ignore[type-arg]  # not generic in older versions
    """A whole number within limits."""

    name = "integer"

    def __init__(self, least: int = 0, most: int = LARGEST_WHOLE) -> None:
        self.least = least
        self.most = most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value  # a default
        try:
            return parse_whole(value, self.least, self.most)
        except InputError as error:
            self.fail(str(error), param, ctx)


class Number(click.ParamType):  # type: ignore[type-arg]
    """A number within limits, never `nan`."""

    name = "number"

    def __init__(self, least: float = -LARGEST_NUMBER, most: float = LARGEST_NUMBER) -> None:
        self.least = least
        self.most = most

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        if isinstance(value, float):
            return value  # a default
        try:
            return parse_number(value, self.least, self.most)
        except InputError as error:
            self.fail(str(error), param, ctx)
