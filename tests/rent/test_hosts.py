"""The user's own hosts, through a real sshd."""

from __future__ import annotations

import time

import pytest

pytest.importorskip("distributed", reason="dask.distributed is not installed: bursar[dask]")

from tests import ssh_server

from bursar.engine.renter import FoundMachine, Refused, RentOrder, Up
from bursar.model.market import Market, Offer, Place
from bursar.model.money import Money
from bursar.model.time import MINUTE, SECOND
from bursar.rent.hosts import HostRenter, SshReach, tokens_on
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


def answer(renter, machine=1, offer=OFFER):
    """What comes of an order."""
    renter.rent([RentOrder(machine, offer, MINUTE, f"mark/{machine}")])
    end = time.monotonic() + 30
    while not (news := renter.poll()) and time.monotonic() < end:
        time.sleep(0.05)
    (one,) = news
    return one


def refused(renter, offer=OFFER):
    one = answer(renter, offer=offer)
    renter.close()
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


class CutReach(SshReach):
    """Some hosts cannot be reached."""

    def __init__(self, *cut):
        super().__init__()
        self.cut = set(cut)

    def command(self, host, offer):
        return ["false"] if host in self.cut else super().command(host, offer)


ADA = Offer("one", OFFER.price, MINUTE, place=Place(hosts=("ada",)))
GRACE = Offer("two", OFFER.price, MINUTE, place=Place(hosts=("grace",)))
BOTH = Market("USD", "undated", (ADA, GRACE))


def resumed(reach):
    return HostRenter("x", "mark", lambda: 1, NoCluster(), BOTH, reach)


@pytest.fixture
def left(server, monkeypatch):
    """Machine 1 of a process that is gone lives on ada, machine 2 on grace."""
    monkeypatch.setenv("BURSAR_SSH", server.command)
    gone = resumed(SshReach())
    assert answer(gone, 1, ADA) == Up(1)
    assert answer(gone, 2, GRACE) == Up(2)
    yield
    gone.close()


def test_a_survey_says_of_which_offers_a_host_could_not_be_asked(left):
    renter = resumed(CutReach("ada"))
    survey = renter.survey()
    assert survey.found == [FoundMachine(2, is_up=True)]
    assert survey.unasked == {"one": "ada"}
    assert survey.may_start, "an order of a dead process may be on its way"
    renter.close()


def test_what_is_left_on_a_host_that_could_not_be_asked_ends_before_it_is_used_again(left):
    reach = CutReach("ada")
    renter = resumed(reach)
    renter.survey()
    assert isinstance(answer(renter, 3, ADA), Refused)
    reach.cut.clear()
    assert answer(renter, 4, ADA) == Up(4)
    assert tokens_on(reach, "ada", ADA, "mark/") == ["mark/4"], "two machines share a host"
    renter.close()


def test_what_is_left_on_a_host_that_could_not_be_asked_ends_with_the_run(left):
    reach = CutReach("ada")
    renter = resumed(reach)
    renter.survey()
    reach.cut.clear()
    renter.close()
    assert not tokens_on(reach, "ada", ADA, "mark/")
