"""Markets: how offers are charged, and how a market file is read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.formats.market import parse_market, read_market
from bursar.model.errors import InputError
from bursar.model.market import Offer
from bursar.model.money import ZERO, Money
from bursar.model.time import DAY, HOUR, MINUTE, SECOND

times = st.integers(0, 400 * DAY)
offers = st.builds(
    Offer,
    name=st.just("x"),
    price=st.integers(0, 10**12).map(Money),
    billing=st.integers(1, 60 * DAY),
    minimum=times,
)


@given(offers, times, times)
def test_a_longer_stay_never_costs_less(offer, stay, longer):
    assert offer.charge(stay) <= offer.charge(stay + longer)


@given(offers, times)
def test_what_is_paid_for_covers_the_stay_and_the_minimum(offer, stay):
    assert offer.paid_for(stay) >= max(stay, offer.minimum, 1)


@given(offers, times)
def test_staying_to_the_end_of_what_is_paid_costs_nothing_more(offer, stay):
    assert offer.charge(offer.paid_for(stay)) == offer.charge(stay)
    assert offer.units(offer.paid_for(stay) + 1) == offer.units(stay) + 1


@given(offers, times)
def test_no_stay_costs_less_than_the_entry(offer, stay):
    assert offer.charge(stay) >= offer.entry_charge >= offer.price
    assert offer.charge(stay) == offer.price * offer.units(stay)


def test_a_unit_is_charged_when_it_is_entered():
    offer = Offer("x", Money.parse("0.10"), billing=HOUR)
    assert offer.units(0) == 1
    assert offer.units(HOUR) == 1
    assert offer.units(HOUR + 1) == 2
    assert str(offer.charge(HOUR + 1)) == "0.20"


def test_the_minimum_is_charged_however_short_the_stay():
    offer = Offer("x", Money(1), billing=SECOND, minimum=MINUTE)
    assert offer.charge(SECOND) == Money(60)
    assert offer.charge(61 * SECOND) == Money(61)


# --- files ---------------------------------------------------------------------------------------

EXAMPLE = """
currency = "EUR"
date = 2012-09-21

[[offer]]
name = "m1.small"
price = "0.08"
billing = "1h"
minimum = "2h"
limit = 20
boot = "90s"
slots = 2
speed = 1.5
pool = "unreliable"

[[offer]]
name = "plain"
price = 0.1

