"""What tasks are expected to take: a plug-in of the view.

Policies read `view.runtimes` and hold neither beliefs nor errors of their own, so that what is
learned, perfect estimates, or estimates with errors can stand behind the same policy. Who makes a
policy sets it up (`bursar.engine.roles.Policy`).

A plug-in inherits from `RunTimes` and writes `expected`. The rest follows from it, and is written
only where that is not right, or too slow.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from bursar.model.time import Time
from bursar.state.events import AnyEvent

if TYPE_CHECKING:
    from numpy import int64
    from numpy.typing import NDArray

    from bursar.state.view import View


class Elsewhere(Protocol):
    """What each of some running tasks takes in all, where it runs and on other offers."""

    @property
    def here(self) -> NDArray[int64]:
        """Where it runs; 0: nothing is known."""
        ...

    def on(self, offer: str) -> NDArray[int64]:
        """On an offer, if started there again; 0: nothing is known."""
        ...


@runtime_checkable
class RunTimes(Protocol):
    """All run times are from the begin of an attempt to its end."""

    def saw(self, event: AnyEvent, state: View) -> None:
        """Called after each event was applied, also for those before a run was resumed."""
        return

    def saw_before(self, view: View) -> None:
        """Learn from the view, at once, what all events so far would have taught.

        Where one that has a `saw` does not override this, a resumed run shows every event again.
        """
        return

    @abstractmethod
    def expected(self, offer: str, elapsed: Time = 0, task: int = 0) -> Time | None:
        """What a task takes in all on an offer where it has run for so long; None: nobody knows.

        Without a number it is any task of the run.
        """

    def at_speed_one(self, task: int) -> Time | None:
        """What a task takes on a machine of speed 1; None: nobody knows, or only by offer.

        It stays the same while the task is there: `correction` tells what changes.
        """
        return None

    def correction(self, work: int) -> float:
        """What a work takes, by what `at_speed_one` said of its tasks when it arrived.

        Works count from 0 here, in the order of arrival.
        """
        return 1.0

    def expected_each(
        self, offer: str, elapsed: NDArray[int64], tasks: NDArray[int64]
    ) -> NDArray[int64] | None:
        """What many tasks are expected to take at once; None: nothing is known of the offer."""
        if self.expected(offer) is None:
            return None
        found = elapsed.copy()
        for place, (one, task) in enumerate(zip(elapsed.tolist(), tasks.tolist(), strict=True)):
            found[place] = self.expected(offer, one, task) or one
        return found

    def moved(self, source: str, elapsed: Time, offer: str, task: int = 0) -> Time | None:
        """What a task takes in all, started again there, that has run for so long elsewhere."""
        return self.expected(offer, 0, task)

    def may_end_sooner(self, sources: Iterable[str], offer: str) -> bool:
        """Whether a task that runs on one of some offers might, started again on another.

        Nobody looks for such tasks where this says no.
        """
        return self.expected(offer) is not None

    def elsewhere(
        self,
        offers: Sequence[str],
        sources: NDArray[int64],
        elapsed: NDArray[int64],
        tasks: NDArray[int64],
    ) -> Elsewhere:
        """The same of many tasks at once; each runs on the offer at a place of `offers`."""
        return _OneByOne(self, [offers[place] for place in sources.tolist()], elapsed, tasks)

    def pace(self, offer: str) -> Time | None:
        """How long it takes there what takes an hour elsewhere; None: nobody knows.

        Only to compare offers.
        """
        return self.expected(offer)


class _OneByOne:
    """Every run time is asked for by itself."""

    def __init__(
        self,
        runtimes: RunTimes,
        sources: Sequence[str],
        elapsed: NDArray[int64],
        tasks: NDArray[int64],
    ) -> None:
        self._runtimes = runtimes
        self._elapsed = elapsed
        self._rows = list(zip(sources, elapsed.tolist(), tasks.tolist(), strict=True))

    @property
    def here(self) -> NDArray[int64]:
        found = self._elapsed.copy()
        for place, (source, elapsed, task) in enumerate(self._rows):
            found[place] = self._runtimes.expected(source, elapsed, task) or 0
        return found

    def on(self, offer: str) -> NDArray[int64]:
        found = self._elapsed.copy()
        for place, (source, elapsed, task) in enumerate(self._rows):
            found[place] = self._runtimes.moved(source, elapsed, offer, task) or 0
        return found


class UnknownRunTimes(RunTimes):
    """Nobody knows any run time."""

    def expected(self, offer: str, elapsed: Time = 0, task: int = 0) -> Time | None:
        return None


class TwoRunTimes(RunTimes):
    """What two have learned: of tasks where they run from one, of moving them from the other."""

    def __init__(self, staying: RunTimes, moving: RunTimes) -> None:
        self._staying, self._moving = staying, moving

    def expected(self, offer: str, elapsed: Time = 0, task: int = 0) -> Time | None:
        return self._staying.expected(offer, elapsed, task)

    def at_speed_one(self, task: int) -> Time | None:
        return self._staying.at_speed_one(task)

    def correction(self, work: int) -> float:
        return self._staying.correction(work)

    def expected_each(
        self, offer: str, elapsed: NDArray[int64], tasks: NDArray[int64]
    ) -> NDArray[int64] | None:
        return self._staying.expected_each(offer, elapsed, tasks)

    def moved(self, source: str, elapsed: Time, offer: str, task: int = 0) -> Time | None:
        return self._moving.moved(source, elapsed, offer, task)

    def may_end_sooner(self, sources: Iterable[str], offer: str) -> bool:
        return self._moving.may_end_sooner(sources, offer)

    def elsewhere(
        self,
        offers: Sequence[str],
        sources: NDArray[int64],
        elapsed: NDArray[int64],
        tasks: NDArray[int64],
    ) -> Elsewhere:
        return self._moving.elsewhere(offers, sources, elapsed, tasks)

    def pace(self, offer: str) -> Time | None:
        return self._moving.pace(offer)


UNKNOWN: Final = UnknownRunTimes()
