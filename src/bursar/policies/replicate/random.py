"""`random`: replicas of tasks at random (BaTS thesis, section 5.2).

No run time is predicted. All that must be known is which offers are faster: a task that runs on a
machine as fast as the idle one, or faster, is never picked.
"""

from __future__ import annotations

from random import Random

from bursar.model.time import Time
from bursar.policies.replicate.stochastic import Stochastic
from bursar.policies.replicate.tail import AtRandom, Pick
from bursar.state.view import View


class RandomReplicas(Stochastic):
    def _pick(self, view: View, now: Time, rng: Random) -> Pick:
        return AtRandom(self.live, view, rng)
