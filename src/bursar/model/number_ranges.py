"""Numbers as people write them: `1-3,7` is 1, 2, 3 and 7."""

from __future__ import annotations

from collections.abc import Iterable


def write_ranges(numbers: Iterable[int]) -> str:
    """The text of ascending numbers."""
    parts: list[tuple[int, int]] = []
    for number in numbers:
        if parts and parts[-1][1] == number - 1:
            parts[-1] = (parts[-1][0], number)
        else:
            parts.append((number, number))
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in parts)


def read_ranges(text: str) -> list[int]:
    """What `write_ranges` wrote; ValueError for anything else."""
    numbers: list[int] = []
    for part in text.split(","):
        low, _, high = part.partition("-")
        numbers += range(int(low), int(high or low) + 1)
    return numbers
