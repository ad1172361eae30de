"""The user's own hosts, through a real sshd."""

from __future__ import annotations

import time

import pytest

pytest.importorskip("distributed", reason="dask.distributed is not installed: bursar[dask]")

from tests import ssh_server

from bursar.engine.renter import Refused, RentOrder
from bursar.model.market import Market, Offer, Place
from bursar.model.money import Money
from bursar.model.time import MINUTE, SECOND
from bursar.rent.hosts import HostRenter, SshReach
from bursar.testing import RenterContract

HOSTS = ("ada", "grace", "edsger")
OFFER = Offer("lab", Money.parse("0.01"), MINUTE, limit=3, place=Place(hosts=HOSTS))
MARKET = Market("USD", "undated", (OFFER,))


class NoCluster:
    """Agents without a Dask worker: here nobody speaks to them."""

    def carrier(self, token):
        return None


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    if ssh_server.WHY_NOT:
        pytest.skip(ssh_server.WHY_NOT)
    made = ssh_server.SshServer(tmp_path_factory.mktemp("ssh"))
    yield made
    made.stop()


class TestHostsBySsh(RenterContract):
    offer = OFFER
    stay = 5 * SECOND  # Python on a host of a busy computer
    outlives = True

    @pytest.fixture(autouse=True)
    def place(self, server, monkeypatch):
        monkeypatch.setenv("BURSAR_SSH", server.command)

    def make_renter(self, mark, now):
        return HostRenter("contract", mark, now, NoCluster(), MARKET, SshReach())


def refused(renter, offer=OFFER):
    renter.rent([RentOrder(1, offer, MINUTE, "mark/1")])
    end = time.monotonic() + 30
    while not (news := renter.poll()) and time.monotonic() < end:
        time.sleep(0.05)
    renter.close()
    (one,) = news
    assert isinstance(one, Refused)
    return one.why


def test_a_host_that_cannot_be_reached_is_refused_with_the_words_of_ssh(server, monkeypatch):
    monkeypatch.setenv("BURSAR_SSH", f"{server.command} -p 1")
    renter = HostRenter("x", "mark", lambda: 0, NoCluster(), MARKET, SshReach())
    assert "Connection refused" in refused(renter)


def test_a_host_without_bursar_is_refused_with_what_python_says(server, monkeypatch):
    monkeypatch.setenv("BURSAR_SSH", server.command)
    offer = Offer("lab", OFFER.price, MINUTE, place=Place(hosts=HOSTS, python="/usr/bin/false"))
    renter = HostRenter("x", "mark", lambda: 0, NoCluster(), MARKET, SshReach())
    assert "exit code 1" in refused(renter, offer)
