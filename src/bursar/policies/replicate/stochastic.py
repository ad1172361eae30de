"""`stochastic`: replicas by conditional expectation (BaTS thesis, section 5.1)."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from bursar.beliefs.unified import UnifiedRuntimes
from bursar.engine.roles import Replicator
from bursar.model.time import Time
from bursar.policies.replicate.tail import Expected, Pick, longest, replicas, swiftest
from bursar.state.actions import Cancel, Start, Wake
from bursar.state.events import AnyEvent
from bursar.state.view import Machine, View


class Stochastic(Replicator):
    """Replicates what is expected to end sooner on an idle machine, and only that."""

    def __init__(self, knowledge: UnifiedRuntimes | None = None) -> None:
        self.knowledge = knowledge or UnifiedRuntimes()

    def saw(self, event: AnyEvent, state: View) -> None:
        self.knowledge.saw(event, state)

    def replicate(self, view: View, now: Time, rng: Random) -> Iterable[Start | Cancel | Wake]:
        return list(replicas(self._targets(view), self._pick(view, now, rng)))

    def _targets(self, view: View) -> list[Machine]:
        return swiftest(view, lambda machine: self.knowledge.pace(machine.offer.name))

    def _pick(self, view: View, now: Time, rng: Random) -> Pick:
        return longest(view, Expected(self.knowledge), now)
