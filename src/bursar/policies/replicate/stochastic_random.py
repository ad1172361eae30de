"""`stochastic-random`: as `stochastic`, and where that finds no task, as `random` (section 5.2)."""

from __future__ import annotations

from random import Random

from bursar.model.time import Time
from bursar.policies.replicate.stochastic import Stochastic
from bursar.policies.replicate.tail import AtRandom, Either, Pick
from bursar.state.view import View


class StochasticRandom(Stochastic):
    def _pick(self, view: View, now: Time, rng: Random) -> Pick:
        return Either(super()._pick(view, now, rng), AtRandom(self.live, view, rng))
