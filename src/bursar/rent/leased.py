"""What renters of machines elsewhere have in common: machines with leases, and news of them.

Providers are asked in threads; `poll` tells what came of it. Of several threads that find out that
a machine is down, one tells it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, Literal, TypeVar

from bursar.engine.renter import Down, Refused, RenterNews
from bursar.execute.local import GRACE
from bursar.execute.remote.clusters import OwnCluster
from bursar.execute.remote.dispatch import agent_config
from bursar.execute.remote.messages import AgentConfig
from bursar.model.market import Offer
from bursar.model.time import Time


class Leased:
    """A machine that is not down."""

    def __init__(self, offer: Offer | None, until: Time) -> None:
        self.offer = offer
        """None: of a machine that was found, and whose offer is not known"""
        self.until = until
        """0: of a machine that was found, and is not adopted yet"""
        self.is_leaving = False


L = TypeVar("L", bound=Leased)


class LeasingRenter(Generic[L]):
    """Who inherits it gives orders to a provider, and says here what became of them."""

    def __init__(
        self,
        run: str,
        mark: str,
        now: Callable[[], Time],
        cluster: OwnCluster,
        *,
        timeout: Time | None = None,
        grace: Time = GRACE,
    ) -> None:
        self._run = run
        self._mark = mark
        self._now = now
        self._cluster = cluster
        self._timeout = timeout
        self._grace = grace
        self._machines: dict[int, L] = {}
        self._lock = threading.RLock()
        """of these"""
        self._news: deque[RenterNews] = deque()
        self._wake: Callable[[], None] = lambda: None
        self._closing = threading.Event()

    def open(self, wake: Callable[[], None]) -> None:
        self._wake = wake

    def extend(self, machine: int, until: Time) -> None:
        """The runner tells the machine; here it is only known when the lease ends."""
        rented = self._machines.get(machine)
        if rented is not None and (not rented.until or self._now() <= rented.until):
            rented.until = until

    def poll(self) -> Sequence[RenterNews]:
        now = self._now()
        for machine, rented in list(self._machines.items()):
            if rented.until and rented.until <= now:
                self._down(machine, rented, "expired", rented.until)
                self._expired(rented)
        news: list[RenterNews] = []
        while self._news:
            news.append(self._news.popleft())
        return news

    def next_poll(self) -> Time | None:
        if self._news:
            return 0
        return min((one.until for one in list(self._machines.values()) if one.until), default=None)

    # --- for those who inherit it ----------------------------------------------------------------

    def _expired(self, rented: L) -> None:
        """The lease of a machine is over, and the provider may not know."""

    def _forgotten(self, machine: int, rented: L) -> None:
        """A machine is down or was refused, and not known here any more."""

    def _config_of(
        self, machine: int, offer: Offer, until: Time, *, turns_off: bool = False
    ) -> AgentConfig:
        """All that the agent of a machine must know, with the key of the run."""
        token = f"{self._mark}/{machine}"
        return agent_config(
            self._run,
            token,
            machine,
            offer,
            until - self._now(),
            timeout=self._timeout,
            grace=self._grace,
            carrier=self._cluster.carrier(token),
            turns_off=turns_off,
        )

    # --- from any thread -------------------------------------------------------------------------

    def _tell(self, news: RenterNews) -> None:
        self._news.append(news)
        self._wake()

    def _forget(self, machine: int, rented: L) -> bool:
        """Whether it was still known; one of several threads gets yes."""
        with self._lock:
            if self._machines.get(machine) is not rented:
                return False
            del self._machines[machine]
        self._forgotten(machine, rented)
        return True

    def _refuse(self, machine: int, rented: L, why: str) -> None:
        if self._forget(machine, rented):
            self._tell(Refused(machine, why))

    def _down(
        self,
        machine: int,
        rented: L,
        cause: Literal["released", "lost", "expired"],
        at: Time,
        why: str = "",
    ) -> None:
        """Where its lease is over, that is why it ended."""
        if self._forget(machine, rented):
            if rented.until and at >= rented.until:
                cause, at, why = "expired", rented.until, ""
            self._tell(Down(machine, cause, at, why))
