"""Keys of submissions: who sends the same one again gets the work of the first time."""

from __future__ import annotations

from typing import Final

from bursar.model.errors import InputError, shown

MOST_KEYS: Final = 100_000
"""that are remembered; nobody asks again so late"""


class KeyUsedError(InputError):
    """The key of a submission that was used for another one."""


class SubmissionKeys:
    """By owner and key: a digest of what was submitted, and the number of the work."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[str, int]] = {}

    def number_of(self, owner: str, key: str, digest: str) -> int | None:
        """The number of a work that was submitted with this key before; None: there is none."""
        if not key or (owner, key) not in self._known:
            return None
        before, number = self._known[owner, key]
        if before != digest:
            raise KeyUsedError(
                f"the key {shown(key)} was used for another work, {number}; use a new one"
            )
        return number

    def add(self, owner: str, text: str, number: int) -> None:
        """Remember a key with its digest, as `key_text` writes them; an empty text is none."""
        if not text:
            return
        key, _, digest = text.rpartition(" ")
        self._known[owner, key] = (digest, number)
        if len(self._known) > MOST_KEYS:
            del self._known[next(iter(self._known))]


def key_text(key: str, digest: str) -> str:
    """As the journal has it."""
    return f"{key} {digest}" if key else ""
