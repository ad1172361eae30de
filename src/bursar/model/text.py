"""Words for people: numbers with their nouns, text from outside, long text cut."""

from __future__ import annotations

from typing import Final

from bursar.model.errors import one_line

MOST_LETTERS: Final = 120
"""of a command or of a line that a task printed, wherever people see it"""


def counted(number: int, noun: str) -> str:
    """`1 task`, `0 tasks`, `1,200 tasks`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def printable(text: str) -> str:
    r"""Lines that are safe on a terminal: whatever is no letter is written as an escape, `\x1b`.

    Names, commands, files and what tasks print come from outside; a terminal obeys the control
    codes in them. Every line that bursar prints passes through here.
    """
    return text if text.isprintable() else "\n".join(map(one_line, text.split("\n")))


def cut(text: str, most: int = MOST_LETTERS) -> str:
    """The begin and the end of a text that is too long to be shown, and how long it is."""
    if len(text) <= most:
        return text
    mark = f" ... ({len(text):,} characters) ... "
    room = max(2, most - len(mark))
    return f"{text[: room - room // 3]}{mark}{text[len(text) - room // 3 :]}"
