"""The interface of a runner: it executes attempts on machines that were rented.

    join --> Joined --> start --> Ended --> ... --> Gone

Machines, tasks and attempts are named by their numbers within the run, and all times are those of
the run. Only `poll` and `close` wait. Verify yours with `bursar.testing.RunnerContract`.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple, Protocol

from bursar.engine.world import Fate
from bursar.model.market import Offer
from bursar.model.time import Time
from bursar.state.events import DownCause, Outcome


class Joined(NamedTuple):
    """Attempts can be started on the machine."""

    machine: int


class Ended(NamedTuple):
    """An attempt is over, and nothing of it runs any more."""

    attempt: int
    outcome: Outcome
    runtime: Time = 0
    """measured where it ran"""
    exit_code: int | None = None
    """negative: the number of the signal that killed it"""
    cpu: Time = 0
    memory: int = 0
    """largest resident set, bytes"""
    why: str = ""
    """for a failure: what went wrong, or the end of stderr"""
    unwanted: bool = False
    """nobody wants the result of its task any more: there is nothing to do again"""


class Gone(NamedTuple):
    """Nothing runs on the machine any more since `at`; its attempts ended with it, untold."""

    machine: int
    cause: DownCause
    at: Time
    """never after its lease"""
    why: str = ""


class LineChanged(NamedTuple):
    """A machine elsewhere does not answer, or answers again; it may still do its work."""

    machine: int
    """0: what carries orders to all of them"""
    is_cut: bool
    why: str = ""


RunnerNews = Joined | Ended | Gone | LineChanged


class Runner(Protocol):
    """Nothing runs on a machine after the end of its lease, whatever becomes of this process."""

    @property
    def ahead(self) -> int:
        """Attempts to start for each slot beside the one that runs, where they are very short."""
        ...

    @property
    def stalled(self) -> AbstractSet[int]:
        """Machines that gave such attempts back, because what they run takes longer."""
        ...

    def join(self, machine: int, offer: Offer, until: Time) -> None:
        """A machine of this offer was rented until then; `Joined` follows when it is there."""
        ...

    def lease(self, machine: int, until: Time) -> None:
        """The lease now ends then. Ignored if the machine is gone, or its lease was over."""
        ...

    def leave(self, machine: int, cause: DownCause) -> None:
        """End all that runs there; `Gone` follows, for this cause unless there was one before.

        `lost` is without a warning: the machine may not be there any more.
        """
        ...

    def start(self, attempt: int, task: int, machine: int, command: tuple[str, ...]) -> None:
        """Execute a command, once a slot is free; without one, the Python call of this task.

        `Ended` follows, unless the machine is gone first; as `cancelled`, if no slot gets free for
        long. Ignored if the machine is gone already.
        """
        ...

    def stop(self, attempt: int) -> None:
        """End an attempt; `Ended` follows, as `cancelled`. Ignored if it is over."""
        ...

    def flush(self) -> None:
        """Send what was ordered; until then orders may be gathered."""
        ...

    def poll(self, until: Time | None) -> Sequence[RunnerNews]:
        """What happened, in order; waits for it until then at most, and not beyond a `wake`."""
        ...

    def wake(self) -> None:
        """Let `poll` return; from any thread, or from a signal handler."""
        ...

    def settle(self, task: int, attempt: int, fate: Fate) -> None:
        """What an ended attempt wrote has this fate."""
        ...

    def close(self) -> None:
        """End everything, and wait until it has ended."""
        ...
