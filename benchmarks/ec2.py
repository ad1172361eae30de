"""Renting from EC2, as moto has it, beside bare boto3: many machines at once, and finding them.

moto runs behind the tests' proxy, without faults, since moto alone rents as few machines as are
allowed instead of as many; bare boto3 asks the same proxy. Machines that join are handshakes alone:
300 Dask workers do not fit on one computer. moto needs about 2 ms of processor time for each
instance that it lists, whoever asks.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from benchmarks.measure import Goal, Line, Result, Taken, least_of

MACHINES = 300
MANY = 5000
MOST_TIMES = 1.5
"""as long as bare boto3's one call"""
MOST_BEYOND = 2.0
"""seconds beyond bare boto3, to find many"""
MOST_JOINING = 30.0
"""seconds for all to enrol"""


def measure(rounds: int) -> Result:
    try:
        import_module("boto3")
        import_module("moto.server")
    except ImportError:
        return Result("Renting from EC2", [], [], ["boto3 and moto: pip install 'bursar[dev]'"])
    with _cloud() as cloud:
        cloud.rent_barely()  # moto reads its images when it is asked first
        rented = least_of({"bursar": cloud.rent, "boto3": cloud.rent_barely}, rounds)
        cloud.fill()
        found = least_of({"bursar": cloud.find, "boto3": cloud.find_barely}, rounds)
        joined = cloud.join()
        ups = cloud.up
    times = rented["bursar"].clock / rented["boto3"].clock
    beyond = found["bursar"].clock - found["boto3"].clock
    return Result(
        title=f"Renting from EC2 (moto): {MACHINES} machines; a survey of {MANY:,}",
        lines=[
            _line("rented, bursar", rented["bursar"]),
            _line("rented, boto3", rented["boto3"], "; one call, nothing else"),
            Line("seen running, bursar", ups, "s", "in the last round"),
            _line("found, bursar", found["bursar"]),
            _line("found, boto3", found["boto3"], "; all pages, nothing else"),
            Line("enrolled", joined, "s", f"{MACHINES} handshakes with TLS, no workers"),
        ],
        goals=[
            Goal("machines rented", times, "<=", MOST_TIMES, "times as long as boto3"),
            Goal("a survey", beyond, "<=", MOST_BEYOND, "s beyond boto3"),
            Goal("machines enrolled", joined, "<=", MOST_JOINING, "s"),
        ],
    )


def _line(what: str, taken: Taken, more: str = "") -> Line:
    note = f"{taken.processor:.2f} s of processor time, moto's included{more}"
    return Line(what, taken.clock, "s", note)


