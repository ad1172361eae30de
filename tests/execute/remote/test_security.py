"""Nothing is read from a peer that has not proved who it is."""

from __future__ import annotations

import asyncio
import os
import socket

import pytest

pytest.importorskip("distributed", reason="dask.distributed is not installed: bursar[dask]")

from distributed import Security
from distributed.core import Server

from bursar.execute.remote.clusters import FoundWorker, GivenCluster, _Identity
from bursar.execute.remote.security import UnprovedPeerError, require_proof
from bursar.model.errors import InputError
from bursar.model.option_words import COMMAND_LINE
from bursar.model.site import RunSite
from bursar.runs.sites import _workers


class Trap:
    """Whoever unpickles it makes a directory."""

    def __init__(self, path):
        self._path = str(path)

    def __reduce__(self):
        return os.mkdir, (self._path,)


def ask_a_hostile_scheduler(trapped, host, *, trust):
    """Ask who is there; the answer is a trap."""

    async def ask():
        async def identity():
            return {"id": "x", "workers": {}, "trap": Trap(trapped)}

        async with Server({"identity": identity}) as server:
            await server.listen("tcp://0.0.0.0:0")
            scheduler = f"tcp://{host}:{server.port}"
            return await _workers(RunSite("dask", scheduler, trust_cluster=trust), COMMAND_LINE)

    return asyncio.run(ask())


def test_no_pickle_of_a_scheduler_that_has_not_proved_itself_is_read(tmp_path):
    trapped = tmp_path / "trapped"
    with pytest.raises(InputError, match=r"has no TLS: .*; if you trust .* add --trust-cluster"):
        ask_a_hostile_scheduler(trapped, socket.gethostname(), trust=False)
    assert not trapped.exists()


def test_a_cluster_that_is_trusted_could_do_anything(tmp_path):
    """If this fails, Dask reads no pickles any more, and trust is needed no longer."""
    trapped = tmp_path / "trapped"
    assert ask_a_hostile_scheduler(trapped, socket.gethostname(), trust=True) == []
    assert trapped.exists()


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "tcp://localhost:1", "tcp://[::1]:1"])
def test_this_computer_needs_no_proof(address):
    require_proof(address, Security())


@pytest.mark.parametrize("address", ["tcp://10.0.0.1:1", "tcp://0.0.0.0:1", "ucx://head:1", "head"])
def test_others_need_tls(address):
    with pytest.raises(UnprovedPeerError, match="has no TLS"):
        require_proof(address, Security())


def test_a_certificate_of_anybody_is_no_proof():
    with pytest.raises(UnprovedPeerError, match="ca-file"):
        require_proof("tls://head:1", Security(tls_client_cert="c", tls_client_key="k"))
    require_proof("tls://head:1", Security(tls_ca_file="ca.pem"))


def test_a_worker_without_tls_is_refused_whatever_its_scheduler_has(monkeypatch):
    async def identity(self, scheduler):
        return _Identity("x", [FoundWorker("tcp://10.0.0.1:1", "w", 1)])

    monkeypatch.setattr(GivenCluster, "_ask", identity)
    with pytest.raises(UnprovedPeerError, match=r"10\.0\.0\.1"):
        asyncio.run(GivenCluster("mark", "tcp://127.0.0.1:1").known_workers())


def test_a_refused_cluster_gets_no_code_of_ours_either():
    with pytest.raises(UnprovedPeerError):
        GivenCluster("mark", "tcp://head:8786").client()
    with pytest.raises(UnprovedPeerError):
        GivenCluster("mark", "tcp://head:8786").connect("tcp://head:8787")
