"""In which words an option was asked for, so that a message names it as the user wrote it.

A check that programs, services and the command line share takes the words as an argument, and
those of Python where nothing is said.
"""

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
    true: str
    """what a flag that is set is bound to"""
    fleet: str
    """an example of a fleet"""

    def option(self, name: str) -> str:
        """`--budget`, `budget=`, or `"budget"`."""
        return f"{self.before}{self._words(name)}{self.after}"

    def given(self, name: str, value: str) -> str:
        """`--files copied`, `files="copied"`, or `"files": "copied"`."""
        return f"{self.before}{self._words(name)}{self.binds}{self.quote}{value}{self.quote}"

    def number(self, name: str, value: str) -> str:
        """`--reliability 0.9`, `reliability=0.9`, or `"reliability": 0.9`."""
        return f"{self.before}{self._words(name)}{self.binds}{value}"

    def flag(self, name: str) -> str:
        """`--shell`, `shell=True`, or `"shell": true`."""
        return f"{self.before}{self._words(name)}{self.true}"

    def _words(self, name: str) -> str:
        return name.replace("_", self.joint)


COMMAND_LINE: Final = OptionWords("--", "", "-", " ", "", "", "--fleet small=10,large=3")
HTTP: Final = OptionWords(
    '"', '"', "_", '": ', '"', '": true', '"fleet": {"small": 10, "large": 3}'
)
"""fields of a JSON object"""
PYTHON: Final = OptionWords("", "=", "_", "=", '"', "=True", 'fleet={"small": 10, "large": 3}')
