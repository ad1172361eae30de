"""The user's own hosts: each is one machine, and bursar's agent is started there and ended.

`ssh` is the user's, with its configuration and keys; it never asks for a password. What an agent
must know, its key included, goes through stdin. A line that is cut matters to nobody: the agent
goes on without it, and ends with the lease of its machine.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Protocol

from bursar.engine.renter import FoundMachine, Refused, RentOrder, Survey, Up
from bursar.execute.local import GRACE
from bursar.execute.remote.clusters import OwnCluster
from bursar.execute.remote.messages import encode
from bursar.execute.wire import python_program
from bursar.model.errors import BursarError
from bursar.model.market import Market, Offer
from bursar.model.time import SECOND, Time
from bursar.rent.leased import Leased, LeasingRenter

LEAD: Final[Time] = 5 * SECOND
"""to start Python on a host and have it end an agent"""
TIMEOUT: Final = 60.0
"""seconds for a command on a host"""
RETRY: Final = 2.0
"""seconds after which a host that could not be reached is asked again to end a machine"""
MOST_AT_ONCE: Final = 16
"""commands under way"""
MODULE: Final = "bursar.execute.remote.agent_main"


class HostError(BursarError):
    """A host that cannot be reached, or does not do what it should."""

    exit_code = 1


class Reach(Protocol):
    """How to run bursar's program on a host."""

    def command(self, host: str, offer: Offer) -> list[str]: ...

    def hosts(self, offer: Offer) -> Sequence[str] | None:
        """Where machines of this offer can be; None: there are as many as one likes."""
        ...


class SshReach:
    """Through `ssh`, or what BURSAR_SSH says instead, such as `ssh -F lab.conf`."""

    def __init__(self) -> None:
        self._ssh = shlex.split(os.environ.get("BURSAR_SSH", "ssh"))

    def command(self, host: str, offer: Offer) -> list[str]:
        python = (offer.place and offer.place.python) or sys.executable
        options = ["-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"]
        return [*self._ssh, *options, "--", host, f"exec {shlex.quote(python)} -P -m {MODULE}"]

    def hosts(self, offer: Offer) -> Sequence[str]:
        return () if offer.place is None else offer.place.hosts


class LocalReach:
    """This computer, any number of times: to try out what runs elsewhere later."""

    def command(self, host: str, offer: Offer) -> list[str]:
        return python_program(MODULE)

    def hosts(self, offer: Offer) -> None:
        return None


