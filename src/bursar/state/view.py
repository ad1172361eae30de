"""What a policy sees: machines, attempts, and the read-only view of the run.

`View` says what may be read, and the state has all of it. Entries never get the state itself but
what `read_only.view_of` makes of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, Protocol, overload

import msgspec

from bursar.model.goal import Goal, Limits
from bursar.model.market import Market, Offer
from bursar.model.money import Money, format_money
from bursar.model.strategy import Strategy
from bursar.model.time import DAY, MINUTE, SECOND, Time
from bursar.model.work import Work
from bursar.state.charges import Charge
from bursar.state.events import StopRequested
from bursar.state.run_times import RunTimes
from bursar.state.structure_view import StructureView
from bursar.state.work_plans import FollowedPlan

SHORTEST_PAUSE: Final[Time] = 15 * SECOND
"""Between asking for a machine that was not available and asking again ..."""
LONGEST_PAUSE: Final[Time] = 10 * MINUTE - SECOND
"""... of an odd length, so that what comes and goes by the clock is not missed for ever."""
LONGEST_WAIT: Final[Time] = 7 * DAY
"""A run that got no machine for so long, and has none, gives up."""


class Machine(msgspec.Struct, frozen=True, eq=False):
    """One rented instance of an offer. Only the state changes it."""

    id: int
    offer: Offer
    rented: Time
    until: Time
    """paid until; nothing of this machine exists after it"""
    up: Time | None = None
    """when it came up; None while it boots"""
    marked: bool = False
    """to be released at the end of its paid time"""
    releasing: bool = False
    """the world was asked to take it down"""
    doomed: Time | None = None
    """when it will be taken away, once that is announced"""
    down: bool = False
    """gone"""
    attempts: Collection[int] = ()
    """attempts on it, at most `offer.slots`, in the order in which they began there"""
    waiting: tuple[int, ...] = ()
    """attempts that begin there as slots get free, in this order"""
    account: str = ""
    """who pays, and whose work it runs"""

    @property
    def name(self) -> str:
        return f"{self.offer.name}-{self.id}"

    @property
    def is_open(self) -> bool:
        """Whether attempts may begin on it, if it has a free slot."""
        return self.up is not None and not self.releasing and self.doomed is None and not self.down

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


class Refusal(msgspec.Struct, frozen=True):
    """Machines of an offer were not available, from `since` to `last`, each time somebody asked."""

    since: Time
    last: Time

    @property
    def over(self) -> Time:
        """When to ask again: after as long as it has lasted, but soon enough."""
        return self.last + min(max(self.last - self.since, SHORTEST_PAUSE), LONGEST_PAUSE)

    @property
    def is_final(self) -> bool:
        """Whether to wait no more for them."""
        return self.last - self.since >= LONGEST_WAIT


class Attempt(msgspec.Struct, frozen=True, eq=False):
    """One try of one task on one machine, while it lives. Only the state changes it."""

    id: int
    task: int
    machine: Machine
    started: Time
    measure: bool = False
    """runs to its end even when the task is done"""
    cancelling: bool = False


class Members(Protocol):
    """A read-only set with positions, for random choice."""

    def __getitem__(self, index: int) -> int: ...
    def __contains__(self, item: object) -> bool: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[int]: ...


class Column(Protocol):
    """A number for each task or attempt; 0 is none."""

    def __getitem__(self, number: int) -> int: ...
    def __len__(self) -> int: ...


class LogView(Protocol):
    """Every attempt of the run, ended or not: attempt `n` stands at index `n` of each column."""

    @property
    def task(self) -> Column: ...
    @property
    def machine(self) -> Column: ...
    @property
    def started(self) -> Column: ...
    @property
    def ended(self) -> Column: ...
    @property
    def runtime(self) -> Column: ...
    @property
    def outcome(self) -> Column: ...
    def __len__(self) -> int: ...


class StatusColumn(Column, Protocol):
    """A `TaskStatus` for each task, a byte each."""

    @overload
    def __getitem__(self, number: int) -> int: ...
    @overload
    def __getitem__(self, number: slice) -> bytes | bytearray: ...


class WorksView(Protocol):
    """What arrived, in that order: the number before its first task, and the work.

    Works count from 1; they stand here from place 0 on. Those that are done may have to be read
    from the journal.
    """

    @overload
    def __getitem__(self, place: int) -> tuple[int, Work]: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[tuple[int, Work]]: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[tuple[int, Work]]: ...
    def place_of(self, task: int) -> int:
        """Where the work stands that a task belongs to."""
        ...

    def before(self, place: int) -> int:
        """The number before the first task of a work."""
        ...

    def left(self, place: int) -> int:
        """Tasks of a work that are not done."""
        ...

    def arrived(self, place: int) -> Time:
        """When a work arrived."""
        ...

    def arrived_since(self, moment: Time) -> range:
        """Places of the works that arrived at a moment or later."""
        ...


class SeriesView(Protocol):
    """A number over time by account; the account "" is the whole run."""

    @property
    def accounts(self) -> Sequence[str]:
        """Those that had any, and the whole run."""
        ...

    def now(self, account: str = "") -> int: ...
    def at(self, moment: Time, account: str = "") -> int:
        """What it was, after all that happened then.

        Exact at multiples of 5 s that are not long ago, else what it was at the one before.
        """
        ...

    def mean(self, begin: Time, end: Time, account: str = "") -> float:
        """Over a time that is not empty; exact if both are such multiples."""
        ...

    def means(self, every: Time, count: int, now: Time, account: str = "") -> Sequence[float]:
        """Those of the last intervals of a length that have ended, oldest first.

        An interval begins at a multiple of its length. There are fewer while the run is young.
        """
        ...


class PrecedenceView(Protocol):
    def parents(self, task: int) -> Sequence[int]:
        """Those that this one needs; none where all of its work is done."""
        ...

    def children(self, task: int) -> Sequence[int]:
        """Those that need this one; none where all of its work is done."""
        ...

    def missing(self, task: int) -> int:
        """How many of its parents are not done."""
        ...


class RecentView(Protocol):
    """What changed lately, in order. An index remembers `end` and asks from there."""

    @property
    def end(self) -> int:
        """The place of what changes next."""
        ...

    def since(self, place: int) -> Sequence[int] | None:
        """What changed from a place on, perhaps several times; None: too much, look at all."""
        ...


class ChangesView(Protocol):
    """Numbers of what changed; what each of them is now, the rest of the view tells."""

    @property
    def attempts(self) -> RecentView:
        """Those that were started, began, are being cancelled, ended, or whose machine is being
        released.
        """
        ...

    @property
    def blocked(self) -> RecentView:
        """Tasks that became blocked by one that failed, or wait again since that is retried; tasks
        of a work that was cancelled.
        """
        ...

    @property
    def machines(self) -> RecentView:
        """Those that changed in any other way than by their attempts."""
        ...

    @property
    def ready(self) -> RecentView:
        """Tasks that became ready; some may have been started since."""
        ...

    @property
    def works(self) -> RecentView:
        """Works that have got another priority, by number."""
        ...


class LedgerView(Protocol):
    @property
    def budget(self) -> Money | None: ...
    @property
    def committed(self) -> Money: ...
    @property
    def left(self) -> Money | None: ...
    @property
    def accounts(self) -> Sequence[str]: ...
    def can_pay(self, amount: Money) -> bool: ...
    def charges(self) -> Iterable[Charge]: ...
    def left_of(self, account: str, now: Time) -> Money | None:
        """What an account may commit in the interval of `now`; None: it has no budget."""
        ...

    def committed_in(self, account: str, interval: int) -> Money: ...
    def next_refill(self, account: str, now: Time) -> Time | None:
        """When the next interval of an account's budget begins; None: there is none."""
        ...


