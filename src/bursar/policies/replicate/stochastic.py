"""`stochastic`: replicas by conditional expectation (BaTS thesis, section 5.1)."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from bursar.beliefs.unified import UnifiedRuntimes
from bursar.engine.roles import Replicator
from bursar.model.time import Time
from bursar.policies.idle_machines import IdleMachines
from bursar.policies.replicate.tail import Expected, Longest, Pick, is_live, replicas
from bursar.policies.running_attempts import RunningAttempts
from bursar.state.actions import Cancel, Start, Wake
from bursar.state.events import AnyEvent
from bursar.state.view import Machine, View


class Stochastic(Replicator):
    """Replicates what is expected to end sooner on an idle machine, and only that."""

    def __init__(self, knowledge: UnifiedRuntimes | None = None) -> None:
        self.knowledge = knowledge or UnifiedRuntimes()
        self.live = RunningAttempts(is_live)
        self.idle = IdleMachines()

    def saw(self, event: AnyEvent, state: View) -> None:
        self.knowledge.saw(event, state)

    def replicate(self, view: View, now: Time, rng: Random) -> Iterable[Start | Cancel | Wake]:
        self.live.look(view)
        self.idle.look(view)
        return list(replicas(self.idle, self._pick(view, now, rng), self._pace, view))

    def _pace(self, machine: Machine) -> Time | None:
        return self.knowledge.pace(machine.offer.name)

    def _pick(self, view: View, now: Time, rng: Random) -> Pick:
        return Longest(self.live, self._expected(view, now), view)

    def _expected(self, view: View, now: Time) -> Expected:
        return Expected(self.live, self.knowledge, view, now)
