"""The log of samples: what the sampling phase has seen so far (BaTS thesis, section 3.1.3).

A few tasks are run on every offer, so that run times can be compared between offers; the rest of
the sample runs wherever a machine is free. The log is an observer: it learns from the events of a
run, live or replayed from its journal, and policies read it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from bursar.beliefs.regression import Line, Relation, relate
from bursar.model.market import Offer
from bursar.model.time import Time
from bursar.state import events as ev
from bursar.state.view import View

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

REPLICATED: Final = 7
"""Tasks run on every offer: enough for a line between two offers (section 3.1.3)."""


class SampleLog:
    """Run times by offer and task. Only successes count; a task's last measurement stands."""

    def __init__(self) -> None:
        self.replicated: list[int] = []
        """tasks that were started to be measured, in order, or of which all offers tell"""
        self.runtimes: dict[str, dict[int, Time]] = {}
        """by offer, the run time of each task that succeeded there"""
        self.failures: dict[str, int] = {}
        """by offer, attempts that failed by their own fault"""
        self._offer_of: dict[int, str] = {}
        """live attempts"""
        self._measuring: dict[tuple[str, int], int] = {}
        """live attempts by offer and task"""

    @classmethod
    def of(cls, runtimes: Mapping[str, Mapping[int, Time]]) -> SampleLog:
        """What is known of an earlier run: by offer, the run times of its tasks."""
        log = cls()
        log.runtimes = {offer: dict(times) for offer, times in runtimes.items()}
        common = set[int]().union(*runtimes.values()).intersection(*runtimes.values())
        log.replicated = sorted(common)
        return log

    @property
    def is_paired(self) -> bool:
        """Enough tasks ran on every offer to compare offers task by task."""
        return len(self.runtimes) == 1 or len(self.replicated) >= REPLICATED

    def saw(self, event: ev.AnyEvent, state: View) -> None:
        if isinstance(event, ev.AttemptStarted):
            self._started(event, state)
        elif isinstance(event, ev.AttemptEnded):
            self._ended(event, state)
        elif isinstance(event, ev.MachineDown):
            gone = [number for number in self._offer_of if number not in state.attempts]
            for number in gone:
                self._forget(number, state)

    def _started(self, event: ev.AttemptStarted, state: View) -> None:
        offer = state.machines[event.machine].offer.name
        self._offer_of[event.attempt] = offer
        self._measuring[offer, event.task] = event.attempt
        if event.measure and event.task not in self.replicated:
            self.replicated.append(event.task)

    def _ended(self, event: ev.AttemptEnded, state: View) -> None:
        offer = self._forget(event.attempt, state)
        if offer is None:
            return
        if event.outcome == "success":
            runtime = max(1, event.runtime)
            self.runtimes.setdefault(offer, {})[state.log.task[event.attempt]] = runtime
        elif event.outcome in ("failed", "timeout"):
            self.failures[offer] = self.failures.get(offer, 0) + 1

    def _forget(self, attempt: int, state: View) -> str | None:
        offer = self._offer_of.pop(attempt, None)
        if offer is not None:
            self._measuring.pop((offer, state.log.task[attempt]), None)
        return offer

    # --- what is still to do ---------------------------------------------------------------------

    def seen(self) -> int:
        """Distinct tasks with a run time."""
        return len(set().union(*self.runtimes.values())) if self.runtimes else 0

    def is_hopeless(self, offer: str) -> bool:
        """Nothing but failures there: as many as a whole replicated set."""
        return not self.runtimes.get(offer) and self.failures.get(offer, 0) >= REPLICATED

    def lacks(self, offer: str, task: int) -> bool:
        """The task neither ran nor runs on this offer."""
        return task not in self.runtimes.get(offer, {}) and (offer, task) not in self._measuring

    def is_complete(self, offers: Sequence[Offer], size: int, tasks: int) -> bool:
        """Every offer has its replicated tasks, and the sample is large enough."""
        return self.is_compared(offers, tasks) and self.seen() >= min(size, tasks)

    def is_compared(self, offers: Sequence[Offer], tasks: int) -> bool:
        """Every offer has its replicated tasks, or fails them all."""
        wanted = min(REPLICATED, tasks)
        return all(
            self.is_hopeless(offer.name)
            or sum(task in self.runtimes.get(offer.name, {}) for task in self.replicated) >= wanted
            for offer in offers
            if offer.limit != 0
        )

    def mean(self, offer: str) -> Time | None:
        """Mean run time seen on an offer; None: nothing was seen."""
        times = self.runtimes.get(offer)
        return round(sum(times.values()) / len(times)) if times else None

    # --- what it tells ---------------------------------------------------------------------------

    def samples(self, offers: Sequence[Offer]) -> dict[str, NDArray[np.int64]]:
        """Run times of all seen tasks on every offer, the same tasks in the same order.

        What did not run on an offer is converted from where it did run, by a line through the
        replicated tasks (equation 3.1), or in proportion to their means where no line fits.
        """
        import numpy as np  # late: runs that are not planned do without it

        known = [offer.name for offer in offers if self.runtimes.get(offer.name)]
        tasks = sorted(set().union(*(self.runtimes[name] for name in known))) if known else []
        return {
            name: np.array([self._converted(task, name, known) for task in tasks], dtype=np.int64)
            for name in known
        }

    def cautions(self, offers: Sequence[Offer]) -> list[str]:
        """What people should know of the comparison between offers, a sentence each."""
        known = [offer.name for offer in offers if self.runtimes.get(offer.name)]
        cautions = [self._caution(known[0], other) for other in known[1:]]
        hopeless = [
            f"every task failed on {offer.name}" for offer in offers if self.is_hopeless(offer.name)
        ]
        return [caution.rstrip(".") for caution in cautions if caution] + hopeless

    def _caution(self, source: str, target: str) -> str | None:
        relation = self._relation(source, target)
        if relation.caution is None or relation.line is not None:
            return relation.caution
        return (
            f"{relation.caution.rstrip('.')}; what ran on one of them alone is converted in"
            " proportion to the means, and the bounds may not hold"
        )

    def _converted(self, task: int, offer: str, known: Sequence[str]) -> Time:
        here = self.runtimes[offer]
        if task in here:
            return here[task]
        source = next(name for name in known if task in self.runtimes[name])
        return max(1, round(self._line(source, offer).apply(self.runtimes[source][task])))

    def _line(self, source: str, target: str) -> Line:
        """From run times on the source to those on the target."""
        line = self._relation(source, target).line
        if line is not None:
            return line
        there, here = self.runtimes[source], self.runtimes[target]
        common = [task for task in self.replicated if task in there and task in here]
        if common:
            there = {task: there[task] for task in common}
            here = {task: here[task] for task in common}
        ratio = (sum(here.values()) / len(here)) / (sum(there.values()) / len(there))
        return Line(slope=ratio, intercept=0.0)

    def _relation(self, source: str, target: str) -> Relation:
        there, here = self.runtimes[source], self.runtimes[target]
        common = [task for task in self.replicated if task in there and task in here]
        return relate([(there[task], here[task]) for task in common], source, target)