[[offer]]
name = "own"
billing = "free"
"""


def test_a_market_file_says_everything_about_its_offers():
    market = parse_market(EXAMPLE)
    assert (market.currency, market.date) == ("EUR", "2012-09-21")
    assert market["m1.small"] == Offer(
        "m1.small",
        Money.parse("0.08"),
        billing=HOUR,
        minimum=2 * HOUR,
        limit=20,
        boot=90 * SECOND,
        slots=2,
        speed=1.5,
        pool="unreliable",
    )
    assert market["plain"] == Offer("plain", Money(100_000_000))
    assert market["own"].price == ZERO
    assert "own" in market
    assert "huge" not in market


def test_a_market_says_what_its_cheapest_machine_costs():
    market = parse_market(EXAMPLE)
    assert market.cheapest_entry == ZERO
    assert not market.is_free
    assert parse_market('[[offer]]\nname = "own"\nbilling = "free"').is_free


def test_an_unknown_offer_is_answered_with_those_there_are():
    with pytest.raises(InputError, match=r"no offer 'huge' in the market; it has m1\.small, plain"):
        parse_market(EXAMPLE)["huge"]


def test_a_market_file_is_read_from_disk_and_named_in_mistakes(tmp_path):
    path = tmp_path / "ec2.toml"
    path.write_bytes(b"\xef\xbb\xbf" + EXAMPLE.encode())
    assert read_market(path) == parse_market(EXAMPLE)
    path.write_text("[[offer]]\nname = 'x'\n")
    with pytest.raises(InputError, match=r"ec2\.toml: offer 1 \('x'\): has no price"):
        read_market(path)
    with pytest.raises(InputError, match=r"none\.toml: cannot read the market file"):
        read_market(tmp_path / "none.toml")


def offer_text(**changes):
    values = {"name": '"x"', "price": '"0.10"', **changes}
    lines = (f"{key} = {value}" for key, value in values.items() if value is not None)
    return "[[offer]]\n" + "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "market: no [[offer]] table"),
        ("offer = []", "market: no [[offer]] table"),
        ("offer = 3", "market: no [[offer]] table"),
        ("offer = [3]", "offer 1: must be a table"),
        ("[offer]\nname = 'x'", "market: no [[offer]] table"),
        ("offers = 1", "unknown key 'offers'; did you mean 'offer'?"),
        ("colour = 1", "unknown key 'colour'; known: currency, date, offer"),
        ("x = ", "not valid TOML: Invalid value (at end of document)"),
        ("x = " + "[" * 100_000, "not valid TOML: nested too deeply"),
        ("x = " + "9" * 5000, "not valid TOML: Exceeds the limit"),
        ("\0", "not valid TOML"),
        (offer_text(name=None), "offer 1: has no name"),
        (offer_text(name='""'), "offer 1: has no name"),
        (offer_text(name="3"), "offer 1: has no name"),
        (offer_text(name='"a b"'), "name 'a b' may contain only letters, digits"),
        (offer_text(name='"a\\nb"'), r"name 'a\nb' may contain only"),
        (offer_text(name='"a=1,b"'), "name 'a=1,b' may contain only"),
        (offer_text(pric="1"), "offer 1 ('x'): unknown key 'pric'; did you mean 'price'?"),
        (offer_text(price=None), "offer 1 ('x'): has no price"),
        (offer_text(price='"-0.10"'), "price: -0.10 is negative"),
        (offer_text(price="true"), "price: must be an amount"),
        (offer_text(price="nan"), "price: 'NaN' is not an amount"),
        (offer_text(price="inf"), "price: 'Infinity' is not an amount"),
        (offer_text(price="1e400"), "price: '1E+400' is more than 9,000,000,000"),
        (offer_text(price="0." + "1" * 30), "has more than nine decimals"),
        (offer_text(price="1979-05-27"), "price: must be an amount"),
        (
            offer_text(price="0x" + "f" * 5000),
            "price: a number of very many digits is not an amount",
        ),
        (offer_text(price='"1"', billing='"free"'), "price 1.00, but billing is free"),
        (offer_text(billing='"0s"'), "billing: '0s' is too short"),
        (offer_text(billing='"0.1us"'), "billing: '0.1us' is too short"),
        (offer_text(billing="3600"), "billing: must be a duration with its unit"),
        (offer_text(billing="[]"), "billing: must be a duration with its unit"),
        (offer_text(billing='"1' + "0" * 400 + 'h"'), "billing: "),
        (offer_text(boot='"-1s"'), "boot: '-1s' is not a duration"),
        (offer_text(minimum="07:32:00"), "minimum: must be a duration"),
        (offer_text(limit="-1"), "limit: must be a whole number from 0"),
        (offer_text(limit="1.5"), "limit: must be a whole number"),
        (offer_text(limit="true"), "limit: must be a whole number"),
        (offer_text(limit="9223372036854775807"), "limit: must be a whole number"),
        (offer_text(slots="0"), "slots: must be a whole number from 1 to 10,000"),
        (offer_text(slots="1000000000"), "slots: must be a whole number from 1 to 10,000"),
        (offer_text(speed="0"), "speed: must be a number from"),
        (offer_text(speed="-1.0"), "speed: must be a number from"),
        (offer_text(speed="nan"), "speed: must be a number from"),
        (offer_text(speed="inf"), "speed: must be a number from"),
        (offer_text(speed="0x" + "f" * 5000), "speed: must be a number from"),
        (offer_text(speed='"fast"'), "speed: must be a number from"),
        (offer_text(pool='"spot"'), "pool: 'spot' must be reliable or unreliable"),
        (offer_text(pool="[1, 2]"), "pool: 'a table or list' must be"),
        (offer_text() + "\n" + offer_text(), "two offers are named 'x'; rename one"),
        ("currency = ' '\n" + offer_text(), "currency: must be text"),
        ("currency = 3\n" + offer_text(), "currency: must be text"),
        ('currency = "\\u001b[31m"\n' + offer_text(), "currency: "),
        ("date = [1]\n" + offer_text(), "date: must be text"),
        ("date = 3\n" + offer_text(), "date: must be text"),
    ],
    ids=lambda value: value[-40:],
)
def test_a_mistake_is_reported_in_one_line_that_says_where(text, message):
    with pytest.raises(InputError) as refusal:
        parse_market(text)
    assert message in str(refusal.value)
    assert str(refusal.value).isprintable()
    assert len(str(refusal.value)) < 250
