"""Fleets are written `small=10,large=3` and stay within the market's limits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.model.errors import InputError
from bursar.model.fleet import format_fleet, parse_fleet
from bursar.model.market import Market, Offer
from bursar.model.money import Money

MARKET = Market("USD", "undated", (Offer("small", Money(1)), Offer("large", Money(4), limit=5)))


@given(st.integers(0, 10**9 - 1), st.integers(0, 5))
def test_a_fleet_is_read_as_it_is_written(small, large):
    text = f" small = {small},large={large}"
    if small or large:
        assert parse_fleet(text, MARKET) == {"small": small, "large": large}
    else:
        with pytest.raises(InputError, match="the fleet has no machine"):
            parse_fleet(text, MARKET)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' is not part of a fleet; write small=10,large=3"),
        ("small", "'small' is not part of a fleet"),
        ("small=", "'small=' is not part of a fleet"),
        ("small=-1", "'small=-1' is not part of a fleet"),
        ("small=1.5", "'small=1.5' is not part of a fleet"),
        pytest.param("small=" + "9" * 5000, "is not part of a fleet", id="vast"),
        ("small=²", "is not part of a fleet"),
        ("small=1,,large=1", "'' is not part of a fleet"),
        ("tiny=1", "no offer 'tiny' in the market; it has small, large"),
        ("small=1,small=2", "the fleet names 'small' twice"),
        ("large=6", "6 large: the market's limit is 5"),
        ("small=0", "the fleet has no machine"),
    ],
)
def test_a_mistake_is_reported_in_one_line(text, message):
    with pytest.raises(InputError) as refusal:
        parse_fleet(text, MARKET)
    assert message in str(refusal.value)
    assert len(str(refusal.value)) < 150


def test_a_fleet_is_printed_without_the_offers_it_does_not_use():
    assert format_fleet({"small": 10, "medium": 0, "large": 3}) == "10 small + 3 large"
    assert format_fleet({}) == "no machines"
