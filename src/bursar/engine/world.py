"""What the engine drives and is watched by: a world, a journal, observers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import Literal, Protocol

from msgspec.structs import replace

from bursar.model.market import Offer
from bursar.model.time import Time
from bursar.state import events as ev
from bursar.state.state import RunState

Fate = Literal["keep", "failure", "drop"]
"""What becomes of an ended attempt's output: the task's result, its failure, or nothing."""

External = ev.AnyEvent | Callable[[Time], ev.AnyEvent | list[ev.AnyEvent]]
"""An event from outside, or what makes it, or several, once their time is known."""


class World(Protocol):
    """Carries decisions out and tells what happened. It lets no machine outlive its lease."""

    def lead(self, offer: Offer) -> Time:
        """How long before the end of a lease the world must hear of it, as far as is known now."""
        ...

    @property
    def ahead(self) -> int:
        """Attempts to start ahead for each slot: so many are over while this process decides."""
        ...

    @property
    def stalled(self) -> AbstractSet[int]:
        """Machines that gave attempts back, busy for longer: none are started ahead there."""
        ...

    def now(self) -> Time:
        """Time since the run began; never decreases."""
        ...

    def wait(self, until: Time | None) -> Sequence[ev.AnyEvent]:
        """What happened next, in order; nothing once `until` is reached.

        Without `until` and with nothing under way, returns nothing at once if no more can come.
        """
        ...

    def perform(self, decisions: Sequence[ev.Decision]) -> None:
        """Carry out decisions, in order; they are safely in the journal.

        What a decision is about may have ended in the same batch of events: then it is ignored.
        """
        ...

    def post(self, event: External) -> None:
        """Let this happen now; from any thread, or from a signal handler.

        Its time is when the engine gets it. After `close` nobody listens any more.
        """
        ...

    def settle(self, task: int, attempt: int, fate: Fate) -> None:
        """An ended attempt's output has this fate; it is safely in the journal."""
        ...

    def close(self) -> None:
        """Release everything that is still there."""
        ...


def happening(posted: External, now: Time) -> list[ev.AnyEvent]:
    """What was posted, as it happens now."""
    made = posted(now) if callable(posted) else replace(posted, at=now)
    return made if isinstance(made, list) else [made]


class Journal(Protocol):
    def append(self, event: ev.AnyEvent) -> None: ...

    def commit(self, *, safely: bool) -> None:
        """Write what was appended; `safely`: it survives a power failure from here on."""
        ...


class Observer(Protocol):
    """Looks at a run without influence on it: progress display, statistics, beliefs.

    Entries of a policy see events, too (`bursar.engine.roles.Entry`), with the view instead of the
    state.
    """

    def saw(self, event: ev.AnyEvent, state: RunState) -> None:
        """Called after the event was applied."""
        ...
