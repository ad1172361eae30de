"""`bursar offers`: what can be rented, and a market file of what a cloud rents out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import rich_click as click

from bursar.cli.common import print_json, print_line, print_table, say
from bursar.cli.numbers import Number, Whole
from bursar.cli.options import MACHINES, json_option, market_option, option, settings, together
from bursar.formats.market import parse_market, read_market
from bursar.model.errors import InputError, instead_of, shown
from bursar.model.market import Offer
from bursar.model.money import format_money
from bursar.model.text import counted
from bursar.model.time import format_duration
from bursar.rent.local import local_market
from bursar.report.summary import prices_text

_catalogue_options = together(
    option(MACHINES, "--cloud", metavar="NAME", help="Write a market file: ec2 or gce."),
    option(
        MACHINES,
        "--region",
        metavar="NAME",
        help="Region of the cloud (default: us-east-1 or us-central1).",
    ),
    option(MACHINES, "--cpus", type=Whole(1), metavar="N", help="At least so many vCPUs."),
    option(
        MACHINES,
        "--memory",
        type=Number(0, 1e6),
        metavar="GIB",
        help="At least so many GiB of memory.",
    ),
    option(MACHINES, "--spot", is_flag=True, help="Spot machines, too, where prices are known."),
    option(MACHINES, "--limit", type=Whole(1), metavar="N", help="Rent at most N of each."),
    option(MACHINES, "--image", metavar="AMI", help="Image of the machines, for --on ec2."),
    option(
        MACHINES,
        "--prices",
        metavar="FILE",
        help="Prices in the format of apache-libcloud (default: those that come with it).",
    ),
    option(MACHINES, "--live", is_flag=True, help="Ask Amazon for prices of now (ec2 alone)."),
)


@click.command(context_settings=settings)
@click.argument("pattern", required=False)
@market_option
@_catalogue_options
@json_option
def command(
    pattern: str | None, market: str | None, cloud: str | None, as_json: bool, **wishes: Any
) -> None:
    """Show the offers of a market, with prices, billing and limits.

    With --cloud, write a market file of what a cloud rents out: all types that PATTERN matches,
    such as 'c7*', cheapest first.
    """
    if cloud is not None:
        _write_catalogue(cloud, pattern, market, as_json, **wishes)
        return
    given = [name for name, value in wishes.items() if value]
    if pattern is not None or given:
        raise InputError(
            f"{shown(pattern) if pattern else f'--{given[0]}'} is for the machines of a cloud: add"
            " --cloud ec2 or --cloud gce"
        )
    known = local_market() if market is None else read_market(market)
    if as_json:
        print_json(known)
        return
    columns = ("offer", "price", "per", "minimum", "limit", "boot", "slots", "speed", "pool")
    print_table(
        columns,
        (_row(offer, known.currency) for offer in known.offers),
        right="price per minimum limit boot slots speed",
    )
    say(f"{prices_text(known)}.")


def _write_catalogue(
    cloud: str,
    pattern: str | None,
    market: str | None,
    as_json: bool,
    *,
    region: str | None,
    cpus: int | None,
    memory: float | None,
    spot: bool,
    limit: int | None,
    image: str | None,
    prices: str | None,
    live: bool,
) -> None:
    """The market file on stdout; what to know of it on stderr."""
    from datetime import UTC, datetime
    from decimal import Decimal

    from bursar.rent.catalogue import CLOUDS, MachineFilter, age_text, chosen, market_text

    if cloud not in CLOUDS:
        raise InputError(f"--cloud {shown(cloud)} is not known; {instead_of(cloud, CLOUDS)}")
    if market is not None:
        raise InputError("--market shows a market file, --cloud writes one: leave one of them out")
    if live and (cloud != "ec2" or prices is not None):
        raise InputError("--live asks Amazon: leave it out for gce and with --prices")
    place = region or {"ec2": "us-east-1", "gce": "us-central1"}[cloud]
    if live:
        from bursar.rent.live_prices import ask_prices

        catalogue = ask_prices(place, spot=spot)
    else:
        from bursar.rent.price_files import read_prices

        catalogue = read_prices(cloud, place, None if prices is None else Path(prices))
    least = Decimal(str(memory or 0))
    filter_ = MachineFilter(pattern or "*", cpus or 1, least, spot)
    machines = chosen(catalogue, filter_, lambda note: say(f"bursar: {note}"))
    text = market_text(catalogue, machines, limit=limit, image=image or "")
    if as_json:
        print_json(parse_market(text))
    else:
        for line in text.splitlines():
            print_line(line)
    note = age_text(catalogue, datetime.now(UTC).date())
    say(f"{counted(len(machines), 'offer')} of {cloud} in {place}; {note}.")


def _row(offer: Offer, currency: str) -> tuple[str, ...]:
    return (
        offer.name,
        format_money(offer.price, currency),
        format_duration(offer.billing),
        format_duration(offer.minimum) if offer.minimum else "-",
        "none" if offer.limit is None else str(offer.limit),
        format_duration(offer.boot) if offer.boot else "-",
        str(offer.slots),
        f"{offer.speed:g}",
        offer.pool,
    )
