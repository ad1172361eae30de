"""Machines of EC2, as moto has them; the proxy before it fails as EC2 does."""

from __future__ import annotations

import base64
import subprocess
import time
from types import SimpleNamespace

import pytest

pytest.importorskip("boto3", reason="boto3 is not installed: bursar[aws]")
pytest.importorskip("moto", reason="moto is not installed: bursar[dev]")

from tests.dask_cluster import eventually
from tests.ec2_cloud import IMAGE, SECRET, make_client
from tests.fault_proxy import FaultProxy

from bursar.engine.renter import Announced, Down, Refused, RentOrder, Up
from bursar.execute.clock import RunClock
from bursar.execute.remote.enrol import Invitation
from bursar.execute.remote.security import make_credentials
from bursar.model.errors import InputError
from bursar.model.market import Market, Offer, Place
from bursar.model.money import Money
from bursar.model.site import RunSite
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.rent.ec2 import LIVING, Ec2Renter
from bursar.rent.ec2_api import Ec2Api, Ec2Error, hourly_price
from bursar.rent.user_data import user_data
from bursar.runs.sites import site_market
from bursar.testing import RenterContract

PRICE = Money.parse("0.085")
PLACE = Place(instance_type="c5.large", image=IMAGE)
OFFER = Offer("c5.large", PRICE, HOUR, place=Place(image=IMAGE))
SPOT = Offer("spot", PRICE, HOUR, pool="unreliable", place=PLACE)
FAR = "eu-west-1"
MARKET = Market("USD", "undated", (OFFER, SPOT))
CREDENTIALS = make_credentials()


class NoCluster:
    """Nobody speaks to these machines: they are only entries of moto."""

    credentials = CREDENTIALS
    scheduler = SimpleNamespace(config=SimpleNamespace(host="127.0.0.1"))

    def carrier(self, token):
        return None


@pytest.fixture(scope="module")
def shared_proxy(moto):
    made = FaultProxy(moto.port)
    yield made
    made.close()


@pytest.fixture
def proxy(shared_proxy):
    shared_proxy.reset()
    return shared_proxy


@pytest.fixture(autouse=True)
def environment(moto, monkeypatch):
    for name, value in moto.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("bursar.rent.ec2.LOOK_OFTEN", 0.2)
    monkeypatch.setattr("bursar.rent.ec2.LOOK_SELDOM", 0.4)


@pytest.fixture(scope="module")
def shared_api(shared_proxy):
    """To make clients takes a second."""
    return Ec2Api(shared_proxy.url)


@pytest.fixture
def api(shared_api, proxy, environment):
    for repeats in (True, False):
        shared_api.client("", repeats=repeats)
    return shared_api


class TestInstancesOfEc2(RenterContract):
    offer = OFFER
    stay = 3 * SECOND // 2
    outlives = True

    @pytest.fixture(autouse=True)
    def place(self, tmp_path, api):
        self.homes = iter(tmp_path / str(number) for number in range(10))
        self.api = api

    def make_renter(self, mark, now):
        home = next(self.homes)
        home.mkdir()
        return Ec2Renter("contract", mark, now, NoCluster(), MARKET, home, api=self.api)


class Desk:
    """A renter, by way of the proxy, and what it tells."""

    def __init__(self, api, home, mark):
        clock = RunClock(0, None)
        self.now, self.mark, self.home = clock.now, mark, home
        self.api = api
        self.market = MARKET
        self.renter = self.make_renter(home)
        self.news = []

    def make_renter(self, home):
        home.mkdir(exist_ok=True)
        cluster = NoCluster()
        return Ec2Renter("desk", self.mark, self.now, cluster, self.market, home, api=self.api)

    def rent(self, machines, offer=OFFER, stay=HOUR):
        until = self.now() + stay
        self.renter.rent([RentOrder(n, offer, until, f"{self.mark}/{n}") for n in machines])

    def hear(self, kind, machines, seconds=30):
        def heard():
            self.news += self.renter.poll()
            found = {one.machine: one for one in self.news if isinstance(one, kind)}
            return [found[n] for n in machines] if found.keys() >= set(machines) else None

        found = eventually(heard, seconds)
        assert found, f"{kind.__name__} of {machines} is not among {self.news}"
        return found

    def instances(self):
        living = self.api.describe([""], self.mark, ["pending", "running"])
        return sorted(one.machine for one in living)


