"""When reliable machines must do the rest of a bag, for its deadline to be met.

Unreliable machines are cheap, and may do most of the work, or none from now on. So reliable ones
are left out until the last moment at which all of them together can still do everything that is
left. From then on they take tasks, too, as many as there are, until the work has gained enough on
that moment again. This is the safety net of "Can't Be Late" (Wu et al., NSDI 2024, section 4), but
both pools work at the same time: no machine is given back before a better one is up.
"""

from __future__ import annotations

from math import ceil, sqrt
from typing import Final

import numpy as np

from bursar.beliefs.past import LOST, SUCCESS, lost_machines, past_attempts
from bursar.model.fleet import Fleet
from bursar.model.time import Time
from bursar.state import events as ev
from bursar.state.view import View

FEW: Final = 3
"""Results without which nothing is known of run times."""
BLIND: Final = 0.5
"""Reliable machines help after this share of the time, where there are fewer."""
CHANGEOVERS: Final = 2
"""To give a machine back and to get another one."""
LEARNS_FROM: Final = (ev.AttemptStarted, ev.AttemptEnded, ev.MachineDown)
"""Kinds of events that tell run times."""


class LastMoment:
    """The last safe moment, by the run times so far.

    Where machines are often lost, short tasks end and long ones do not. So the time of lost
    attempts counts, too, as if it were spent on those that ended: too much rather than too little.
    """

    def __init__(self) -> None:
        self._results, self._total, self._squares = 0, 0.0, 0.0
        self.longest = 0.0
        """microseconds at speed 1 of the longest attempt so far"""
        self._running: dict[int, set[int]] = {}
        """by unreliable machine, attempts that run there"""

    def saw(self, event: ev.AnyEvent, state: View) -> None:
        if type(event) is ev.AttemptStarted:
            if state.machines[event.machine].offer.pool == "unreliable":
                self._running.setdefault(event.machine, set()).add(event.attempt)
        elif type(event) is ev.AttemptEnded:
            running = self._running.get(state.log.machine[event.attempt])
            if running is not None:
                running.discard(event.attempt)
            if event.outcome in ("success", "lost"):
                self._results += event.outcome == "success"
                self._add(event.attempt, event.at, state)
        elif type(event) is ev.MachineDown:
            gone = self._running.pop(event.machine, ())
            for attempt in gone if event.cause == "lost" else ():
                self._add(attempt, event.at if event.ended is None else event.ended, state)

    def _add(self, attempt: int, end: Time, state: View) -> None:
        number = state.log.machine[attempt]
        machine = state.machines.get(number)
        offer = machine.offer if machine is not None else state.market[state.offer_of(number)]
        work = (end - state.log.started[attempt]) * offer.speed
        self._total += work
        self._squares += work * work
        self.longest = max(self.longest, work)

    def saw_before(self, view: View) -> None:
        """Learn what happened before anybody watched."""
        past = past_attempts(view)
        # What went with a machine that was given back did not end by itself.
        gone = {charge.machine: charge.end for charge in view.ledger.charges()}
        last = np.array([gone.get(machine, 0) for machine in past.machines.tolist()])
        taken = np.isin(past.machines, list(lost_machines(view)))
        is_lost = (past.outcomes == LOST) & ((past.ended < last) | taken)
        known = past.among((past.outcomes == SUCCESS) | is_lost)
        for attempt in view.attempts.values():
            if attempt.machine.offer.pool == "unreliable":
                self._running.setdefault(attempt.machine.id, set()).add(attempt.id)
        speeds = np.array([offer.speed for offer in view.market.offers])
        work = (known.ended - known.started) * speeds[known.offers]
        self._results = int((known.outcomes == SUCCESS).sum())
        self._total, self.longest = float(work.sum()), float(work.max(initial=0.0))
        self._squares = float((work * work).sum())

    def work_left(self, view: View) -> float:
        """Microseconds at speed 1, as if nothing were done yet of what runs."""
        return (view.total - view.done - view.failed) * self.mean

    @property
    def is_known(self) -> bool:
        """Whether enough tasks have ended to tell how long one takes."""
        return self._results >= FEW

    @property
    def mean(self) -> float:
        """What a task takes, in microseconds at speed 1."""
        return self._total / self._results if self._results else 0.0

    @property
    def results(self) -> int:
        """How many tasks have ended."""
        return self._results

    @property
    def deviation(self) -> float:
        """The standard deviation of run times, by their mean."""
        mean = self.mean
        return sqrt(max(0.0, self._squares / self._results - mean**2)) / mean if mean else 0.0

    def at(
        self, view: View, fleet: Fleet, *, mean: float | None = None, longest: float | None = None
    ) -> Time | None:
        """From then on the fleet's reliable machines are all needed; None: there is no deadline.

        `mean` and `longest` are what is expected of run times, if not what was seen so far.
        """
        deadline = view.goal.deadline
        offers = [
            offer
            for offer in view.market.offers
            if offer.pool == "reliable" and fleet.get(offer.name)
        ]
        if deadline is None or not offers:
            return None
        if self._results < FEW:
            return round(BLIND * deadline)
        boot = max(offer.boot for offer in offers)
        slots = sum(fleet[offer.name] * offer.slots for offer in offers)
        slowest = min(offer.speed for offer in offers)
        left = view.total - view.done - view.failed
        rounds = 1 + ceil(left / slots)  # the last tasks may be the longest
        mean = self.mean if mean is None else mean
        longest = self.longest if longest is None else longest
        lasts = ceil((rounds * mean + longest) / slowest)
        return deadline - CHANGEOVERS * boot - lasts


class DeadlineHelp:
    """Whether reliable machines take tasks now, for the sake of the deadline."""

    def __init__(self) -> None:
        self._last = LastMoment()
        self.slots = 0
        """reliable slots that may be used now"""
        self.moment: Time | None = None
        """when they will be needed, if nothing gets done until then"""

    def saw(self, event: ev.AnyEvent, state: View) -> None:
        self._last.saw(event, state)

    def saw_before(self, view: View) -> None:
        self._last.saw_before(view)

    def look(self, view: View, now: Time, fleet: Fleet) -> None:
        was_needed, self.slots, self.moment = self.slots > 0, 0, None
        last = self._last.at(view, fleet)
        if last is None:
            return
        offers = [offer for offer in view.market.offers if offer.pool == "reliable"]
        if was_needed:  # not given up again for a moment
            last -= CHANGEOVERS * max(offer.boot for offer in offers)
        if now < last:
            self.moment = last
        elif self._is_paid(view, fleet):
            self.slots = sum(fleet.get(offer.name, 0) * offer.slots for offer in offers)

    def _is_paid(self, view: View, fleet: Fleet) -> bool:
        """Whether the money left does all that is left on reliable machines."""
        left = view.ledger.left
        if left is None:
            return True
        price = min(
            offer.price.nanos / (offer.billing * offer.slots * offer.speed)
            for offer in view.market.offers
            if offer.pool == "reliable" and fleet.get(offer.name)
        )
        return self._last.work_left(view) * price <= left.nanos
