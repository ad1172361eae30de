"""`stochastic-random`: as `stochastic`, and where that finds no task, as `random` (section 5.2)."""

from __future__ import annotations

from random import Random

from bursar.model.time import Time
from bursar.policies.replicate.stochastic import Stochastic
from bursar.policies.replicate.tail import Expected, Pick, at_random, longest
from bursar.state.view import Machine, View


class StochasticRandom(Stochastic):
    def _pick(self, view: View, now: Time, rng: Random) -> Pick:
        best = longest(view, Expected(self.knowledge), now)
        other = at_random(view, self.knowledge, rng)

        def pick(machine: Machine, picked: set[int]) -> tuple[int, str] | None:
            return best(machine, picked) or other(machine, picked)

        return pick
