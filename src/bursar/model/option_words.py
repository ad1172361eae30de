"""In which words an option was asked for, so that a message names it as the user wrote it."""

from __future__ import annotations

from typing import Final

import msgspec


class OptionWords(msgspec.Struct, frozen=True):
    """How options are written by those who asked."""

    before: str
    after: str
    joint: str
    """between the words of a name"""
    binds: str
    """between a name and its value"""
    quote: str
    """around a value that is a text"""
    fleet: str
    """an example of a fleet"""

    def option(self, name: str) -> str:
        """`--budget`, or `budget=`."""
        return f"{self.before}{self._words(name)}{self.after}"

    def given(self, name: str, value: str) -> str:
        """`--files copied`, or `files="copied"`."""
        return f"{self.before}{self._words(name)}{self.binds}{self.quote}{value}{self.quote}"

    def _words(self, name: str) -> str:
        return name.replace("_", self.joint)


COMMAND_LINE: Final = OptionWords("--", "", "-", " ", "", "--fleet small=10,large=3")
PYTHON: Final = OptionWords("", "=", "_", "=", '"', 'fleet={"small": 10, "large": 3}')
