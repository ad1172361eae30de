"""What is left of a run, simulated from where it stands: by its own policy, in a simulated world.

The state is a copy that nobody else has. Machines and attempts of it go on as the behaviour says;
what they have done so far counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappush
from random import Random
from typing import Final, Protocol

from bursar.engine.loop import Engine
from bursar.engine.roles import Policy
from bursar.model.time import Time
from bursar.simulate.world import Behaviour, SimulatedWorld
from bursar.state import events as ev
from bursar.state.state import RunState
from bursar.state.view import Attempt, Machine

TURNS_A_TASK: Final = 60
"""of the loop, and the same for every machine: a simulation beyond them leads nowhere ..."""
FEWEST_TURNS: Final = 5_000


class RestBehaviour(Behaviour, Protocol):
    """A behaviour that also knows what becomes of that which is under way."""

    def ends_in(self, attempt: Attempt, now: Time) -> tuple[Time | None, ev.Outcome]:
        """How much longer an attempt takes that has begun, and how it ends; None: it never does."""
        ...

    def lives_on(self, machine: Machine, now: Time) -> Time | None:
        """In how long a machine is lost; None: never."""
        ...


class EndlessError(Exception):
    """A simulation does not come to its end."""


class RestWorld(SimulatedWorld):
    """Begins with the machines and attempts of a state at a moment."""

    def __init__(self, state: RunState, behaviour: RestBehaviour, now: Time) -> None:
        super().__init__(state, behaviour)
        self._rest = behaviour
        self._now = max(now, state.now)
        left = state.total - state.settled + len(state.machines)
        self._turns = FEWEST_TURNS + TURNS_A_TASK * left
        for machine in list(state.machines.values()):
            self._goes_on(machine)

    def wait(self, until: Time | None) -> Sequence[ev.AnyEvent]:
        self._turns -= 1
        if self._turns < 0:
            raise EndlessError
        return super().wait(until)

    def _goes_on(self, machine: Machine) -> None:
        now, behaviour = self._now, self._rest
        heappush(self._leases, (machine.until, machine.id))
        if machine.releasing:
            self.schedule(ev.MachineDown(now, machine.id, "released"))
            return
        if machine.up is None:
            boot = behaviour.boot(machine) or 0
            self.schedule(ev.MachineUp(max(now, machine.rented + boot), machine.id))
        life = behaviour.lives_on(machine, now)
        gone = machine.doomed if life is None else now + life
        if gone is not None:
            gone = max(now, gone if machine.doomed is None else min(gone, machine.doomed))
            self.schedule(ev.MachineDown(gone, machine.id, "lost"))
        free = [self._attempt_goes_on(self._state.attempts[one]) for one in machine.attempts]
        for number in machine.waiting:  # each takes the slot that is free first
            attempt = self._state.attempts[number]
            ends = [end for end in free if end is not None]
            if not ends:
                return  # it waits behind attempts that never end
            begin = min(ends)
            runtime, outcome = behaviour.attempt(attempt.task, number, machine, begin)
            end = None if runtime is None else begin + runtime
            free[free.index(begin)] = end
            if end is not None and runtime is not None:
                self.schedule(ev.AttemptEnded(end, number, outcome, runtime))

    def _attempt_goes_on(self, attempt: Attempt) -> Time | None:
        now, timeout = self._now, self._state.limits.timeout
        if attempt.cancelling:
            self.schedule(ev.AttemptEnded(now, attempt.id, "cancelled", now - attempt.started))
            return now
        rest, outcome = self._rest.ends_in(attempt, now)
        if timeout is not None:
            left = max(0, attempt.started + timeout - now)
            if rest is None or rest > left:
                rest, outcome = left, "timeout"
        if rest is None:
            return None
        runtime = now + rest - attempt.started
        self.schedule(ev.AttemptEnded(now + rest, attempt.id, outcome, runtime))
        return now + rest


def simulate_rest(
    state: RunState, policy: Policy, behaviour: RestBehaviour, now: Time, rng: Random
) -> ev.RunEnded:
    """Drive a state to its end; the policy must have learned what happened before."""
    engine = Engine(state, policy, RestWorld(state, behaviour, now), None, rng)
    return engine.run()
