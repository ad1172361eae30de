"""Workers of somebody's Dask cluster: each is one machine, rented by the clock.

The runner starts an agent beside the worker and ends it. The agent outlives this process: a resumed
run finds those that live, and they stay with their workers.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, Literal

from bursar.engine.renter import FoundMachine, RentOrder, Survey
from bursar.execute.remote.clusters import FoundWorker, GivenCluster, LeftAgents, serves
from bursar.model.errors import InputError
from bursar.model.market import Market, Offer
from bursar.model.time import SECOND, Time
from bursar.rent.emulated import EmulatedRenter, Losses

LEAD: Final[Time] = 2 * SECOND
"""to tell a machine of its lease"""
PATIENCE: Final = 30.0
"""seconds for the scheduler to answer a run that is resumed; it may be about to begin again"""
RETRY: Final = 1.0
UNKNOWN: Final[Time] = 1 << 62
"""the lease of a machine that was found, and is not adopted yet"""


class WorkerRenter(EmulatedRenter):
    """As on this computer, but that machines outlive the process that rented them."""

    def __init__(
        self,
        now: Callable[[], Time],
        cluster: GivenCluster,
        market: Market,
        losses: Losses | None = None,
    ) -> None:
        super().__init__(now, losses, lead=LEAD)
        self._cluster = cluster
        self._market = market
        self._unclaimed: dict[int, str] = {}
        """tokens of machines that were found, and not adopted: the runner does not know them"""
        self._enders: list[threading.Thread] = []

    def survey(self) -> Survey:
        """A run that cannot see its machines must not rent others: then it is not resumed."""
        left = self._ask()
        for token, worker in left.found.items():
            machine = int(token.rpartition("/")[2])
            offer = self._offer_of(worker)
            self._orders[machine] = RentOrder(machine, offer, UNKNOWN, token)
            self._counts[offer.name] += 1
            self._leases[machine] = UNKNOWN
            self._unclaimed[machine] = token
        found = [FoundMachine(machine, is_up=True) for machine in self._unclaimed]
        return Survey(found, {self._offer_of(one).name: one.name for one in left.silent})

    def extend(self, machine: int, until: Time) -> None:
        """One that was found is adopted so."""
        self._unclaimed.pop(machine, None)
        super().extend(machine, until)

    def release(self, machines: Sequence[int]) -> None:
        for machine in machines:
            token = self._unclaimed.pop(machine, None)
            if token is not None:
                ender = threading.Thread(target=self._end_there, args=(token,))
                self._enders.append(ender)
                ender.start()
        super().release(machines)

    def _end(
        self, machine: int, cause: Literal["released", "lost", "expired"], now: Time, why: str = ""
    ) -> None:
        self._cluster.free_left(self._orders[machine].token)
        super()._end(machine, cause, now, why)

    def close(self) -> None:
        super().close()
        for ender in self._enders:
            ender.join()

    def _ask(self) -> LeftAgents:
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return asyncio.run(asyncio.wait_for(self._cluster.find_left(), PATIENCE))
            except (OSError, TimeoutError) as error:
                if time.monotonic() > end:
                    raise InputError(
                        f"{self._cluster.address}: no Dask scheduler answers"
                        f" ({type(error).__name__}: {error}); resume the run when it does"
                    ) from None
            time.sleep(RETRY)

    def _offer_of(self, worker: FoundWorker) -> Offer:
        """As which it is rented."""
        offers = self._market.offers
        names = [offer.name for offer in offers]
        return next((one for one in offers if serves(worker, one.name, names)), offers[0])

    def _end_there(self, token: str) -> None:
        """Where nobody answers, it ends with its lease."""
        with suppress(OSError, TimeoutError):
            asyncio.run(asyncio.wait_for(self._cluster.end_machine(token), PATIENCE))
