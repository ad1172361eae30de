"""What a contract test raises."""

from __future__ import annotations


class ContractBroken(AssertionError):  # noqa: N818
    """A policy or a world does what it must not, or does not do what it must."""


def expect(holds: bool, complaint: str) -> None:
    if not holds:
        raise ContractBroken(complaint)
