"""A saboteur: takes unreliable machines away at random, as a provider of spot machines does.

For real runs on this computer. The world that has one kills what runs on a machine when its time
has come, and tells that it is lost:

    LocalWorld(state, outputs, lives=Saboteur(mean_life=30 * SECOND, seed=1))
"""

from __future__ import annotations

from random import Random

from bursar.model.time import Time
from bursar.state.view import Machine


class Saboteur:
    """Machines of unreliable offers live exponentially long; the others are left alone.

    The life of a machine depends on the seed and its number alone.
    """

    def __init__(self, mean_life: Time, *, notice: Time = 0, seed: int = 0) -> None:
        self.mean_life = mean_life
        self.notice = notice
        """how long before a loss it is announced; 0: not at all"""
        self._seed = seed

    def life(self, machine: Machine) -> Time | None:
        if machine.offer.pool == "reliable":
            return None
        rng = Random(f"{self._seed}/{machine.id}")
        return 1 + round(rng.expovariate(1 / self.mean_life))