class _Cloud:
    """A server of moto, and two ways to ask it."""

    def __init__(self, place: Path, moto: Any, proxy: Any) -> None:
        from bursar.execute.clock import RunClock
        from bursar.execute.remote.security import make_credentials
        from bursar.model.market import Market, Offer, Place
        from bursar.model.money import Money
        from bursar.rent.ec2_api import Ec2Api

        helpers = import_module("tests.ec2_cloud")
        self._place = place
        self._moto = moto
        self._client = helpers.make_client(proxy.url)
        self._image = helpers.IMAGE
        self._api = Ec2Api(proxy.url)
        self._api.client("")
        self._api.client("", repeats=False)
        self._now = RunClock(0, None).now
        config = SimpleNamespace(host="127.0.0.1")
        self._cluster: Any = SimpleNamespace(
            credentials=make_credentials(),
            scheduler=SimpleNamespace(config=config),
            carrier=lambda token: None,
        )
        self._offer = Offer("c5.large", Money.parse("0.1"), place=Place(image=self._image))
        self._market = Market("USD", "undated", (self._offer,))
        self._made = 0
        self.up = 0.0
        """seconds until all machines were seen to run"""

    def _renter(self, mark: str) -> Any:
        from bursar.rent.ec2 import Ec2Renter

        self._made += 1
        home = self._place / str(self._made)
        home.mkdir()
        return Ec2Renter("b", mark, self._now, self._cluster, self._market, home, api=self._api)

    def _orders(self, mark: str) -> list[Any]:
        from bursar.engine.renter import RentOrder
        from bursar.model.time import HOUR

        until = self._now() + HOUR
        numbers = range(1, MACHINES + 1)
        return [RentOrder(n, self._offer, until, f"{mark}/{n}") for n in numbers]

    def _processor(self) -> float:
        """Seconds that moto and this process have used."""
        words = Path(f"/proc/{self._moto.pid}/stat").read_text().rpartition(") ")[2].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK") + time.process_time()

    @contextmanager
    def _timed(self) -> Iterator[Taken]:
        taken, began, used = Taken(), time.perf_counter(), self._processor()
        yield taken
        taken.clock = time.perf_counter() - began
        taken.processor = self._processor() - used

    def rent(self) -> Taken:
        """From the first order, given one by one as a run does, to EC2's answer."""
        mark = f"rent@{time.time()}"
        renter = self._renter(mark)
        began = time.perf_counter()
        with self._timed() as taken:
            for order in self._orders(mark):
                renter.rent([order])
            _wait(lambda: all(one.id for one in list(renter._machines.values())))
        ups = 0
        while ups < MACHINES:
            ups += len(renter.poll())
            time.sleep(0.01)
        self.up = time.perf_counter() - began
        renter.close()
        return taken

    def rent_barely(self) -> Taken:
        with self._timed() as taken:
            reported = self._client.run_instances(
                ImageId=self._image,
                InstanceType="c5.large",
                MinCount=MACHINES,
                MaxCount=MACHINES,
                ClientToken=str(time.time()),
            )
        ids = [one["InstanceId"] for one in reported["Instances"]]
        self._client.terminate_instances(InstanceIds=ids)
        return taken

    def fill(self) -> None:
        """Many instances that carry a mark."""
        from bursar.rent.ec2_api import MACHINES_TAG, OFFER_TAG, RUN_TAG, run_tag

        for first in range(1, MANY + 1, 500):
            values = {
                RUN_TAG: run_tag("many"),
                MACHINES_TAG: f"{first}-{first + 499}",
                OFFER_TAG: "c5.large",
            }
            tags = [{"Key": key, "Value": value} for key, value in values.items()]
            self._moto.client.run_instances(
                ImageId=self._image,
                MinCount=500,
                MaxCount=500,
                TagSpecifications=[{"ResourceType": "instance", "Tags": tags}],
            )

    def find(self) -> Taken:
        renter = self._renter("many")
        with self._timed() as taken:
            found = renter.survey().found
        if len(found) != MANY:
            raise RuntimeError(f"the survey found {len(found):,} instances")
        renter._enrolment.close()  # it is not closed itself: they stay for the next round
        return taken

    def find_barely(self) -> Taken:
        from bursar.rent.ec2_api import RUN_TAG, run_tag

        filters = [
            {"Name": f"tag:{RUN_TAG}", "Values": [run_tag("many")]},
            {"Name": "instance-state-name", "Values": ["pending", "running"]},
        ]
        with self._timed() as taken:
            pages = self._client.get_paginator("describe_instances")
            for page in pages.paginate(Filters=filters, PaginationConfig={"PageSize": 1000}):
                if not page["Reservations"]:
                    raise RuntimeError("a page is empty")
        return taken

    def join(self) -> float:
        """All machines ask for their configuration at the same time."""
        from bursar.execute.remote.dispatch import agent_config
        from bursar.execute.remote.enrol import Invitation, ask
        from bursar.execute.remote.enrolment import Enrolment
        from bursar.model.time import HOUR

        def config_of(number: int) -> Any:
            return agent_config(
                "b", f"b/{number}", number, self._offer, HOUR, timeout=None, grace=0
            )

        credentials = self._cluster.credentials
        enrolment = Enrolment(self._place, "127.0.0.1", credentials, config_of)
        batch = f"1-{MACHINES}"
        secret = enrolment.secret(batch)
        invitation = Invitation(enrolment.address, enrolment.certificate, batch, secret)
        began = time.perf_counter()
        with ThreadPoolExecutor(50) as pool:
            numbers = range(1, MACHINES + 1)
            answers = list(pool.map(lambda n: ask(invitation, n, f"nonce-{n}"), numbers))
        taken = time.perf_counter() - began
        enrolment.close()
        if any(answer.config is None for answer in answers):
            raise RuntimeError("a machine was refused")
        return taken


@contextmanager
def _cloud() -> Iterator[_Cloud]:
    helpers, faults = import_module("tests.ec2_cloud"), import_module("tests.fault_proxy")
    with tempfile.TemporaryDirectory() as name:
        moto = helpers.Moto(Path(name))
        os.environ |= moto.environment()
        proxy = faults.FaultProxy(moto.port)
        try:
            yield _Cloud(Path(name), moto, proxy)
        finally:
            proxy.close()
            moto.close()


def _wait(holds: Callable[[], bool]) -> None:
    while not holds():
        time.sleep(0.002)
