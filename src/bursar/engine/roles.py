"""The roles. A policy is one entry in each of the first three, and any number of advisors.

An entry is pure: it gets a read-only view, the time and a random generator, and returns actions
with reasons. It never looks up the clock, sleeps, prints or opens a file, so the same object drives
the simulator and real machines. Returning nothing is always allowed. Whatever it asks for passes
the guard, which refuses what money or the state do not allow.

Everything that an entry may have is declared here, and nothing else is looked for. An entry
inherits from its role, and writes what is abstract; the rest has defaults. One that does not
inherit must have all of it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable
from random import Random
from typing import Any, Protocol, runtime_checkable

import msgspec

from bursar.model.errors import InputError, one_line
from bursar.model.time import Time
from bursar.state.actions import Cancel, Extend, Release, Rent, Scale, Start, Stop, Wake
from bursar.state.events import AnyEvent, Proposal
from bursar.state.run_times import UNKNOWN, RunTimes, TwoRunTimes
from bursar.state.view import Machine, View


@runtime_checkable
class Entry(Protocol):
    """What every role has."""

    def learns_from(self) -> Collection[type] | None:
        """Kinds of events that `saw` is called with; None: all.

        One that is inherited does not count for a `saw` that is not.
        """
        return None

    def saw(self, event: AnyEvent, state: View) -> None:
        """Called after each event was applied, also for those before a run was resumed.

        An entry that does not override this one is not called; see `learns_from`.
        """
        return

    def saw_before(self, view: View) -> None:
        """Learn from the view, at once, what all events so far would have taught.

        A resumed run begins with a checkpoint where it can, and calls this once. Where an entry
        that learns does not override it, the run shows every event again, which takes longer.
        """
        return


@runtime_checkable
class Provisioner(Entry, Protocol):
    """How many machines of each offer, now?"""

    @abstractmethod
    def provision(
        self, view: View, now: Time, rng: Random
    ) -> Iterable[Rent | Release | Scale | Wake | Stop]:
        """Called after every batch of events. Return early when nothing changed.

        `Scale` tells the fleet that is wanted, for those who ask why; `Rent` and `Release` do it.
        """

    @abstractmethod
    def renew(self, machine: Machine, view: View, now: Time) -> Extend | Release:
        """The paid time of `machine` is about to end: let it enter another unit, or release it.

        What runs on a released machine is lost, and its task goes back to the bag.
        """

    @property
    def plans(self) -> int:
        """Made so far: what `stays_until` says changes only with a plan, or with the machine."""
        return 0

    def stays_until(self, machine: Machine) -> Time:
        """Until when a machine is to be kept; by default as long as it is paid for.

        `FOREVER`: until its tasks have ended, however long that takes.
        """
        return machine.until

    @property
    def runtimes(self) -> RunTimes | None:
        """What it has learned of run times: the view tells it, unless the policy has a plug-in."""
        return None


@runtime_checkable
class Placer(Entry, Protocol):
    """Which ready task goes to which idle machine?"""

    on_arrival: bool = False
    """also asked when work has arrived and no machine is idle, to plan ahead"""
    on_idle: bool = False
    """also asked when machines are idle and no task is ready, to keep some of them for works"""

    @abstractmethod
    def place(self, view: View, now: Time, rng: Random) -> Iterable[Start]:
        """`view.ready` holds tasks with no live attempt, `view.idle` machines with a free slot."""

    def next_task(self, view: View, rng: Random) -> int | None:
        """The next of the ready tasks, which will wait at a busy machine; None: none may wait.

        Called while tasks are so short that machines would idle between two of them.
        """
        return None


@runtime_checkable
class Replicator(Entry, Protocol):
    """Which running task deserves another attempt, where and when?"""

    before_placing: int = 0
    """also asked before tasks are placed, while at most so many are ready"""
    always: bool = False
    """asked after every batch of events, not only when machines are idle and no task is ready"""

    @property
    def runtimes(self) -> RunTimes | None:
        """What it has learned of run times on other offers, for the view as well."""
        return None

    @abstractmethod
    def replicate(self, view: View, now: Time, rng: Random) -> Iterable[Start | Cancel | Wake]:
        """Called when everything ready has been placed and machines are still idle.

        The first success of a task is its result; bursar cancels the others.
        """


@runtime_checkable
class Advisor(Entry, Protocol):
    """Is there a better plan for what is left? (slow, off the loop)

    The engine hands a question out and goes on. What comes back is an event that passes the guard.
    Nothing else crosses a thread. In a simulation the answer is there at once.
    """

    @abstractmethod
    def question(self, view: View, now: Time) -> object | None:
        """All that an answer depends on, as a frozen value; None: there is nothing to ask.

        Called after every batch of events, while no other answer of this advisor is awaited. It
        must be quick.
        """

    @abstractmethod
    def answer(self, question: Any) -> Proposal | None:
        """What is proposed; None: all stays as it is. It may take its time.

        It looks at the question and at nothing that changes. The engine sets the time of the event.
        """


class Policy(msgspec.Struct, frozen=True):
    """One entry in each of the three roles that decide, and those who think beside them."""

    provisioner: Provisioner
    placer: Placer
    replicator: Replicator
    advisors: tuple[Advisor, ...] = ()
    runtimes: RunTimes | None = None
    """what `view.runtimes` tells, which sees all events; None: what entries have learned"""

    def __post_init__(self) -> None:
        _check(self.provisioner, Provisioner)
        _check(self.placer, Placer)
        _check(self.replicator, Replicator)
        for advisor in self.advisors:
            _check(advisor, Advisor)

    @property
    def entries(self) -> tuple[Entry, ...]:
        return (self.provisioner, self.placer, self.replicator, *self.advisors)

    @property
    def known_runtimes(self) -> RunTimes:
        """What the view tells of run times."""
        if self.runtimes is not None:
            return self.runtimes
        staying, moving = self.provisioner.runtimes, self.replicator.runtimes
        if staying is not None and moving is not None:
            return TwoRunTimes(staying, moving)
        return staying or moving or UNKNOWN


def _check(entry: object, role: type) -> None:
    """Refuse an entry that lacks something which its role declares."""
    if not isinstance(entry, role):
        name = one_line(type(entry).__name__)
        raise InputError(
            f"{name} is no {role.__name__.lower()}: it must have all that"
            f" {role.__module__}.{role.__name__} declares; inherit from it to get the defaults"
        )


def learns(entry: Entry | RunTimes) -> bool:
    """Whether an entry wants to see events: it has a `saw` of its own."""
    kind = type(entry)
    return not any(role in kind.__mro__ and kind.saw is role.saw for role in (Entry, RunTimes))


def kinds_learned(entry: Entry | RunTimes) -> Collection[type] | None:
    """The kinds of events that an entry wants to see; None: all.

    What it inherited does not count where it sees events in another way than its parent.
    """
    for kind in type(entry).__mro__:
        if "learns_from" in vars(kind) and isinstance(entry, Entry):
            return entry.learns_from()
        if "saw" in vars(kind):
            return None
    return None


def learns_at_once(entry: Entry | RunTimes) -> bool:
    """Whether an entry can learn from the view what happened before: it has a way of its own.

    One that it inherited does not count where it sees events in another way than its parent.
    """
    line = type(entry).__mro__
    one_by_one, at_once = (
        next(place for place, kind in enumerate(line) if name in vars(kind))
        for name in ("saw", "saw_before")
    )
    return line[at_once] is not Entry and at_once <= one_by_one
