"""Dear machines that are given up, so that their money pays more machines that cost less.

Where a budget per interval is spent on few dear machines, because no others were free when they
were rented, they stay as long as they are busy, and nothing cheaper can be paid. What runs on one
that is given up begins again elsewhere, so that is done only at the end of its paid time, and if
the machines that come in its place do more work in an interval than it would, and than is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import Time
from bursar.state.view import Machine, View


class CheaperFleet(msgspec.Struct, frozen=True):
    """The fleet that can be paid, and the busy machines that leave for it."""

    fleet: dict[str, int]
    given_up: frozenset[int] = frozenset()


def cheaper_instead(
    view: View,
    now: Time,
    machines: Iterable[Machine],
    wanted: Mapping[str, int],
    payable: Mapping[str, int],
    interval: Time,
) -> CheaperFleet:
    """`payable` with as many cheap machines of those wanted as dear ones pay that leave now."""
    fleet, gone = dict(payable), set[int]()
    ending = [one for one in machines if one.attempts and one.until <= now and not one.leaving]
    for machine in sorted(
        ending, key=lambda one: (-_stay(one.offer, interval), _lost(one, view, now))
    ):
        offer = _cheapest_lacking(view.market, wanted, fleet, interval)
        if offer is None:
            break
        price = _stay(offer, interval)
        lacking = wanted[offer.name] - fleet.get(offer.name, 0)
        count = min(lacking, _stay(machine.offer, interval) // price if price else lacking)
        works = max(0, interval - view.boot_time(offer, now)) * count * _rate(offer)
        here = interval + _lost(machine, view, now) / machine.offer.slots
        if works > here * _rate(machine.offer):
            fleet[machine.offer.name] -= 1
            fleet[offer.name] = fleet.get(offer.name, 0) + count
            gone.add(machine.id)
    return CheaperFleet(fleet, frozenset(gone))


def _stay(offer: Offer, interval: Time) -> int:
    """What a machine costs for an interval, in billionths."""
    cost: Money = offer.charge(interval)
    return cost.nanos


def _rate(offer: Offer) -> float:
    """Work that all slots of a machine do in a unit of time."""
    return offer.slots * offer.speed


def _lost(machine: Machine, view: View, now: Time) -> Time:
    """How long what runs on a machine has run."""
    return sum(now - view.attempts[one].started for one in machine.attempts)


def _cheapest_lacking(
    market: Market, wanted: Mapping[str, int], fleet: Mapping[str, int], interval: Time
) -> Offer | None:
    """The offer of which more is wanted than can be paid that costs least; None: there is none."""
    lacking = [o for o in market.offers if wanted.get(o.name, 0) > fleet.get(o.name, 0)]
    return min(lacking, key=lambda one: _stay(one, interval) / _rate(one), default=None)