def run_there(reach: Reach, host: str, offer: Offer, request: object) -> bytes:
    """What bursar's program prints on a host; HostError with its last words if it fails."""
    argv = reach.command(host, offer)
    try:
        done = subprocess.run(
            argv, input=encode(request), capture_output=True, timeout=TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired:
        raise HostError("it did not answer in time") from None
    except OSError as error:
        raise HostError(str(error)) from None
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise HostError(lines[-1] if lines else f"exit code {done.returncode}")
    return done.stdout


def tokens_on(reach: Reach, host: str, offer: Offer, prefix: str) -> list[str]:
    """Machines whose tokens begin so and whose agents live on a host."""
    output = run_there(reach, host, offer, {"list": prefix})
    return [json.loads(line) for line in output.splitlines()]


def end_on(reach: Reach, host: str, offer: Offer, tokens: Sequence[str]) -> None:
    """End machines, and wait until they have ended."""
    run_there(reach, host, offer, {"end": tokens})


def hosts_of(reach: Reach, market: Market) -> dict[str, Offer]:
    """All that machines of a run can be on, and an offer that says how to reach each."""
    return {host: offer for offer in market.offers for host in reach.hosts(offer) or ("localhost",)}


class _Hosted(Leased):
    def __init__(self, offer: Offer, host: str, until: Time) -> None:
        super().__init__(offer, until)
        self.here = offer
        """what the host is rented as"""
        self.host = host
        self.lock = threading.Lock()
        """held while something is done on the host"""


class HostRenter(LeasingRenter[_Hosted]):
    """Commands on hosts run in threads; `poll` tells what came of them."""

    def __init__(
        self,
        run: str,
        mark: str,
        now: Callable[[], Time],
        cluster: OwnCluster,
        market: Market,
        reach: Reach,
        *,
        timeout: Time | None = None,
        grace: Time = GRACE,
    ) -> None:
        super().__init__(run, mark, now, cluster, timeout=timeout, grace=grace)
        self._market = market
        self._reach = reach
        self._free: dict[str, deque[str]] = {}
        """by offer; the one that was used or failed last is at the end"""
        for offer in market.offers:
            hosts = reach.hosts(offer)
            if hosts is not None:
                self._free[offer.name] = deque(hosts)
        self._unasked: dict[str, Offer] = {}
        """hosts that could not be asked which machines of an earlier process live there"""
        self._pool = ThreadPoolExecutor(MOST_AT_ONCE, "bursar-hosts")

    def lead(self, offer: Offer) -> Time:
        return LEAD

    def rent(self, orders: Sequence[RentOrder]) -> None:
        for order in orders:
            if order.machine in self._machines:
                continue
            free = self._free.get(order.offer.name)
            if free is not None and not free:
                self._tell(Refused(order.machine, f"all hosts of {order.offer.name} are in use"))
                continue
            host = "localhost" if free is None else free.popleft()
            hosted = self._machines[order.machine] = _Hosted(order.offer, host, order.until)
            self._pool.submit(self._start, order, hosted)

    def release(self, machines: Sequence[int]) -> None:
        for machine in machines:
            hosted = self._machines.get(machine)
            if hosted is not None and not hosted.is_leaving:
                hosted.is_leaving = True
                self._pool.submit(self._end, machine, hosted)

    def survey(self) -> Survey:
        """Ask all hosts of the market at once; an order of a dead process may be on its way."""
        places = hosts_of(self._reach, self._market)
        found: list[FoundMachine] = []
        lists = self._pool.map(self._list, places, places.values())
        for (host, offer), tokens in zip(places.items(), lists, strict=True):
            if tokens is None:
                self._unasked[host] = offer
                continue
            for token in tokens:
                machine = _number(token)
                self._machines[machine] = _Hosted(offer, host, 0)
                if host in self._free.get(offer.name, ()):
                    self._free[offer.name].remove(host)
                found.append(FoundMachine(machine, is_up=True))
        return Survey(found, self._unasked_by_offer(), may_start=True)

    def _unasked_by_offer(self) -> dict[str, str]:
        names: dict[str, str] = {}
        for offer in self._market.offers:
            hosts = self._reach.hosts(offer) or ("localhost",)
            unasked = [host for host in hosts if host in self._unasked]
            if unasked:
                names[offer.name] = ", ".join(unasked)
        return names

    def close(self) -> None:
        """What cannot be reached ends with its lease."""
        self._closing.set()
        self.release(list(self._machines))
        for host in list(self._unasked):
            self._pool.submit(self._end_left, host)
        self._pool.shutdown(wait=True)

    # --- in threads ------------------------------------------------------------------------------

    def _start(self, order: RentOrder, hosted: _Hosted) -> None:
        with hosted.lock:
            is_over = order.until <= self._now()
            config = self._config_of(order.machine, order.offer, order.until)
            failed = "the lease was over" if is_over else self._end_left(hosted.host)
            failed = failed or self._do(hosted, {"start": config})
            if not failed:
                self._tell(Up(order.machine))
            else:
                self._refuse(order.machine, hosted, f"{hosted.host}: {failed}")

    def _end(self, machine: int, hosted: _Hosted) -> None:
        """Ask until it is certain, or the lease is over; the machine was paid until then."""
        with hosted.lock:
            while self._machines.get(machine) is hosted:
                if not self._do(hosted, {"end": [f"{self._mark}/{machine}"]}):
                    self._down(machine, hosted, "released", self._now())
                elif self._closing.wait(RETRY):
                    return  # it ends with its lease

    def _list(self, host: str, offer: Offer) -> list[str] | None:
        """None: nobody knows."""
        try:
            return tokens_on(self._reach, host, offer, f"{self._mark}/")
        except HostError:
            return None

    def _end_left(self, host: str) -> str:
        """End what an earlier process left on a host that could not be asked; why that failed."""
        offer = self._unasked.get(host)
        if offer is None:
            return ""
        try:
            tokens = tokens_on(self._reach, host, offer, f"{self._mark}/")
            left = [token for token in tokens if _number(token) not in self._machines]
            if left:
                end_on(self._reach, host, offer, left)
        except HostError as error:
            return str(error)
        self._unasked.pop(host, None)
        return ""

    def _do(self, hosted: _Hosted, request: object) -> str:
        """Why it failed; empty: it did not."""
        try:
            run_there(self._reach, hosted.host, hosted.here, request)
        except HostError as error:
            return str(error)
        return ""

    def _forgotten(self, machine: int, rented: _Hosted) -> None:
        free = self._free.get(rented.here.name)
        if free is not None:
            free.append(rented.host)


def _number(token: str) -> int:
    """The number of the machine that a token names."""
    return int(token.rpartition("/")[2])
