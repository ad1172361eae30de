"""What a policy sees: machines, attempts, and the read-only view of the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Protocol

from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money, format_money
from bursar.model.time import DAY, MINUTE, SECOND, Time

SHORTEST_PAUSE: Final[Time] = 15 * SECOND
"""Between asking for a machine that was not to be had and asking again ..."""
LONGEST_PAUSE: Final[Time] = 10 * MINUTE - SECOND
"""... of an odd length, so that what comes and goes by the clock is not missed for ever."""
LONGEST_WAIT: Final[Time] = 7 * DAY
"""Whoever got no machine for so long, and has none, gives up."""


class Machine:
    """One rented instance of an offer."""

    __slots__ = (
        "attempts",
        "doomed",
        "down",
        "id",
        "marked",
        "offer",
        "releasing",
        "rented",
        "until",
        "up",
        "waiting",
    )

    def __init__(self, id: int, offer: Offer, rented: Time, until: Time) -> None:
        self.id = id
        self.offer = offer
        self.rented = rented
        self.until = until
        """paid until; nothing of this machine exists after it"""
        self.up: Time | None = None
        """when it came up; None while it boots"""
        self.marked = False
        """to be released at the end of its paid time"""
        self.releasing = False
        """the world was told to take it down"""
        self.doomed: Time | None = None
        """when it will be taken away, once that is announced"""
        self.down = False
        """gone"""
        self.attempts: set[int] = set()
        """attempts on it, at most `offer.slots`"""
        self.waiting: list[int] = []
        """attempts that begin there as slots get free, in this order"""

    @property
    def name(self) -> str:
        return f"{self.offer.name}-{self.id}"

    @property
    def is_open(self) -> bool:
        """Whether attempts may begin on it, if it has a free slot."""
        return self.up is not None and not self.leaving and not self.down

    @property
    def is_full(self) -> bool:
        return len(self.attempts) >= self.offer.slots

    @property
    def leaving(self) -> bool:
        """Nothing more is started on it: it is being released, or will be taken away."""
        return self.releasing or self.doomed is not None

    def refunds(self, now: Time) -> bool:
        """Whether leaving now costs less than staying to the end of the lease."""
        stay, lease = now - self.rented, self.until - self.rented
        return self.offer.units(stay) < self.offer.units(lease)

    @property
    def status(self) -> str:
        if self.down:
            return "down"
        if self.up is None:
            return "booting"
        return "busy" if self.attempts else "idle"


class Refusal:
    """Machines of an offer were not available, from `since` to `last`, each time somebody asked."""

    __slots__ = ("last", "since")

    def __init__(self, at: Time) -> None:
        self.since = at
        self.last = at

    @property
    def over(self) -> Time:
        """When to ask again: after as long as it has lasted, but soon enough."""
        return self.last + min(max(self.last - self.since, SHORTEST_PAUSE), LONGEST_PAUSE)

    @property
    def is_final(self) -> bool:
        """Whether to wait no more for them."""
        return self.last - self.since >= LONGEST_WAIT


class Attempt:
    """One try of one task on one machine, while it lives."""

    __slots__ = ("cancelling", "id", "machine", "measure", "started", "task")

    def __init__(
        self, id: int, task: int, machine: Machine, started: Time, measure: bool = False
    ) -> None:
        self.id = id
        self.task = task
        self.machine = machine
        self.started = started
        self.measure = measure
        """runs to its end even when the task is done"""
        self.cancelling = False


class Members(Protocol):
    """A read-only set with positions, for random choice."""

    def __getitem__(self, index: int) -> int: ...
    def __contains__(self, item: object) -> bool: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[int]: ...


class LedgerView(Protocol):
    @property
    def budget(self) -> Money | None: ...
    @property
    def committed(self) -> Money: ...
    @property
    def left(self) -> Money | None: ...
    def can_pay(self, amount: Money) -> bool: ...


class View(Protocol):
    """What a policy may look at: live, kept up to date event by event, never a copy."""

    @property
    def market(self) -> Market: ...
    @property
    def goal(self) -> Goal: ...
    @property
    def ledger(self) -> LedgerView: ...
    @property
    def ready(self) -> Members: ...
    @property
    def idle(self) -> Members: ...
    @property
    def machines(self) -> Mapping[int, Machine]: ...
    @property
    def attempts(self) -> Mapping[int, Attempt]: ...
    @property
    def total(self) -> int: ...
    @property
    def done(self) -> int: ...
    @property
    def failed(self) -> int: ...
    @property
    def waiting(self) -> int:
        """Tasks that wait for others, and will be ready when those are done."""
        ...

    @property
    def arrivals_open(self) -> bool: ...
    @property
    def fleet(self) -> Mapping[str, int]: ...
    @property
    def refusals(self) -> Mapping[str, Refusal]: ...
    def attempts_of(self, task: int) -> Sequence[int]: ...


def money_left(view: View) -> str:
    """What is left of the budget, for reasons."""
    left = view.ledger.left
    return "any money" if left is None else format_money(left, view.market.currency)
