"""Prices of clouds: from files with their dates, or live; what has no price is left out."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from types import SimpleNamespace

import pytest

pytest.importorskip("libcloud", reason="apache-libcloud is not installed: bursar[aws]")

from bursar.formats.market import parse_market
from bursar.model.errors import InputError
from bursar.model.money import Money
from bursar.model.time import MINUTE, SECOND
from bursar.rent.catalogue import MachineFilter, age_text, chosen, market_text
from bursar.rent.live_prices import ask_prices
from bursar.rent.price_files import read_prices

CPU, RAM = ({"price": 0.03}, {"price": 0.004})
SPOT_CPU, SPOT_RAM = ({"price": 0.01}, {"price": 0.001})
SERIES = {
    "cpu": {"on_demand": {"us-central1": CPU}, "preemptible": {"us-central1": SPOT_CPU}},
    "ram": {"on_demand": {"us-central1": RAM}, "preemptible": {"us-central1": SPOT_RAM}},
}
PRICES = {
    "updated": 1740936978,
    "compute": {
        "ec2_linux": {
            "c5.large": {"us-east-1": 0.085, "us-east-2": 0.0},
            "c5.xlarge": {"us-east-1": 0.17, "us-east-2": 0.17},
            "m5.large": {"us-east-1": 0.096},
            "c5": {"us-east-1": 3.9},
        },
        "gce_instances": dict.fromkeys(("n1", "n2", "n2d", "e2", "c2"), SERIES),
    },
}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "prices.json"
    path.write_text(json.dumps(PRICES))
    return path


def names(catalogue, reports=None, **wishes):
    reported = [] if reports is None else reports
    return [one.name for one in chosen(catalogue, MachineFilter(**wishes), reported.append)]


def test_types_are_chosen_by_pattern_processors_and_memory_and_the_cheapest_is_first(file):
    catalogue = read_prices("ec2", "us-east-1", file)
    assert names(catalogue) == ["c5.large", "m5.large", "c5.xlarge"]
    assert names(catalogue, pattern="c5*") == ["c5.large", "c5.xlarge"]
    assert names(catalogue, cpus=4) == ["c5.xlarge"]
    assert names(catalogue, memory=Decimal(8)) == ["m5.large", "c5.xlarge"]


def test_a_price_of_zero_is_refused_and_said(file):
    catalogue, reports = read_prices("ec2", "us-east-2", file), []
    assert names(catalogue, reports) == ["c5.xlarge"]
    assert reports == [f"left out 1 machine for which {file} has no price"]
    with pytest.raises(InputError, match="no price for 1 machine like"):
        names(catalogue, pattern="c5.large")


def test_old_prices_are_called_old(file):
    catalogue = read_prices("ec2", "us-east-1", file)
    assert catalogue.date == date(2025, 3, 2)
    assert "days old" not in age_text(catalogue, date(2025, 3, 20))
    assert age_text(catalogue, date(2025, 4, 11)).endswith("40 days old, check them")


def test_a_machine_of_gce_costs_what_its_processors_and_memory_cost(file):
    catalogue = read_prices("gce", "us-central1", file)
    found = {one.name: one.price for one in catalogue.machines}
    assert found["n2-standard-4"] == Decimal("0.184")
    assert found["n2-standard-4-spot"] == Decimal("0.056")
    assert "n2-standard-4-spot" not in names(catalogue, pattern="n2-*")
    assert "n2-standard-4-spot" in names(catalogue, pattern="n2-*", spot=True)


def test_what_is_written_is_a_market_that_can_be_rented(file):
    catalogue = read_prices("ec2", "us-east-1", file)
    machines = chosen(catalogue, MachineFilter("c5.large"), print)
    (offer,) = parse_market(market_text(catalogue, machines, limit=7, image="ami-1")).offers
    assert (offer.name, offer.slots, offer.limit) == ("c5.large", 2, 7)
    assert (offer.billing, offer.minimum) == (SECOND, MINUTE)
    assert offer.price == Money.parse("0.000023612"), "rounded up to a billionth"
    assert (offer.place.region, offer.place.image) == ("us-east-1", "ami-1")


@pytest.mark.parametrize(
    ("region", "complaint"), [("us-east", "did you mean 'us-east-[12]'"), ("x", "known: us-east-1")]
)
def test_an_unknown_region_is_reported_with_those_that_are_known(file, region, complaint):
    with pytest.raises(InputError, match=complaint):
        read_prices("ec2", region, file)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"updated": 1, "compute": []}'])
def test_a_file_that_holds_no_prices_is_reported_in_one_line(tmp_path, text):
    path = tmp_path / "prices.json"
    path.write_text(text)
    with pytest.raises(InputError, match="cannot be read as prices"):
        read_prices("ec2", "us-east-1", path)
    with pytest.raises(InputError, match="No such file"):
        read_prices("ec2", "us-east-1", tmp_path / "missing")


def test_the_file_that_comes_with_libcloud_can_be_read():
    for cloud, region in (("ec2", "us-east-1"), ("gce", "us-central1")):
        catalogue = read_prices(cloud, region)
        found = names(catalogue, spot=True)
        assert len(found) > 50
        assert all(one.cpus > 0 and one.memory > 0 for one in catalogue.machines)


class LivePrices:
    """Answers of Amazon, as its documentation has them."""

    def client(self, region, service="ec2"):
        answers = {"get_products": self.products(), "describe_spot_price_history": self.history()}

        def paginator(name):
            return SimpleNamespace(paginate=lambda **wishes: [answers[name]])

        return SimpleNamespace(get_paginator=paginator)

    def products(self):
        attributes = {"instanceType": "c7i.large", "vcpu": "2", "memory": "4 GiB"}
        dimension = {"unit": "Hrs", "pricePerUnit": {"USD": "0.0892500000"}}
        terms = {"OnDemand": {"X.Y": {"priceDimensions": {"X.Y.Z": dimension}}}}
        machine = {"product": {"attributes": attributes}, "terms": terms}
        fee = {"product": {"attributes": {"instanceType": "none"}}, "terms": terms}
        return {"PriceList": [json.dumps(machine), json.dumps(fee)]}

    def history(self):
        zones = [("c7i.large", "0.031"), ("c7i.large", "0.042"), ("t2.nano", "0.001")]
        return {"SpotPriceHistory": [{"InstanceType": t, "SpotPrice": p} for t, p in zones]}


def test_live_prices_are_those_of_the_price_list_and_of_the_dearest_zone():
    catalogue = ask_prices("us-east-1", spot=True, api=LivePrices())
    found = {one.name: one.price for one in catalogue.machines}
    assert found == {"c7i.large": Decimal("0.08925"), "c7i.large-spot": Decimal("0.042")}
    spot = market_text(catalogue, chosen(catalogue, MachineFilter(spot=True), print))
    offers = parse_market(spot).offers
    assert [(one.name, one.pool) for one in offers] == [
        ("c7i.large-spot", "unreliable"),
        ("c7i.large", "reliable"),
    ]
    assert offers[0].place.instance_type == "c7i.large"
