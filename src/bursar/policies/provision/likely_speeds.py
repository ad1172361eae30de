"""How fast offers are likely to be, before anything has run on them."""

from __future__ import annotations

from math import exp, log
from statistics import fmean
from typing import Final

from bursar.model.market import Market, Offer
from bursar.model.time import SECOND

BY_PRICE: Final = 0.5
"""Where nobody tells speeds, a slot of twice the price is believed to be faster by this power."""


def has_speeds(market: Market) -> bool:
    """Whether it tells them: where all are equal, nobody looked."""
    return len({offer.speed for offer in market.offers}) > 1


def are_in_doubt(market: Market) -> bool:
    """Whether an offer may be slower than others of its pool, and nobody tells."""
    pools = [offer.pool for offer in market.offers]
    return not has_speeds(market) and len(set(pools)) < len(pools)


def likely_speeds(market: Market) -> dict[str, float]:
    """Those that the market tells; else a slot that costs more is likely to be faster.

    What may be taken away is cheap for that, and not because it is slow: pools are alike.
    """
    offers = market.offers
    if has_speeds(market) or any(not offer.price.nanos for offer in offers):
        return {offer.name: offer.speed for offer in offers}
    logs = {offer.name: log(price_of_slot(offer)) for offer in offers}
    middle = {
        pool: fmean(logs[one.name] for one in offers if one.pool == pool)
        for pool in {offer.pool for offer in offers}
    }
    return {o.name: exp(BY_PRICE * (logs[o.name] - middle[o.pool])) for o in offers}


def price_of_slot(offer: Offer) -> float:
    """Billionths of the currency for a second."""
    return offer.price.nanos * SECOND / (offer.billing * offer.slots)
