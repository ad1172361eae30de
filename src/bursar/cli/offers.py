"""`bursar offers`: what can be rented."""

from __future__ import annotations

import rich_click as click

from bursar.cli.common import print_json, print_table, say
from bursar.cli.options import json_option, market_option, settings
from bursar.formats.market import read_market
from bursar.model.market import Offer
from bursar.model.money import format_money
from bursar.model.time import format_duration
from bursar.rent.local import local_market
from bursar.report.summary import prices_told


@click.command(context_settings=settings)
@market_option
@json_option
def command(market: str | None, as_json: bool) -> None:
    """Show the offers of a market, with prices, billing and limits."""
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
    say(f"{prices_told(known)}.")


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
