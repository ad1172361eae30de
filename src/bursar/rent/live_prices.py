"""Prices as Amazon says they are now: its price list, and what spot machines cost.

The price list is one service for all regions. The price of a spot machine is the highest of the
region's zones, since it may be rented in any of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

from bursar.rent.catalogue import Catalogue, PricedMachine
from bursar.rent.ec2_api import Ec2Api, asked_pages

PRICE_LIST_REGION: Final = "us-east-1"
"""where the price list is served, for all regions"""
PLAIN: Final = {
    "operatingSystem": "Linux",
    "tenancy": "Shared",
    "preInstalledSw": "NA",
    "capacitystatus": "Used",
    "marketoption": "OnDemand",
}
"""what is on sale there is much; this is a plain machine by the hour"""


def ask_prices(region: str, *, spot: bool, api: Ec2Api | None = None) -> Catalogue:
    """All types of a region, now."""
    api = api or Ec2Api()
    machines = {one.type: one for one in _on_demand(api, region)}
    found = list(machines.values())
    if spot:
        for name, price in _spot_prices(api, region).items():
            if name in machines:
                plain = machines[name]
                found.append(
                    PricedMachine(name, region, plain.cpus, plain.memory, price, is_spot=True)
                )
    return Catalogue("ec2", "Amazon", datetime.now(UTC).date(), found)


def _on_demand(api: Ec2Api, region: str) -> Iterator[PricedMachine]:
    client = api.client(PRICE_LIST_REGION, service="pricing")
    request = {**PLAIN, "regionCode": region}
    filters = [{"Type": "TERM_MATCH", "Field": k, "Value": v} for k, v in request.items()]
    pages = client.get_paginator("get_products")
    for page in asked_pages(pages.paginate(ServiceCode="AmazonEC2", Filters=filters)):
        for text in page["PriceList"]:
            machine = _listed(json.loads(text), region)
            if machine is not None:
                yield machine


def _listed(product: Mapping[str, Any], region: str) -> PricedMachine | None:
    """None: it is no machine, such as a fee."""
    attributes = product["product"]["attributes"]
    terms = product.get("terms", {}).get("OnDemand", {}).values()
    prices = [
        Decimal(part["pricePerUnit"].get("USD", "0"))
        for term in terms
        for part in term["priceDimensions"].values()
        if part["unit"] == "Hrs"
    ]
    memory = str(attributes.get("memory", "")).removesuffix(" GiB").replace(",", "")
    try:
        cpus, gibibytes = int(attributes["vcpu"]), Decimal(memory)
    except (KeyError, ValueError, ArithmeticError):
        return None
    price = max(prices, default=Decimal(0))
    return PricedMachine(attributes["instanceType"], region, cpus, gibibytes, price)


def _spot_prices(api: Ec2Api, region: str) -> dict[str, Decimal]:
    """The highest price of now, over zones, of each type."""
    pages = api.client(region).get_paginator("describe_spot_price_history")
    request = {"ProductDescriptions": ["Linux/UNIX"], "StartTime": datetime.now(UTC)}
    found: dict[str, Decimal] = {}
    for page in asked_pages(pages.paginate(**request)):
        for one in page["SpotPriceHistory"]:
            price = Decimal(one["SpotPrice"])
            found[one["InstanceType"]] = max(price, found.get(one["InstanceType"], Decimal(0)))
    return found
