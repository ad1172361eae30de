"""The simulated world: a clock that jumps from event to event.

Deterministic: everything random comes from models that were given their own generators.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from heapq import heappop, heappush, heapreplace
from typing import Protocol

from bursar.engine.world import External, Fate, happening
from bursar.model.market import Offer
from bursar.model.time import Time, format_duration
from bursar.state import events as ev
from bursar.state.state import RunState
from bursar.state.view import Machine


class Behaviour(Protocol):
    """What happens to attempts and machines; see `bursar.simulate.faults`."""

    def attempt(
        self, task: int, attempt: int, machine: Machine, now: Time
    ) -> tuple[Time | None, ev.Outcome]:
        """How long this attempt, started now, takes, and how it ends if nothing intervenes.

        None: it never ends by itself. Its host fell silent, and no event says so.
        """
        ...

    def boot(self, machine: Machine) -> Time | None:
        """How long the machine boots; None: it never comes up."""
        ...

    def life(self, machine: Machine) -> Time | None:
        """How long after renting the machine is lost; None: never."""
        ...

    def notice(self, machine: Machine) -> Time:
        """How long before a loss it is announced; 0: not at all.

        A loss that comes sooner than that after renting is not announced either.
        """
        ...


class SimulatedWorld:
    """Answers decisions with the events that the behaviour foresees."""

    ahead = 0
    stalled: AbstractSet[int] = frozenset()

    def __init__(self, state: RunState, behaviour: Behaviour) -> None:
        self._state = state
        self._behaviour = behaviour
        self._now: Time = state.now
        self._agenda: list[tuple[Time, int, ev.AnyEvent]] = []
        """heap of what will happen; the middle number keeps the order of equal times"""
        self._scheduled = 0
        self._leases: list[tuple[Time, int]] = []
        """heap of (end of a lease, machine), one for each; leases that were extended since are
        put back when met"""
        self._performers: dict[type, Callable[..., None]] = {
            ev.AttemptStarted: self._start,
            ev.MachineRented: self._rent,
            ev.ReleaseOrdered: self._release,
            ev.CancelOrdered: self._cancel,
        }

    def lead(self, offer: Offer) -> Time:
        """Simulated machines are released at once."""
        return 0

    def now(self) -> Time:
        return self._now

    def schedule(self, event: ev.AnyEvent) -> None:
        """Let this happen at its time: arrivals, stops, anything from outside."""
        self._scheduled += 1
        heappush(self._agenda, (event.at, self._scheduled, event))

    def post(self, event: External) -> None:
        for one in happening(event, self._now):
            self.schedule(one)

    def wait(self, until: Time | None) -> Sequence[ev.AnyEvent]:
        agenda, leases, alive = self._agenda, self._leases, self._state.attempts
        then = until
        while agenda:
            at, _, event = agenda[0]
            if type(event) is not ev.AttemptEnded or event.attempt in alive:
                then = at if until is None or at <= until else until
                break
            heappop(agenda)  # the end of an attempt that was cancelled or lost before
        while leases and (then is None or leases[0][0] < then):
            if expired := self._expire():
                return expired
        if then is None:
            return ()
        self._now = max(self._now, then)
        happened: list[ev.AnyEvent] = []
        while agenda and agenda[0][0] <= then:
            happened.append(heappop(agenda)[2])
        return happened

    def _expire(self) -> Sequence[ev.AnyEvent]:
        """The end of the first lease, unless it was extended or its machine is gone."""
        end, number = self._leases[0]
        machine = self._state.machines.get(number)
        if machine is not None and machine.until != end:
            heapreplace(self._leases, (machine.until, number))
            return ()
        heappop(self._leases)
        if machine is None:
            return ()
        self._now = max(self._now, end)
        return (ev.MachineDown(self._now, number, "expired", ended=end),)

    def perform(self, decisions: Sequence[ev.Decision]) -> None:
        for decision in decisions:
            performer = self._performers.get(type(decision))
            if performer is not None:
                performer(decision)

    def settle(self, task: int, attempt: int, fate: Fate) -> None:
        """Simulated attempts have no output."""

    def close(self) -> None:
        """Simulated machines vanish with the world."""

    def _start(self, decision: ev.AttemptStarted) -> None:
        machine = self._state.machines[decision.machine]
        task, attempt, now = decision.task, decision.attempt, self._now
        runtime, outcome = self._behaviour.attempt(task, attempt, machine, now)
        timeout = self._state.limits.timeout
        if timeout is not None and (runtime is None or runtime > timeout):
            why = f"timed out after {format_duration(timeout)}"
            self.schedule(ev.AttemptEnded(now + timeout, attempt, "timeout", timeout, why=why))
        elif runtime is not None:
            end = now + runtime
            self._scheduled += 1
            ended = ev.AttemptEnded(end, attempt, outcome, runtime)
            heappush(self._agenda, (end, self._scheduled, ended))

    def _rent(self, decision: ev.MachineRented) -> None:
        heappush(self._leases, (decision.until, decision.machine))
        machine = self._state.machines[decision.machine]
        boot = self._behaviour.boot(machine)
        if boot is None:
            self.schedule(ev.MachineDown(self._now, machine.id, "refused", why="it never came up"))
            return
        self.schedule(ev.MachineUp(self._now + boot, machine.id))
        life = self._behaviour.life(machine)
        if life is not None:
            self._lose(machine, self._now + life)

    def _lose(self, machine: Machine, gone: Time) -> None:
        announced = gone - self._behaviour.notice(machine)
        if machine.rented <= announced < gone:
            self.schedule(ev.LossAnnounced(announced, machine.id, gone))
        self.schedule(ev.MachineDown(gone, machine.id, "lost"))

    def _release(self, decision: ev.ReleaseOrdered) -> None:
        self.schedule(ev.MachineDown(self._now, decision.machine, "released"))

    def _cancel(self, decision: ev.CancelOrdered) -> None:
        attempt = self._state.attempts.get(decision.attempt)
        if attempt is not None:  # it may have ended in the same instant
            runtime = self._now - attempt.started
            self.schedule(ev.AttemptEnded(self._now, attempt.id, "cancelled", runtime))
