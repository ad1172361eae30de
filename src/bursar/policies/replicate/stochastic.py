"""`stochastic`: replicas by conditional expectation (BaTS thesis, section 5.1)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from random import Random

from bursar.beliefs.unified import UnifiedRuntimes
from bursar.engine.roles import Replicator
from bursar.model.market import Offer
from bursar.model.time import Time
from bursar.policies.idle_machines import IdleMachines
from bursar.policies.live_attempts import is_live
from bursar.policies.replicate.tail import Expected, Longest, Pick, replicas
from bursar.policies.running_attempts import RunningAttempts
from bursar.state.actions import Cancel, Start, Wake
from bursar.state.events import AnyEvent, AttemptEnded
from bursar.state.view import View


class Stochastic(Replicator):
    """Replicates what is expected to end sooner on an idle machine, and only that."""

    def __init__(self, knowledge: UnifiedRuntimes | None = None) -> None:
        self.knowledge = knowledge or UnifiedRuntimes()
        self.live = RunningAttempts(is_live)
        self.idle = IdleMachines()

    @property
    def runtimes(self) -> UnifiedRuntimes:
        return self.knowledge

    def learns_from(self) -> Collection[type]:
        return (AttemptEnded,)

    def saw(self, event: AnyEvent, state: View) -> None:
        self.knowledge.saw(event, state)

    def saw_before(self, view: View) -> None:
        self.knowledge.saw_before(view)

    def replicate(self, view: View, now: Time, rng: Random) -> Iterable[Start | Cancel | Wake]:
        self.idle.look(view)
        if not self._is_any_faster(view):
            return []
        self.live.look(view)
        return self._sooner_elsewhere(view, now, rng)

    def _is_any_faster(self, view: View) -> bool:
        """Whether an idle machine is faster than any offer: where none is, no attempt need be
        followed.
        """
        offers = [offer.name for offer in view.market.offers]
        return self._may_end_sooner(offers, view)

    def _sooner_elsewhere(self, view: View, now: Time, rng: Random) -> list[Start]:
        """Replicas that are expected to end sooner, once `idle` and `live` have looked."""
        run_on = [view.market.offers[place].name for place in self.live.run_on]
        if not self._may_end_sooner(run_on, view):
            return []

        def pace(offer: Offer) -> Time | None:
            return view.runtimes.pace(offer.name)

        return list(replicas(self.idle, self._pick(view, now, rng), pace, view))

    def _may_end_sooner(self, run_on: Sequence[str], view: View) -> bool:
        """Whether an idle machine is faster than those of some offers, on which something may run.

        Nothing ends sooner on one that is not, so that no attempt need be looked at.
        """
        idle = [name for name in self.idle.offers() if self.idle.oldest((name,), view)]
        return any(view.runtimes.may_end_sooner(run_on, name) for name in idle)

    def _pick(self, view: View, now: Time, rng: Random) -> Pick:
        return Longest(self.live, self._expected(view, now), view)

    def _expected(self, view: View, now: Time) -> Expected:
        return Expected(self.live, view, now)
