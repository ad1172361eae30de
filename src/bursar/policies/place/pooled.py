"""`pooled`: nothing is placed but by ExPERT's process, whose queues `ntdmr` serves."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from bursar.engine.roles import Placer
from bursar.model.time import Time
from bursar.state.actions import Start
from bursar.state.view import View


class PooledPlacer(Placer):
    def place(self, view: View, now: Time, rng: Random) -> Iterable[Start]:
        return ()
