"""The interface of a renter: it gets machines and gives them back.

    rent --> Up --> (Announced) --> Down        or        rent --> Refused

Machines are named by their numbers within the run, and all times are those of the run. Only
`survey` and `close` may take long: what else takes time is done elsewhere, and `poll` tells what
came of it. Verify yours with `bursar.testing.RenterContract`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple, Protocol

from bursar.model.market import Offer
from bursar.model.time import Time


class RentOrder(NamedTuple):
    machine: int
    offer: Offer
    until: Time
    """the end of its lease: it is paid until then"""
    token: str
    """made from the run's mark and the number: the same order, given twice, gets one machine"""


class Up(NamedTuple):
    """The machine has booted."""

    machine: int


class Refused(NamedTuple):
    """There is no such machine now; it costs nothing."""

    machine: int
    why: str


class Announced(NamedTuple):
    """The provider will take the machine away at `gone`."""

    machine: int
    gone: Time


class Down(NamedTuple):
    """The machine is gone; it cost money until `at`, which is never after its lease."""

    machine: int
    cause: Literal["released", "lost", "expired"]
    at: Time
    why: str = ""


class FoundMachine(NamedTuple):
    """A machine of the run that lives, whichever process got it."""

    machine: int
    is_up: bool


class Survey(NamedTuple):
    """The machines of a run that live, and where that could not be found out."""

    found: Sequence[FoundMachine]
    unasked: Mapping[str, str] = MappingProxyType({})
    """by offer: the places that could not be reached, and may have machines of it that live"""
    may_start: bool = False
    """whether a machine that was being started when a process crashed may come up after this"""


RenterNews = Up | Refused | Announced | Down


class Renter(Protocol):
    """Its machines carry the run's mark, and end with their leases whatever becomes of us."""

    def open(self, wake: Callable[[], None]) -> None:
        """Call `wake`, from any thread, when there is news to poll before `next_poll`."""
        ...

    def lead(self, offer: Offer) -> Time:
        """The longest that it takes to release a machine of this offer."""
        ...

    def rent(self, orders: Sequence[RentOrder]) -> None:
        """Get these machines: of each, `Up` or `Refused` follows, or `Down` if that comes first."""
        ...

    def extend(self, machine: int, until: Time) -> None:
        """The lease now ends then. Ignored if the machine is gone, or its lease was over."""
        ...

    def release(self, machines: Sequence[int]) -> None:
        """Give them back; `Down` follows, for each that is not gone already."""
        ...

    def survey(self) -> Survey:
        """All machines of the run that live, also those of a process that crashed.

        From here on they are like those rented here. Asked once, before anything is rented. What
        cannot be known must be said: such machines are then charged to the end of their leases.
        """
        ...

    def poll(self) -> Sequence[RenterNews]:
        """What happened since this was last asked, in order; never waits."""
        ...

    def next_poll(self) -> Time | None:
        """When to ask next, at the latest; None: not before `wake`."""
        ...

    def close(self) -> None:
        """Give everything back, and wait until that is certain."""
        ...