class View(Protocol):
    """What a policy may look at: live, kept up to date event by event, never a copy."""

    @property
    def now(self) -> Time:
        """Time of the last event."""
        ...

    @property
    def market(self) -> Market: ...
    @property
    def goal(self) -> Goal: ...
    @property
    def limits(self) -> Limits: ...
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
    def settled(self) -> int:
        """Tasks that are done, failed for good, or need one that did."""
        ...

    @property
    def waiting(self) -> int:
        """Tasks that wait for others, and will be ready when those are done."""
        ...

    @property
    def demand(self) -> SeriesView:
        """Slots that tasks could use over time: those that are ready or run, by owner."""
        ...

    @property
    def supply(self) -> SeriesView:
        """Slots of the machines that are up over time."""
        ...

    @property
    def arrivals_open(self) -> bool: ...
    @property
    def stopping(self) -> StopRequested | None: ...
    @property
    def fleet(self) -> Mapping[str, int]: ...
    @property
    def refusals(self) -> Mapping[str, Refusal]: ...
    @property
    def status(self) -> StatusColumn:
        """A `TaskStatus` per task."""
        ...

    @property
    def winners(self) -> Column:
        """Per task, the attempt whose result counts; 0 while there is none."""
        ...

    @property
    def failures(self) -> Column:
        """Per task, attempts that failed or timed out."""
        ...

    @property
    def log(self) -> LogView: ...
    @property
    def changes(self) -> ChangesView: ...
    @property
    def precedence(self) -> PrecedenceView: ...
    @property
    def work(self) -> WorksView:
        """What arrived."""
        ...

    @property
    def runtimes(self) -> RunTimes:
        """What tasks are expected to take."""
        ...

    @property
    def structure(self) -> StructureView:
        """Ranks, critical paths, what is left, and generations of works that are not settled."""
        ...

    @property
    def pauses(self) -> Sequence[tuple[Time, Time]]: ...
    def attempts_of(self, task: int) -> Sequence[int]:
        """Live attempts of a task, oldest first."""
        ...

    def plan_of(self, work: int) -> FollowedPlan | None:
        """The plan that the work of this number follows now; None: it follows none."""
        ...

    def strategy_of(self, work: int) -> Strategy | None:
        """The last strategy that was chosen for the work of this number; None: there is none."""
        ...

    def account_of(self, task: int) -> str:
        """Who pays for a task: its owner, where the run has several accounts."""
        ...

    def offer_of(self, machine: int) -> str:
        """The offer of a machine, also of one that is down."""
        ...

    def may_replicate(self, task: int) -> bool:
        """Whether another attempt may begin beside those of the task that live."""
        ...

    def boot_time(self, offer: Offer, now: Time) -> Time:
        """What a machine that is ordered now is expected to take until it is up.

        The boot time of the market file, corrected by what machines of the offer took in this run.
        """
        ...

    def boot_left(self, machine: Machine, now: Time) -> Time:
        """In how long a machine is expected to be up; 0: it is."""
        ...


def money_left(view: View, account: str | None = None, now: Time | None = None) -> str:
    """What is left of the budget (of an account, at a time), for reasons."""
    ledger, at = view.ledger, view.now if now is None else now
    left = ledger.left if account is None else ledger.left_of(account, at)
    return "any money" if left is None else format_money(left, view.market.currency, down=True)
