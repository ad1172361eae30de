"""What the two pools of a market cost, as the estimator takes it."""

from __future__ import annotations

import msgspec

from bursar.model.market import Market
from bursar.plan.pools.estimator import Price
from bursar.plan.pools.split import SlotRate, two_pools


def prices_of(market: Market, unreliable: int) -> tuple[Price, Price, float, float]:
    """Prices of both pools, with the ratio of their sizes and of their speeds."""
    has_reliable = any(one.pool == "reliable" and one.limit != 0 for one in market.offers)
    offers = market.offers
    if not has_reliable:  # what is never used may cost what it likes
        offers = (*offers, msgspec.structs.replace(offers[0], name="-", pool="reliable", limit=1))
    pools = two_pools(Market(market.currency, market.date, offers))
    most = unreliable if pools.reliable is None else pools.reliable
    ratio = min(1.0, most / unreliable) if has_reliable else 0.0
    return _price(pools.unreliable_rate), _price(pools.reliable_rate), ratio, pools.speedup


def _price(rate: SlotRate) -> Price:
    return Price(rate.amount, rate.period)
