"""`none`: every task runs once at a time."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from bursar.engine.roles import Replicator
from bursar.model.time import Time
from bursar.state.actions import Cancel, Start, Wake
from bursar.state.view import View


class NoReplicas(Replicator):
    def replicate(self, view: View, now: Time, rng: Random) -> Iterable[Start | Cancel | Wake]:
        return ()
