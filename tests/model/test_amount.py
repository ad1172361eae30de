"""Amounts and prices as people publish them."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.formats.market import parse_market
from bursar.model.amount import money_in, parse_amount, parse_rate
from bursar.model.errors import InputError
from bursar.model.money import NANOS, Money
from bursar.model.time import HOUR, MINUTE, SECOND


@pytest.mark.parametrize(
    ("text", "amount", "currency"),
    [
        ("5", "5", None),
        ("5 USD", "5", "USD"),
        ("5USD", "5", "USD"),
        ("USD 5", "5", "USD"),
        ("$5", "5", "USD"),
        ("$ 1,250.50", "1250.50", "USD"),
        ("5.00 EUR", "5", "EUR"),
        ("5€", "5", "EUR"),
        ("£.5", "0.5", "GBP"),
        ("$5 usd", "5", "USD"),
        ("-$2.50", "-2.5", "USD"),
        ("12 core hours", "12", "core hours"),
        ("1e3 EUR", "1000", "EUR"),
    ],
)
def test_an_amount_is_read_with_its_currency(text, amount, currency):
    found = parse_amount(text)
    assert found.money == Money.parse(amount)
    assert found.currency == currency


@pytest.mark.parametrize("text", ["", "USD", "5 5", "5,00 EUR", "$5 EUR", "five", "5 USD 5", "--5"])
def test_what_is_no_amount_is_refused_in_one_line(text):
    with pytest.raises(InputError) as refusal:
        parse_amount(text)
    assert str(refusal.value).isprintable()


def test_a_currency_must_be_that_of_the_market():
    assert money_in("USD", "5 usd") == money_in("USD", "5") == Money.parse(5)
    assert money_in("credits", "5 credits") == Money.parse(5)
    reported = "an amount in 'EUR', but the prices are in 'USD'; write it in that currency"
    with pytest.raises(InputError, match=reported):
        money_in("USD", "5.00 EUR")


@pytest.mark.parametrize(
    ("text", "amount", "per", "currency"),
    [
        ("0.0892/h", "0.0892", HOUR, None),
        ("0.0892 / hour", "0.0892", HOUR, None),
        ("$0.0892/h", "0.0892", HOUR, "USD"),
        ("0.0892 USD/h", "0.0892", HOUR, "USD"),
        ("€0.09 per Hour", "0.09", HOUR, "EUR"),
        ("0.0015/min", "0.0015", MINUTE, None),
        ("0.0000166667/s", "0.0000166667", SECOND, None),
        ("1,000/30min", "1000", 30 * MINUTE, None),
    ],
)
def test_a_price_for_some_time_is_exact(text, amount, per, currency):
    rate = parse_rate(text)
    assert (rate.amount, rate.per, rate.currency) == (Fraction(amount), per, currency)


@pytest.mark.parametrize(
    "text", ["/h", "x/h", "5/", "5/h/s", "5/0s", "5/fortnight", "-5/h", "1,5/h"]
)
def test_what_is_no_price_is_refused_in_one_line(text):
    with pytest.raises(InputError) as refusal:
        parse_rate(text)
    assert str(refusal.value).isprintable()


@given(
    st.integers(1, 10**12), st.sampled_from([SECOND, MINUTE, HOUR]), st.integers(1, 86_400 * SECOND)
)
def test_a_unit_is_never_cheaper_than_published_and_by_less_than_a_billionth_dearer(
    nano, per, unit
):
    rate = parse_rate(f"{Money(nano)}/{ {SECOND: 's', MINUTE: 'min', HOUR: 'h'}[per] }")
    published = Fraction(nano) * unit / per
    try:
        nanos = rate.for_unit(unit).nanos
    except InputError:
        assert published < 100 or published > 9 * 10**18
        return
    assert 0 <= nanos - published < 1


def test_a_market_has_prices_as_they_are_published():
    market = parse_market(
        '[[offer]]\nname = "a"\nprice = "$0.0892/h"\nbilling = "1s"\n'
        '[[offer]]\nname = "b"\nprice = "0.0892 USD per hour"\n'
        '[[offer]]\nname = "c"\nprice = "0.0015/min"\nbilling = "1h"\n'
    )
    assert [offer.price.nanos for offer in market.offers] == [24_778, 89_200_000, 90_000_000]
    published = Fraction("0.0892") * NANOS / 3600
    assert market["a"].charge(10 * HOUR).nanos - published * 36_000 < 36_000


def test_the_currency_of_a_market_is_that_of_its_prices():
    offers = '[[offer]]\nname = "a"\nprice = "€0.08/h"\n[[offer]]\nname = "b"\nprice = "0.1"\n'
    assert parse_market(offers).currency == "EUR"
    reported = r"offer 1 \('a'\): price: an amount in 'EUR', but the prices are in 'USD'"
    with pytest.raises(InputError, match=reported):
        parse_market('currency = "USD"\n' + offers)
    reported = r"offer 2 \('b'\): price: an amount in 'USD', but the prices are in 'EUR'"
    with pytest.raises(InputError, match=reported):
        parse_market(offers.replace('"0.1"', '"0.1 USD/h"'))


def test_a_price_that_billionths_cannot_tell_is_refused():
    offer = '[[offer]]\nname = "a"\nprice = "0.00001/h"\nbilling = "1ms"\n'
    with pytest.raises(InputError, match="price: is too little for a billing unit of 1 ms"):
        parse_market(offer)