@pytest.fixture
def desk(api, tmp_path):
    made = Desk(api, tmp_path / "home", f"desk@{tmp_path.name}@{time.time()}")
    yield made
    made.renter.close()
    assert not made.instances()


def test_machines_that_are_ordered_together_are_rented_by_one_call(desk, proxy):
    for machine in range(1, 41):
        desk.rent([machine])
    desk.hear(Up, range(1, 41))
    assert proxy.calls["RunInstances"] == 1
    desk.renter.release(range(1, 41))
    assert {one.cause for one in desk.hear(Down, range(1, 41))} == {"released"}
    assert proxy.calls["TerminateInstances"] <= 2


@pytest.mark.parametrize("fault", ["lost", "done-but-internal", "refused", "internal"])
def test_an_answer_that_was_lost_rents_nothing_twice_and_loses_nothing(desk, proxy, fault):
    proxy.once = [fault, "throttle", fault]
    desk.rent([1, 2, 3])
    desk.hear(Up, [1, 2, 3])
    assert desk.instances() == [1, 2, 3]


def test_machines_that_ec2_does_not_have_are_refused_and_the_others_are_there(desk, proxy):
    proxy.capacity = 2
    desk.rent([1, 2, 3, 4, 5])
    desk.hear(Up, [1, 2])
    assert "only 2 of 5" in desk.hear(Refused, [3, 4, 5])[0].why
    proxy.once = ["capacity"]
    desk.rent([6])
    assert "there is no such machine now" in desk.hear(Refused, [6])[0].why
    assert desk.instances() == [1, 2]


def test_where_the_quota_is_too_small_as_many_are_rented_as_it_allows(desk, proxy):
    proxy.quota = 5
    desk.rent(range(1, 14))
    assert "quota" in desk.hear(Refused, range(6, 14))[0].why
    desk.hear(Up, range(1, 6))
    assert desk.instances() == [1, 2, 3, 4, 5]


def test_a_call_that_is_throttled_is_repeated_up_to_a_limit(desk, proxy, monkeypatch):
    monkeypatch.setattr("bursar.rent.ec2.LONGEST_PAUSE", 0.05)
    proxy.once = ["throttle"] * 3
    desk.rent([1])
    desk.hear(Up, [1])
    proxy.once = ["throttle"] * 20
    desk.rent([2])
    assert "so many calls" in desk.hear(Refused, [2])[0].why
    assert len(proxy.once) == 20 - 6


def test_that_ec2_does_not_answer_is_said_once_and_that_it_does_again(
    desk, proxy, monkeypatch, caplog
):
    monkeypatch.setattr("bursar.rent.silence.LONGEST_SILENCE", 0.5)
    monkeypatch.setattr("bursar.rent.ec2.LOOK_SELDOM", 0.3)
    desk.rent([1])
    desk.hear(Up, [1])
    answer = proxy.answer
    monkeypatch.setattr(proxy, "answer", lambda body, headers: (400, b"<Response/>"))
    assert eventually(lambda: "Amazon EC2 has not answered" in caplog.text, 60)
    time.sleep(1)
    monkeypatch.setattr(proxy, "answer", answer)
    assert eventually(lambda: "Amazon EC2 answers again" in caplog.text, 60)
    assert caplog.text.count("has not answered") == 1


