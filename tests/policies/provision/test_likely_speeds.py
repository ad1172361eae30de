"""What is believed of speeds where nobody tells them."""

from __future__ import annotations

import pytest

from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR
from bursar.policies.provision.likely_speeds import are_in_doubt, likely_speeds


def speeds(*offers):
    return likely_speeds(Market("USD", "undated", offers))


def offer(name, price, pool="reliable"):
    return Offer(name, Money.parse(price), HOUR, pool=pool)


def test_a_slot_that_costs_more_is_likely_to_be_faster():
    found = speeds(offer("small", "0.10"), offer("large", "0.40"))
    assert found["large"] == pytest.approx(2 * found["small"])


def test_a_spot_machine_is_cheap_for_what_it_is_and_not_slow():
    found = speeds(offer("sure", "0.30"), offer("spot", "0.10", "unreliable"))
    assert found["spot"] == pytest.approx(found["sure"])


def test_speeds_are_in_doubt_where_there_is_a_choice_that_nobody_told_the_speeds_of():
    sure, other, spot = (
        offer("sure", "0.3"),
        offer("other", "0.2"),
        offer("spot", "0.1", "unreliable"),
    )
    fast = Offer("fast", Money.parse("0.5"), HOUR, speed=2.0)
    markets = [(sure, other), (sure, spot), (sure, other, spot), (sure, fast), (sure,)]
    doubts = [are_in_doubt(Market("USD", "undated", offers)) for offers in markets]
    assert doubts == [True, False, True, False, False]
