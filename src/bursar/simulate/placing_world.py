"""A simulated world that places tasks itself, compiled, between the moments at which who decides
about machines is asked.

    wait(until): the compiled loop goes on to the next moment at which a machine comes or goes, its
    paid time ends, or the provisioner wanted to be asked, and reports all that has happened.

The engine, its guard, its state and the provisioner are the same as ever: a provisioner needs no
twin. Only the placer is another one, which asks the loop.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from random import Random

import msgspec
import numpy as np

from bursar.beliefs.estimates import GivenRunTimes
from bursar.beliefs.learned import LearnedRunTimes
from bursar.engine.roles import Placer, Policy
from bursar.model.errors import InvariantError
from bursar.model.goal import Goal
from bursar.model.learning import UNKNOWN_TIME
from bursar.model.market import Market
from bursar.model.time import Time
from bursar.model.workload import Workload
from bursar.model.workload_arrays import task_kinds
from bursar.policies.autoscaling import Autoscaler
from bursar.policies.replicate.none import NoReplicas
from bursar.policies.workload_placer import WorkloadPlacer, mean_speed
from bursar.simulate.changing_fleet import ChangingFleet
from bursar.simulate.world import Behaviour, SimulatedWorld
from bursar.state import events as ev
from bursar.state.actions import Start
from bursar.state.run_times import UnknownRunTimes
from bursar.state.state import RunState
from bursar.state.view import View

MakeWorld = Callable[[RunState, Behaviour], SimulatedWorld]


def why_not_compiled(workload: Workload, market: Market, goal: Goal, policy: Policy) -> str:
    """Why only the engine can simulate a workload; empty: the compiled loop does the same."""
    placer, provisioner, known = policy.placer, policy.provisioner, policy.known_runtimes
    is_asked_by_clock = isinstance(provisioner, Autoscaler) and (
        type(provisioner).provision is Autoscaler.provision
    )
    if not is_asked_by_clock:
        return "the provisioner may act at any event"
    if not isinstance(placer, WorkloadPlacer):
        return "the placer is not compiled"
    if not isinstance(policy.replicator, NoReplicas) or policy.advisors:
        return "replicas and advice are for the engine"
    if goal != Goal():
        return "within a budget or a deadline, tasks may be lost with their machines"
    if any(offer.slots > 1 for offer in market.offers):
        return "machines have several slots"
    if not isinstance(known, GivenRunTimes | LearnedRunTimes | UnknownRunTimes):
        return "run times are known in another way than by task, kind, or not at all"
    if isinstance(known, LearnedRunTimes) and not workload.arrays.taken.all():
        return "tasks of no length teach others of the same moment"
    return _why_not_waiting(placer, market, policy)


def _why_not_waiting(placer: WorkloadPlacer, market: Market, policy: Policy) -> str:
    """`owm` waits for machines by what it expected when it first saw that they differ."""
    waits = placer.waits_for_machines and len({offer.speed for offer in market.offers}) > 1
    if waits and not isinstance(policy.known_runtimes, GivenRunTimes):
        return "the placer waits for machines by run times that change"
    return ""


def compiled_placing(
    workload: Workload, market: Market, policy: Policy
) -> tuple[Policy, MakeWorld]:
    """The same policy with a placer that asks the compiled loop, and the world of both.

    For what `why_not_compiled` has nothing against.
    """
    inner, known, arrays = policy.placer, policy.known_runtimes, workload.arrays
    if not isinstance(inner, WorkloadPlacer):
        raise InvariantError("the placer is not compiled")
    kinds = task_kinds(workload) if isinstance(known, LearnedRunTimes) else None
    times = map(known.at_speed_one, range(1, len(arrays) + 1))
    estimates = np.array([UNKNOWN_TIME if one is None else one for one in times], np.int64)
    speeds = [offer.speed for offer in market.offers]
    fleet = ChangingFleet(arrays, speeds, inner.compiled, estimates, kinds=kinds)
    placer = CompiledPlacer(inner, fleet)
    return (
        msgspec.structs.replace(policy, placer=placer),
        lambda state, behaviour: PlacingWorld(state, behaviour, fleet, placer),
    )


class CompiledPlacer(Placer):
    """Starts what the compiled loop starts, where it has stopped."""

    def __init__(self, inner: WorkloadPlacer, fleet: ChangingFleet) -> None:
        self._inner, self._fleet = inner, fleet
        self.on_idle = inner.on_idle
        self.has_begun = False
        """whether it was ever asked"""

    def place(self, view: View, now: Time, rng: Random) -> Iterable[Start]:
        if not self.has_begun:
            self.has_begun = True
            self._fleet.draw_by(self._inner.seed_by(rng))
        show_idle(self._fleet, view)
        return [Start(task + 1, machine + 1) for task, machine in self._fleet.place()]


def show_idle(fleet: ChangingFleet, view: View | RunState) -> None:
    """Let the compiled loop know which machines are idle."""
    speeds = {number - 1: view.machines[number].offer.speed for number in view.idle}
    fleet.put_idle(speeds, mean_speed(view.fleet, view.market))


class PlacingWorld(SimulatedWorld):
    """Machines are those of any simulation; tasks run where the compiled loop starts them."""

    def __init__(
        self, state: RunState, behaviour: Behaviour, fleet: ChangingFleet, placer: CompiledPlacer
    ) -> None:
        super().__init__(state, behaviour)
        self._fleet, self._placer = fleet, placer
        self._arrivals: deque[ev.WorkArrived] = deque()
        """that are still to come, by time"""
        self._attempt_of: dict[int, int] = {}
        """by task that runs, from 0"""
        self._seen = 0
        """the place in what changed of machines up to which the compiled loop knows it"""

    def schedule(self, event: ev.AnyEvent) -> None:
        if isinstance(event, ev.WorkArrived):
            self._arrivals.append(event)
        else:
            super().schedule(event)

    def wait(self, until: Time | None) -> Sequence[ev.AnyEvent]:
        changes = self._state.changes.machines
        if self._seen != changes.end:
            self._seen = changes.end
            show_idle(self._fleet, self._state)
        known = (until, self._agenda[0][0] if self._agenda else None)
        stops = [one for one in known if one is not None]
        if not stops or not self._placer.has_begun:  # what is drawn first depends on who asks first
            following = self._fleet.next_event()
            stops += [] if following is None else [following]
        if not stops:
            return ()
        return self._go_on(min(stops))

    def _go_on(self, stop: Time) -> Sequence[ev.AnyEvent]:
        """To a moment, or to the end of the last task."""
        now = self._fleet.stop_at(stop)
        return [*self._reported(now), *super().wait(now)]

    def _reported(self, now: Time) -> list[ev.AnyEvent]:
        """What the compiled loop did, as events; of a moment, arrivals come first."""
        found: list[ev.AnyEvent] = []
        arrivals, attempt_of, attempts = self._arrivals, self._attempt_of, len(self._state.log)
        for at, entry, rest in self._fleet.happened():
            while arrivals and arrivals[0].at <= at:
                found.append(arrivals.popleft())
            if entry >= 0:
                attempts += 1
                attempt_of[entry] = attempts
                found.append(ev.AttemptStarted(at, attempts, entry + 1, rest + 1))
            else:
                found.append(ev.AttemptEnded(at, attempt_of.pop(~entry), "success", rest))
        while arrivals and arrivals[0].at <= now:
            found.append(arrivals.popleft())
        return found

    def _start(self, decision: ev.AttemptStarted) -> None:
        """The compiled loop has started it, and knows its end."""
        self._attempt_of[decision.task - 1] = decision.attempt

    def _release(self, decision: ev.ReleaseOrdered) -> None:
        if self._state.machines[decision.machine].attempts:
            raise InvariantError(f"machine {decision.machine} is released while a task runs on it")
        super()._release(decision)
