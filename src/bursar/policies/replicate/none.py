"""`none`: every task runs once at a time."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from bursar.actions import Cancel, Start, Wake
from bursar.model.time import Time
from bursar.view import View


class NoReplicas:
    def replicate(self, view: View, now: Time, rng: Random) -> Iterable[Start | Cancel | Wake]:
        return ()
