"""`ntdmr`: instances, timeouts and deadlines of ExPERT's process; see `policies.two_pools`."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Protocol

from bursar.model.time import Time
from bursar.policies.two_pools import TwoPools
from bursar.state.actions import Cancel, Start, Wake
from bursar.state.view import View


class Guide(Protocol):
    """A provisioner that rents for the same process: `mixed`."""

    pools: TwoPools


class Ntdmr:
    keen = True

    def __init__(self, guide: Guide) -> None:
        self.guide = guide

    def replicate(self, view: View, now: Time, rng: Random) -> Iterable[Start | Cancel | Wake]:
        pools = self.guide.pools
        return (*pools.cancels, *pools.starts)