def test_a_spot_machine_is_announced_before_it_is_lost_and_is_never_dearer(desk, proxy, moto):
    desk.rent([1], SPOT)
    desk.hear(Up, [1])
    (instance,) = [one.id for one in desk.api.describe([""], desk.mark, ["running"])]
    (reported,) = [one for one in moto.instances("running") if one["InstanceId"] == instance]
    assert reported["InstanceLifecycle"] == "spot"
    assert hourly_price(SPOT) == "0.085000"
    proxy.interrupt(instance)
    gone = desk.hear(Announced, [1])[0].gone
    assert desk.now() + 100 * SECOND < gone < desk.now() + 2 * MINUTE
    proxy.take(instance)
    lost = desk.hear(Down, [1])[0]
    assert (lost.cause, lost.why) == ("lost", "the spot machine was taken away")


def test_a_machine_that_boots_slowly_is_up_later(desk, proxy):
    proxy.boot = 1.5
    began = desk.now()
    desk.rent([1])
    desk.hear(Up, [1])
    assert desk.now() - began > SECOND


def test_an_instance_of_the_run_that_belongs_to_nobody_is_ended(desk):
    """As where a process was killed before it could note what it had rented, and is not asked."""
    other = desk.make_renter(desk.home.with_name("other"))
    other.rent([RentOrder(7, OFFER, desk.now() + HOUR, f"{desk.mark}/7")])
    assert eventually(lambda: desk.instances() == [7])
    desk.rent([1])
    desk.hear(Up, [1])
    assert eventually(lambda: desk.instances() == [1])
    other.close()


def test_a_survey_finds_more_machines_than_there_are_on_a_page(desk, monkeypatch):
    monkeypatch.setattr("bursar.rent.ec2_api.PAGE", 50)
    desk.rent(range(1, 121))
    desk.hear(Up, range(1, 121), 60)
    again = desk.make_renter(desk.home.with_name("again"))
    assert sorted(one.machine for one in again.survey().found) == list(range(1, 121))
    again.close()


def test_a_list_that_takes_long_is_waited_for_longer(desk, proxy, monkeypatch):
    desk.rent([1])
    desk.hear(Up, [1])
    monkeypatch.setattr("bursar.rent.ec2_api.PATIENCE", (0.2, 0.3, 20.0))
    proxy.thinking, before = 1.0, proxy.calls["DescribeInstances"]
    api = Ec2Api(proxy.url)
    assert [one.machine for one in api.describe([""], desk.mark, LIVING)] == [1]
    assert proxy.calls["DescribeInstances"] - before >= 3


def test_a_list_that_takes_too_long_is_not_called_out_of_reach(desk, proxy, monkeypatch):
    with monkeypatch.context() as hasty:
        hasty.setattr("bursar.rent.ec2_api.PATIENCE", (0.1, 0.1))
        hasty.setattr(proxy, "thinking", 1.0)
        with pytest.raises(Ec2Error, match="was reached, but took too long") as reported:
            Ec2Api(proxy.url).describe([""], desk.mark, LIVING)
    assert reported.value.is_doubtful


def test_an_instance_that_was_not_listed_yet_when_the_run_was_resumed_is_ended(
    desk, proxy, monkeypatch
):
    """As where a process was killed just after it had rented; the next one rents nothing."""
    desk.rent([1])
    desk.hear(Up, [1])
    other = desk.make_renter(desk.home.with_name("other"))
    with monkeypatch.context() as hiding:
        hiding.setattr("tests.fault_proxy.HIDDEN", 1_000.0)
        hiding.setattr(proxy, "_fault_of", lambda action: "hidden")
        assert not other.survey().found
    other.close()
    assert not desk.instances()


def test_the_user_data_hold_no_key_and_no_credentials(desk, moto):
    desk.rent([1, 2])
    desk.hear(Up, [1, 2])
    for one in desk.api.describe([""], desk.mark, ["running"]):
        reported = moto.client.describe_instance_attribute(InstanceId=one.id, Attribute="userData")
        script = base64.b64decode(reported["UserData"]["Value"]).decode()
        assert script.startswith("#!/bin/sh")
        assert "bursar.execute.remote.enrol" in script
        assert "PRIVATE KEY" not in script
        assert SECRET not in script
        assert len(script) < 16_000


