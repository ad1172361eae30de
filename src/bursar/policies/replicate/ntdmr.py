"""`ntdmr`: instances, timeouts and deadlines of ExPERT's process; see `policies.two_pools`."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from bursar.engine.roles import Replicator
from bursar.model.time import Time
from bursar.policies.provision.mixed import Mixed
from bursar.state.actions import Cancel, Start, Wake
from bursar.state.view import View


class Ntdmr(Replicator):
    always = True

    def __init__(self, provisioner: Mixed) -> None:
        self._provisioner = provisioner
        """which rents for the same process"""

    def replicate(self, view: View, now: Time, rng: Random) -> Iterable[Start | Cancel | Wake]:
        pools = self._provisioner.pools
        return (*pools.cancels, *pools.starts)
