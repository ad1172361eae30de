"""Clusters of a run: whose certificate is another is not heard; a dead scheduler comes back."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

pytest.importorskip("distributed", reason="dask.distributed is not installed: bursar[dask]")

from bursar.execute.remote import messages as m
from bursar.execute.remote.clusters import FoundWorker, GivenCluster, OwnCluster, Wanted
from bursar.execute.remote.dask_scheduler import SchedulerConfig, keep_config, kept_config
from bursar.execute.remote.machine_link import MachineLink
from bursar.execute.remote.places import name_of
from bursar.execute.remote.security import make_credentials
from bursar.model.errors import InputError


@pytest.fixture
def own(tmp_path):
    config = SchedulerConfig("127.0.0.1", 0, make_credentials())
    made = OwnCluster("mark", config)
    yield made
    made.scheduler.close()


def test_one_without_the_certificate_of_the_run_is_refused(own):
    assert asyncio.run(own.workers()) == []
    stranger = GivenCluster("mark", own.scheduler.address)
    stranger.credentials = make_credentials()
    with pytest.raises(OSError):
        asyncio.run(stranger._ask(own.scheduler.address))


def test_one_without_any_certificate_is_refused(own):
    plain = own.scheduler.address.replace("tls://", "tcp://")
    stranger = GivenCluster("mark", plain)
    with pytest.raises((OSError, TimeoutError)):
        asyncio.run(asyncio.wait_for(stranger._ask(plain), 3))


def test_a_scheduler_that_was_killed_is_started_again_at_its_address(own):
    before = own.scheduler.address
    os.kill(own.scheduler.pid, signal.SIGKILL)
    own.scheduler._process.wait()
    assert asyncio.run(own.workers()) == []
    assert own.scheduler.address == before
    assert own.scheduler.starts == 2


def test_the_key_is_kept_for_a_resumed_run_where_nobody_else_reads_it(tmp_path):
    config = SchedulerConfig("127.0.0.1", 8786, m.Credentials("certificate", "key"))
    assert kept_config(tmp_path) is None
    keep_config(tmp_path, config)
    assert kept_config(tmp_path) == config
    assert (tmp_path / "scheduler.json").stat().st_mode & 0o077 == 0


def workers(*names):
    return [FoundWorker(f"tcp://10.0.0.{n}:1", name, 1) for n, name in enumerate(names, 1)]


def test_with_several_offers_a_worker_is_of_the_one_its_name_begins_with():
    cluster = GivenCluster("mark", "tcp://x:1", ["small", "large"])
    found = workers("small-1", "large-1", "smallish")
    wanted = Wanted("mark/1", "large", None)
    assert cluster.choose(wanted, found, {}) == found[1]
    assert cluster.choose(wanted, found, {found[1].address}) is None


def test_of_several_workers_of_a_machine_the_one_that_was_started_last_is_its_own(own):
    mine, other = name_of("mark/1"), name_of("mark/2")
    found = workers(f"{mine}.2", f"{mine}.10", f"{mine}.9", f"{other}.11", "somebody", "a.b")
    assert own.choose(Wanted("mark/1", "x", None), found, {}) == found[1]
    assert own.choose(Wanted("mark/2", "x", None), found, {}) == found[3]
    assert own.choose(Wanted("mark/3", "x", None), found, {}) is None
    later = found[:1]
    assert own.choose(Wanted("mark/1", "x", None), later, {}) == found[0], "who is there changes"


def test_a_machine_goes_back_to_its_worker_or_another_on_its_host():
    cluster = GivenCluster("mark", "tcp://x:1")
    found = workers("a", "b")
    before = FoundWorker("tcp://10.0.0.9:1", "b", 1)
    assert cluster.choose(Wanted("mark/1", "worker", before), found, {}) == found[1]
    near = FoundWorker("tcp://10.0.0.1:7", "gone", 1)
    assert cluster.choose(Wanted("mark/1", "worker", near), found, {}) == found[0]
    far = FoundWorker("tcp://10.0.0.3:7", "gone", 1)
    assert cluster.choose(Wanted("mark/1", "worker", far), found, {}) is None


def test_another_version_of_bursar_on_a_machine_is_one_line(tmp_path):
    async def check():
        link = MachineLink(
            3, Wanted("mark/3", "x", None), "session", 0, tmp_path, lambda *told: None
        )
        link._checked(m.AgentAnswer(1, version="0.0.1"))

    with pytest.raises(InputError, match=r"machine 3 has bursar 0.0.1, and this is .*; install"):
        asyncio.run(check())


def test_what_takes_time_only_shortens_a_lease(tmp_path):
    """The machine's stamp is older than its arrival: the lease is counted from the stamp."""

    async def check():
        link = MachineLink(
            1, Wanted("mark/1", "x", None), "session", 0, tmp_path, lambda *told: None
        )
        link._checked(m.AgentAnswer(stamp=1_000, version=m.VERSION))
        link.lease(link.heard + 60_000_000)
        return link._orders[-1]

    assert asyncio.run(check()) == m.SetLease(1_000, 60_000_000)