@pytest.mark.parametrize(
    ("offer", "complaint"),
    [
        (Offer("c9.huge", PRICE, HOUR, place=Place(image=IMAGE)), r"c9.huge.*InvalidInstanceType"),
        (Offer("c5.large", PRICE, HOUR, place=Place(image="ami-0000000f")), r"InvalidAMIID"),
        (
            Offer("c5.large", PRICE, HOUR, place=Place(image=IMAGE, region="nowhere 1")),
            "nowhere 1",
        ),
    ],
)
def test_what_ec2_does_not_know_is_reported_in_one_line(offer, complaint):
    with pytest.raises(Ec2Error, match=complaint) as reported:
        Ec2Api().check([offer])
    assert "\n" not in str(reported.value)


@pytest.mark.parametrize(
    ("place", "complaint"),
    [(None, "has no image"), (Place(image=IMAGE, setup="x" * 9_000), "more than 8,000 letters")],
)
def test_an_offer_that_cannot_be_rented_is_reported_before_the_run(place, complaint):
    market = Market("USD", "undated", (Offer("c5.large", PRICE, HOUR, place=place),))
    with pytest.raises(InputError, match=complaint):
        site_market(RunSite("ec2"), market)


def test_a_run_rents_in_two_regions_finds_its_machines_there_and_ends_them(desk, proxy, moto):
    far = Offer("far", PRICE, HOUR, place=Place(instance_type="c5.large", image=IMAGE, region=FAR))
    desk.market = Market("USD", "undated", (OFFER, far))
    desk.renter.close()
    desk.renter = desk.make_renter(desk.home.with_name("both"))
    desk.rent([1])
    desk.rent([2, 3], far)
    desk.hear(Up, [1, 2, 3])
    places = {one.machine: one.region for one in desk.api.describe(["", FAR], desk.mark, LIVING)}
    assert places == {1: "", 2: FAR, 3: FAR}
    again = desk.make_renter(desk.home.with_name("again"))
    assert sorted(one.machine for one in again.survey().found) == [1, 2, 3]
    again.release([1, 2, 3])
    again.close()
    assert not desk.api.describe(["", FAR], desk.mark, LIVING)
    abroad = make_client(moto.url, FAR)
    states = [
        one["State"]["Name"]
        for reservation in abroad.describe_instances()["Reservations"]
        for one in reservation["Instances"]
    ]
    assert states == ["terminated"] * 2


def test_where_there_are_no_credentials_that_is_said(monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(Ec2Error, match="no credentials were found"):
        Ec2Api().check([OFFER])


@pytest.mark.parametrize(
    ("stay", "late", "orders"),
    [
        (211, 0, ["-P +3"]),
        (211, 100, ["-P +1"]),
        (3600, 0, ["-P +59"]),
        (95, 20, ["-P now"]),  # it would be off after the end of its lease
        (211, -5000, ["-P +3"]),  # its clock is wrong
    ],
)
def test_a_machine_sets_its_switch_before_anything_else(tmp_path, stay, late, orders):
    """The switch fires before the end of the lease, and with the end of bursar's program."""
    script = user_data(
        Invitation("127.0.0.1:1", "none", "1-3", "secret"),
        stay * SECOND,
        time.time() - late,
        python="python-that-notes",
    )
    notes = tmp_path / "notes"
    for program in ("shutdown", "python-that-notes"):
        (tmp_path / program).write_text(f'#!/bin/sh\necho "{program} $*" >> {notes}\n')
        (tmp_path / program).chmod(0o700)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    subprocess.run(["sh", "-c", script], env=environment, check=False)
    noted = notes.read_text().splitlines()
    assert noted[0] == f"shutdown {orders[0]}"
    begun = ["python-that-notes -P -m bursar.execute.remote.enrol", "shutdown -P now"]
    assert noted[1:] == ([] if orders == ["-P now"] else begun)
