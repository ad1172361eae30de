"""Machines that are workers of somebody's Dask cluster, a real one."""

from __future__ import annotations

import asyncio
import time

import pytest

pytest.importorskip("distributed", reason="dask.distributed is not installed: bursar[dask]")

from tests.dask_cluster import DaskCluster, eventually

from bursar.engine.renter import Down
from bursar.execute.clock import RunClock
from bursar.execute.remote import messages as m
from bursar.execute.remote.clusters import GivenCluster, Wanted
from bursar.execute.remote.dispatch import agent_config
from bursar.model.errors import InputError
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import MINUTE, SECOND
from bursar.rent.workers import WorkerRenter
from bursar.testing import RenterContract

PRICE = Money.parse("0.01")
OFFERS = [Offer("w-1", PRICE, MINUTE, limit=1), Offer("w-2", PRICE, MINUTE, limit=1)]
MARKET = Market("USD", "undated", tuple(OFFERS))
NAMES = [offer.name for offer in OFFERS]


@pytest.fixture(scope="module")
def dask(tmp_path_factory):
    made = DaskCluster(tmp_path_factory.mktemp("dask"), workers=2)
    assert eventually(made.is_up, 60)
    yield made
    made.close()


class TestWorkersOfDask(RenterContract):
    """Here no runner starts agents beside the workers: nothing is found."""

    @pytest.fixture(autouse=True)
    def place(self, dask):
        self.dask = dask

    def make_renter(self, mark, now):
        cluster = GivenCluster(mark, self.dask.address)
        return WorkerRenter(now, cluster, Market("USD", "undated", (self.offer,)))


async def leave_machine(cluster, machine, offer):
    """As a process leaves it that was killed: its agent lives beside the worker of the offer."""
    token = f"{cluster._mark}/{machine}"
    workers = await cluster.workers()
    worker = cluster.choose(Wanted(token, offer.name, None), workers, {})
    config = agent_config("left", token, machine, offer, MINUTE, timeout=None, grace=SECOND)
    async with cluster.connect(worker.address) as line:
        handle = getattr(line, cluster.handler)
        await handle(token=token, request=m.encode(m.Greet("before")), start=m.encode(config))
    return token


@pytest.fixture
def left(dask, tmp_path):
    """A cluster, as a resumed run sees it, and tokens of the machines 7 and 12 of the run."""
    mark = f"left@{tmp_path.name}@{time.time()}"

    async def leave_both():
        before = GivenCluster(mark, dask.address, NAMES)
        # the second first: both workers see both agents, which are on their computer
        return [await leave_machine(before, n, o) for n, o in ((12, OFFERS[1]), (7, OFFERS[0]))]

    tokens = asyncio.run(leave_both())[::-1]
    cluster = GivenCluster(mark, dask.address, NAMES)
    yield cluster, tokens
    for token in tokens:
        asyncio.run(cluster.end_machine(token))


def test_machines_that_were_left_are_found_with_their_workers(left):
    cluster, tokens = left
    renter = WorkerRenter(RunClock(0, None).now, cluster, MARKET)
    assert sorted(one.machine for one in renter.survey().found) == [7, 12]
    workers = asyncio.run(cluster.workers())  # which ends what nobody wants: nothing here
    chosen = [cluster.choose(Wanted(token, "", None), workers, {}) for token in tokens]
    assert [worker.name for worker in chosen] == ["w-1", "w-2"]
    assert cluster.choose(Wanted("another", "w-1", None), workers, {}) is None, "it is not free"
    assert len(asyncio.run(cluster.find_left()).found) == 2


def pausing(fraction):
    """From when a worker uses so much of its memory, it takes no more tasks of Dask."""

    def pause(_, dask_worker):
        dask_worker.memory_manager.memory_limit = 10**12
        dask_worker.memory_manager.memory_pause_fraction = fraction

    return pause


def test_machines_beside_workers_that_are_short_of_memory_are_found_and_no_new_ones_put_there(left):
    """Dask pauses such a worker; what bursar has on its computer lives on."""
    cluster, tokens = left

    def are_paused(number):
        found = asyncio.run(cluster.known_workers())
        return sum(worker.is_paused for worker in found) == number

    asyncio.run(cluster.run_on_workers(pausing(1e-9), None))
    try:
        assert eventually(lambda: are_paused(2))
        renter = WorkerRenter(RunClock(0, None).now, cluster, MARKET)
        assert sorted(one.machine for one in renter.survey().found) == [7, 12]
        workers = asyncio.run(cluster.workers())
        assert cluster.choose(Wanted(tokens[0], "", None), workers, {}).name == "w-1"
        renter.release([7, 12])
        assert cluster.choose(Wanted("another", "w-1", None), workers, {}) is None
    finally:
        asyncio.run(cluster.run_on_workers(pausing(0.9), None))
        assert eventually(lambda: are_paused(0))


def test_a_worker_that_does_not_answer_may_have_machines_of_its_offer(left, monkeypatch):
    cluster, _ = left
    ask = cluster.run_on_workers

    async def ask_all_but_one(function, argument):
        first = next(one for one in await cluster.known_workers() if one.name == "w-1")
        answers = await ask(function, argument)
        return {where: told for where, told in answers.items() if where != first.address}

    monkeypatch.setattr(cluster, "run_on_workers", ask_all_but_one)
    renter = WorkerRenter(RunClock(0, None).now, cluster, MARKET)
    assert renter.survey().unasked == {"w-1": "w-1"}


def test_a_machine_that_is_found_and_not_adopted_is_ended_and_no_other(left):
    """Not the one whose number begins alike, either."""
    cluster, tokens = left
    clock = RunClock(0, None)
    renter = WorkerRenter(clock.now, cluster, MARKET)
    renter.survey()
    renter.extend(12, clock.now() + MINUTE)
    renter.release([7])
    (gone,) = renter.poll()
    assert isinstance(gone, Down)
    assert gone.machine == 7
    again = GivenCluster(cluster._mark, cluster.address, NAMES)
    assert eventually(lambda: list(_left_at(again)) == [tokens[1]])
    workers = asyncio.run(cluster.workers())
    assert cluster.choose(Wanted("another", "w-1", None), workers, {}).name == "w-1", "it is free"


def _left_at(cluster):
    cluster._left.clear()
    return asyncio.run(cluster.find_left()).found


def test_a_run_that_cannot_see_its_machines_is_not_resumed(monkeypatch):
    """It would rent others beside them."""
    monkeypatch.setattr("bursar.rent.workers.PATIENCE", 0.2)
    monkeypatch.setattr("bursar.rent.workers.RETRY", 0.1)
    nobody = GivenCluster("mark", "tcp://127.0.0.1:9")
    renter = WorkerRenter(RunClock(0, None).now, nobody, MARKET)
    with pytest.raises(InputError, match=r"no Dask scheduler answers.*resume the run when it does"):
        renter.survey()
