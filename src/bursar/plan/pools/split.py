"""The two pools of a market: all its unreliable offers, and one reliable offer beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import ceil

import msgspec

from bursar.model.errors import InputError
from bursar.model.market import Market, Offer, Pool
from bursar.model.money import Money
from bursar.model.time import Time


class SlotRate(msgspec.Struct, frozen=True):
    """What a slot costs for each period that is entered; a machine's price is shared by its slots.

    Rounded up to a billionth.
    """

    amount: Money
    period: Time


class PoolSizes(msgspec.Struct, frozen=True):
    """What is in each pool. A machine counts as many times as it has slots."""

    unreliable: int | None
    """at most; None: as many as one likes"""
    unreliable_rate: SlotRate
    reliable: int | None
    reliable_rate: SlotRate
    reliable_offer: str
    speedup: float
    """how many times faster a reliable machine is, by the speeds that the market tells"""


def unreliable_offers(market: Market) -> list[Offer]:
    return _available(market, "unreliable")


def two_pools(market: Market, reliable_offer: str | None = None) -> PoolSizes:
    """The pools of a market; the reliable one is where a task costs least, unless it is named.

    Several unreliable offers are one pool with their mean rate, each by its share of the machines,
    and the longest of their billing units.
    """
    unreliable = unreliable_offers(market)
    if not unreliable:
        raise InputError('the market has no unreliable offer; add pool = "unreliable" to one')
    chosen = _chosen(market, reliable_offer)
    return PoolSizes(
        unreliable=_slots(unreliable),
        unreliable_rate=_mean_rate(unreliable),
        reliable=_slots([chosen]),
        reliable_rate=_mean_rate([chosen]),
        reliable_offer=chosen.name,
        speedup=float(_speed([chosen]) / _speed(unreliable)),
    )


def _chosen(market: Market, name: str | None) -> Offer:
    if name is not None:
        offer = market[name]
        if offer.pool != "reliable":
            raise InputError(f"the offer '{name}' is unreliable; name a reliable one")
        if offer.limit == 0:
            raise InputError(f"the offer '{name}' has a limit of 0 machines; name another one")
        return offer
    offers = _available(market, "reliable")
    if not offers:
        raise InputError("the market has no reliable offer; add one for what fails elsewhere")
    return min(offers, key=lambda offer: _rate(offer) / Fraction(offer.speed))


def _available(market: Market, pool: Pool) -> list[Offer]:
    return [offer for offer in market.offers if offer.pool == pool and offer.limit != 0]


def _slots(offers: Sequence[Offer]) -> int | None:
    if any(offer.limit is None for offer in offers):
        return None
    return sum((offer.limit or 0) * offer.slots for offer in offers)


def _shares(offers: Sequence[Offer]) -> list[Fraction]:
    """Each offer's share of the pool's slots; equal shares where there is no limit."""
    whole = _slots(offers)
    if whole is None:
        return [Fraction(1, len(offers))] * len(offers)
    return [Fraction((offer.limit or 0) * offer.slots, whole) for offer in offers]


def _rate(offer: Offer) -> Fraction:
    """Billionths for a microsecond of a slot."""
    return Fraction(offer.price.nanos, offer.billing * offer.slots)


def _mean_rate(offers: Sequence[Offer]) -> SlotRate:
    period = max(offer.billing for offer in offers)
    parts = zip(offers, _shares(offers), strict=True)
    return SlotRate(
        Money(ceil(period * sum(share * _rate(offer) for offer, share in parts))), period
    )


def _speed(offers: Sequence[Offer]) -> Fraction:
    parts = zip(offers, _shares(offers), strict=True)
    return sum((share * Fraction(offer.speed) for offer, share in parts), Fraction(0))


def by_price(offers: Iterable[Offer]) -> list[Offer]:
    """The cheapest first, for the work that they do."""
    return sorted(offers, key=lambda one: float(one.price) / one.billing / one.speed)
