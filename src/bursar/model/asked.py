"""In which words an option was asked for, so that a message names it as the user wrote it."""

from __future__ import annotations

from typing import Final

import msgspec


class Asked(msgspec.Struct, frozen=True):
    """How options are written by those who asked."""

    before: str
    after: str
    joint: str
    """between the words of a name"""
    binds: str
    """between a name and its value"""
    quote: str
    """around a value that is a text"""

    def option(self, name: str, value: str | None = None) -> str:
        """`--budget`, or `budget=`; with a value `--files copied`, or `files="copied"`."""
        words = name.replace("_", self.joint)
        if value is None:
            return f"{self.before}{words}{self.after}"
        return f"{self.before}{words}{self.binds}{self.quote}{value}{self.quote}"


COMMAND_LINE: Final = Asked("--", "", "-", " ", "")
PYTHON: Final = Asked("", "=", "_", "=", '"')
