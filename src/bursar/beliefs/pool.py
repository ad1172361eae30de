"""What is known of the unreliable pool as a whole, and the observer that learns it in a run."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, Self

import msgspec

from bursar.beliefs.incidence import Incidence, current_reliability
from bursar.beliefs.pool_forecast import foresee
from bursar.beliefs.reliability import (
    DEADLINE_IN_MEANS,
    History,
    Instance,
    InstanceEnd,
    LastEnding,
    Reliability,
    effective_size,
    is_tail,
)
from bursar.model.errors import InputError
from bursar.model.text import counted
from bursar.model.time import Time, format_duration
from bursar.state import events as ev
from bursar.state.task_status import DONE
from bursar.state.view import View

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FEWEST: Final = 2
"""With fewer results than this, nothing is known of how they differ."""


class Characterisation(msgspec.Struct, frozen=True):
    """The unreliable pool as a decision sees it (section 4.3)."""

    turnarounds: NDArray[np.int64]
    """of results, ascending: a sample of F_s"""
    losses: NDArray[np.int64]
    """how long after their sending losses were known, ascending; none where all are silent"""
    gamma: Reliability
    machines: int
    """the effective size of the pool"""
    deadline: Time
    """after it a silent instance is taken as lost"""
    instances: int
    results: int
    reliable_time: Time | None = None
    """the mean run time on reliable machines; None: nothing ran there"""
    cautions: tuple[str, ...] = ()
    """what people should know of it, a sentence each without its end"""

    @property
    def mean(self) -> Time:
        """The mean turnaround time of results: T_ur."""
        return _mean(self.turnarounds)

    @classmethod
    def from_history(
        cls,
        history: History,
        now: Time | None = None,
        *,
        deadline: Time | None = None,
        throughput_end: Time | None = None,
        requested: int | None = None,
        turnarounds: NDArray[np.int64] | None = None,
        reliable_time: Time | None = None,
    ) -> Self:
        """What is known at `now`, or at the end of the history.

        The size of the pool is that until `throughput_end`, or until an instance was last sent.
        Turnaround times that are given stand for those of the history, which may have none then.
        """
        now = history.end if now is None else now
        seen = history.seen_at(now)
        if not len(seen):
            raise InputError("nothing was sent to unreliable machines; there is nothing to learn")
        incidence = Incidence.of(seen, now)
        found, results = incidence.turnarounds(), len(seen.turnarounds())
        times = found if turnarounds is None else turnarounds
        if not len(times):
            raise InputError(
                f"none of {counted(len(seen), 'attempt')} on unreliable machines returned a result:"
                " say how long results take"
            )
        deadline = DEADLINE_IN_MEANS * _mean(times) if deadline is None else deadline
        end = int(seen.sent[-1]) if throughput_end is None else min(throughput_end, now)
        return cls(
            turnarounds=times,
            losses=incidence.losses(),
            gamma=current_reliability(history, now, deadline),
            machines=effective_size(seen, deadline, end, requested),
            deadline=deadline,
            instances=len(seen),
            results=results,
            reliable_time=reliable_time,
            cautions=tuple(_cautions(seen, results, now, deadline)),
        )

    @classmethod
    def from_instances(cls, instances: Iterable[Instance], now: Time | None = None) -> Self:
        """What is known at `now`, or at the end of all observations."""
        return cls.from_history(History.of(instances), now)


def _mean(times: NDArray[np.int64]) -> Time:
    return max(1, round(float(times.mean())))


def _cautions(seen: History, results: int, now: Time, deadline: Time) -> Iterable[str]:
    if results < FEWEST:
        yield f"{counted(results, 'result')} cannot show how turnaround times vary"
    if not ((seen.fates == InstanceEnd.LOST) | (seen.fates == InstanceEnd.SILENT)).any():
        yield f"no attempt was lost, which says little beyond {counted(results, 'attempt')}"
    length = now - int(seen.sent[0])
    if length < deadline:
        yield (
            f"the history of {format_duration(length)} is shorter than a deadline of"
            f" {format_duration(deadline)}: slow results may be missing"
        )


class PoolObserver:
    """Collects what is sent to unreliable machines, and what comes back, while a run goes on.

    Its memory is a few columns, a row an attempt; an event costs the same however many there were.
    An attempt that was cancelled when its task was done, or that went with a machine which we
    released, was withdrawn. All others that end without a result are lost.
    """

    def __init__(self) -> None:
        self.tail: Time | None = None
        """when fewer tasks remained than unreliable machines were up, for the first time"""
        self.reliable_runs = 0
        """successes on reliable machines"""
        self._reliable_total: Time = 0
        self._sent = array("q")
        self._ended = array("q")
        self._fates = bytearray()
        self._standings = bytearray()
        self._standing: dict[int, LastEnding] = {}
        """by unreliable machine that is up"""
        self._rows: dict[int, dict[int, int]] = {}
        """by unreliable machine that is up, the row of each live attempt"""
        self._available: dict[int, int] = {}
        """by unreliable machine that is up and not being released, its slots"""
        self._slots = 0
        """the sum of these"""

    def __len__(self) -> int:
        """Instances sent so far."""
        return len(self._sent)

    @property
    def reliable_time(self) -> Time | None:
        """The mean run time on reliable machines."""
        return round(self._reliable_total / self.reliable_runs) if self.reliable_runs else None

    def saw(self, event: ev.AnyEvent, state: View) -> None:
        match event:
            case ev.AttemptStarted():
                self._started(event)
            case ev.AttemptEnded():
                self._ended_by_itself(event, state)
            case ev.MachineUp() | ev.MachineAdopted() | ev.ReleaseOrdered():
                self._counted(event, state)
            case ev.MachineDown():
                self._down(event)
            case ev.RunResumed():
                self._interrupted(state.pauses[-1][0])
            case _:
                return
        self._watch(event.at, state)

    def saw_before(self, view: View) -> None:
        """Learn what happened before anybody watched, as far as the view tells it: the tail began
        as if as many unreliable machines had been up then as now, and what was cancelled while
        its task was not done is lost.
        """
        from bursar.beliefs.pool_past import past_instances, past_tail

        past = past_instances(view)
        self.reliable_runs, self._reliable_total = past.reliable_runs, past.reliable_total
        self._sent = array("q", past.sent)
        self._ended = array("q", past.ended)
        self._fates = bytearray(past.fates)
        self._standings = bytearray(past.standings)
        for number, machine in view.machines.items():
            if machine.offer.pool == "unreliable" and machine.up is not None:
                self._rows[number] = {a: past.rows[a] for a in sorted(machine.attempts)}
                self._standing[number] = past.last.get(number, LastEnding.UNTRIED)
                if not machine.releasing:
                    self._available[number] = machine.offer.slots
        self._slots = sum(self._available.values())
        self.tail = None if view.arrivals_open else past_tail(view, self._slots)

    def history(self) -> History:
        import numpy as np

        return History(
            np.array(self._sent, dtype=np.int64),
            np.array(self._ended, dtype=np.int64),
            np.array(self._fates, dtype=np.uint8),
            np.array(self._standings, dtype=np.uint8),
        )

    def characterise(
        self, now: Time, deadline: Time | None = None, requested: int | None = None
    ) -> Characterisation:
        """For the rest of this run, with the deadline of instances, four mean turnarounds else."""
        history = self.history()
        known = Characterisation.from_history(
            history,
            now,
            deadline=deadline,
            throughput_end=self.tail,
            requested=requested,
            reliable_time=self.reliable_time,
        )
        ahead = foresee(history, now)
        return msgspec.structs.replace(
            known, turnarounds=ahead.turnarounds, losses=ahead.losses, gamma=ahead.gamma
        )

    # --- events ----------------------------------------------------------------------------------

    def _started(self, event: ev.AttemptStarted) -> None:
        rows = self._rows.get(event.machine)
        if rows is not None:
            rows[event.attempt] = len(self._sent)
            self._sent.append(event.at)
            self._ended.append(event.at)
            self._fates.append(InstanceEnd.SILENT)
            self._standings.append(self._standing[event.machine])

    def _ended_by_itself(self, event: ev.AttemptEnded, state: View) -> None:
        machine = state.log.machine[event.attempt]
        rows = self._rows.get(machine)
        if rows is None:
            if event.outcome == "success":
                self.reliable_runs += 1
                self._reliable_total += event.runtime
            return
        row = rows.pop(event.attempt, None)
        if row is None:
            return
        if event.outcome == "success":
            self._settle(row, event.at, InstanceEnd.RESULT)
            self._standing[machine] = LastEnding.RETURNED
            return
        is_done = state.status[state.log.task[event.attempt]] == DONE
        is_called_back = event.outcome == "cancelled" and (is_done or state.stopping is not None)
        if is_called_back or event.outcome == "released":
            self._settle(row, event.at, InstanceEnd.WITHDRAWN)
        else:
            self._settle(row, event.at, InstanceEnd.LOST)
            self._standing[machine] = LastEnding.FAILED

    def _counted(
        self, event: ev.MachineUp | ev.MachineAdopted | ev.ReleaseOrdered, state: View
    ) -> None:
        machine = state.machines[event.machine]
        if machine.offer.pool != "unreliable":
            return
        if not isinstance(event, ev.MachineUp):
            self._slots -= self._available.pop(machine.id, 0)
            return
        self._rows[machine.id] = {}
        self._standing[machine.id] = LastEnding.UNTRIED
        if not machine.releasing:
            self._available[machine.id] = machine.offer.slots
            self._slots += machine.offer.slots

    def _down(self, event: ev.MachineDown) -> None:
        rows = self._rows.pop(event.machine, {})
        self._standing.pop(event.machine, None)
        self._slots -= self._available.pop(event.machine, 0)
        fate = InstanceEnd.LOST if event.cause == "lost" else InstanceEnd.WITHDRAWN
        for row in rows.values():
            self._settle(row, event.at, fate)

    def _interrupted(self, at: Time) -> None:
        """Nobody executed the run since `at`: what ran then went with it, not with the pool."""
        for rows in self._rows.values():
            for row in rows.values():
                self._settle(row, at, InstanceEnd.WITHDRAWN)
            rows.clear()

    def _settle(self, row: int, at: Time, fate: InstanceEnd) -> None:
        self._ended[row] = at
        self._fates[row] = fate

    def _watch(self, now: Time, state: View) -> None:
        remaining = state.total - state.settled
        if self.tail is None and not state.arrivals_open and is_tail(remaining, self._slots):
            self.tail = now
