"""Money is exact, whatever it is read from and however often it is added."""

from __future__ import annotations

import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.model.errors import InputError
from bursar.model.money import LARGEST, NANOS, ZERO, Money, format_money, format_shortfall

amounts = st.integers(-LARGEST, LARGEST).map(Money)
times = st.integers(-(10**6), 10**6)


@given(amounts)
def test_an_amount_is_read_back_from_its_own_text(amount):
    assert Money.parse(str(amount)) == amount


@given(amounts, amounts, amounts, times, times)
def test_sums_and_multiples_obey_the_laws_of_whole_numbers(a, b, c, n, m):
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a
    assert a + b - b == a
    assert a * n + a * m == a * (n + m)
    assert n * (a + b) == a * n + b * n
    assert a + ZERO == a


@given(amounts, amounts)
def test_amounts_are_ordered_as_their_values(a, b):
    assert (a < b, a <= b, a > b, a >= b, a == b) == (
        a.nanos < b.nanos,
        a.nanos <= b.nanos,
        a.nanos > b.nanos,
        a.nanos >= b.nanos,
        a.nanos == b.nanos,
    )


@given(amounts, st.integers(1, LARGEST).map(Money))
def test_a_price_is_contained_as_often_as_it_can_be_paid(amount, price):
    count = amount // price
    assert price * count <= amount < price * (count + 1)


@given(
    st.decimals(
        allow_nan=False, allow_infinity=False, places=9, min_value=-(10**9), max_value=10**9
    )
)
def test_a_decimal_is_read_exactly(value):
    assert Fraction(Money.parse(value).nanos, NANOS) == Fraction(value)


@given(st.decimals(allow_nan=False, allow_infinity=False))
def test_any_decimal_is_read_exactly_or_refused(value):
    try:
        amount = Money.parse(value)
    except InputError:
        fits = abs(value) <= LARGEST // NANOS and Fraction(value) * NANOS % 1 == 0
        assert not fits
    else:
        assert Fraction(amount.nanos, NANOS) == Fraction(value)


@pytest.mark.parametrize(
    ("text", "nanos"),
    [
        ("2.50", 2_500_000_000),
        (" $2.50 ", 2_500_000_000),
        ("€3", 3_000_000_000),
        ("-£1", -1_000_000_000),
        ("+.5", 500_000_000),
        ("5.", 5_000_000_000),
        ("1,250,000.10", 1_250_000_100_000_000),
        ("1_000", 1_000_000_000_000),
        ("0.000000001", 1),
        ("1e-9", 1),
        ("25E-1", 2_500_000_000),
        ("0e9999", 0),
        pytest.param("0" * 5000 + "7", 7_000_000_000, id="leading zeros"),
        pytest.param("1." + "0" * 5000, 1_000_000_000, id="trailing zeros"),
        (0.1, 100_000_000),
        (Decimal("0.08"), 80_000_000),
        (12, 12_000_000_000),
        ("9000000000", LARGEST),
    ],
)
def test_amounts_are_written_in_the_usual_ways(text, nanos):
    assert Money.parse(text).nanos == nanos


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-",
        "$",
        ".",
        "two",
        "2,50",
        "1,2,3",
        "12,34",
        "1 000",
        "0x10",
        "nan",
        "inf",
        "-Infinity",
        "1e400",
        "1e99999999999",
        "1e-999999999",
        "9000000000.000000001",
        "0.0000000001",
        "1.0000000000000000000000000000000001",
        pytest.param("9" * 5000, id="long"),
        "1_",
        "1__0",
        "٣",
        "$-5",
        "2.50\n3",
        pytest.param(10**5000, id="vast"),
        float("nan"),
        Decimal("sNaN"),
    ],
)
def test_anything_else_is_refused_in_one_short_line(text):
    with pytest.raises(InputError) as refusal:
        Money.parse(text)
    assert str(refusal.value).isprintable()
    assert len(str(refusal.value)) < 150


def test_a_decimal_comma_is_never_read_as_thousands():
    with pytest.raises(
        InputError, match=r"'2,50' is not an amount of money; write for example 2\.50"
    ):
        Money.parse("2,50")


def test_money_is_multiplied_by_whole_numbers_only():
    with pytest.raises(TypeError):
        Money(10) * 1.5


def test_a_multiple_by_a_machine_integer_cannot_overflow():
    assert (Money(LARGEST) * np.int64(1000)).nanos == LARGEST * 1000


def test_money_never_changes():
    with pytest.raises(AttributeError):
        Money(1).nanos = 2


@given(amounts)
def test_money_survives_pickling_and_hashing(amount):
    assert pickle.loads(pickle.dumps(amount)) == amount
    assert len({amount, Money(amount.nanos)}) == 1
    assert bool(amount) == (amount != ZERO)


def test_money_is_not_a_number():
    assert Money(0) != 0


@pytest.mark.parametrize(
    ("exact", "nearest", "up"),
    [
        ("0", "$0.00", "$0.00"),
        ("0.08", "$0.08", "$0.08"),
        ("0.0892", "$0.0892", "$0.0892"),
        ("0.5634", "$0.563", "$0.564"),
        ("0.9996", "$1.00", "$1.00"),
        ("1.2341", "$1.23", "$1.24"),
        ("1234567.891", "$1,234,567.89", "$1,234,567.90"),
        ("0.00001234", "$0.0000123", "$0.0000124"),
        ("0.00017", "$0.000170", "$0.000170"),
        ("0.000000001", "$0.000000001", "$0.000000001"),
    ],
)
def test_people_see_cents_and_three_significant_digits(exact, nearest, up):
    amount = Money.parse(exact)
    assert format_money(amount, "USD") == nearest
    assert format_money(amount, "USD", up=True) == up
    assert Money.parse(format_money(amount, None, down=True)) <= amount


@given(amounts, amounts)
def test_what_is_printed_is_in_order_and_close_and_with_up_enough(amount, other):
    def printed(money, **how):
        return Money.parse(format_money(money, None, **how))

    assert printed(amount, up=True) >= amount or amount < ZERO
    assert abs((printed(amount) - amount).nanos) * 200 <= max(abs(amount.nanos), 200)
    if amount <= other:
        assert printed(amount) <= printed(other)


@given(st.integers(0, LARGEST - 1), st.one_of(st.integers(1, 10**9), st.integers(1, LARGEST)))
def test_what_is_needed_left_and_lacking_adds_up_as_printed(left, more):
    need = min(left + more, LARGEST)
    texts = format_shortfall(Money(need), Money(left), "USD")
    needed, there, lacking = (Money.parse(text) for text in texts)
    assert needed - there == lacking > ZERO
    assert needed >= Money(need)
    assert there <= Money(left)
    assert needed.nanos - need <= max(NANOS // 100, need // 100)


def test_a_shortfall_has_the_precision_of_what_is_needed():
    texts = format_shortfall(Money.parse("1.6112"), Money.parse("0.7641"), "USD")
    assert texts == ("$1.62", "$0.76", "$0.86")
    texts = format_shortfall(Money.parse("0.0016112"), Money.parse("0.0007641"), "USD")
    assert texts == ("$0.00162", "$0.000760", "$0.000860")


def test_money_is_printed_with_its_currency_and_sign():
    assert format_money(Money.parse("2.5"), "USD") == "$2.50"
    assert format_money(Money.parse("-2.5"), "EUR") == "-€2.50"
    assert format_money(Money.parse("-2.505"), "CHF") == "-2.51 CHF"
    assert format_money(Money.parse("1250"), None) == "1,250.00"
    assert repr(Money.parse("0.000000001")) == "Money('0.000000001')"
    assert float(Money.parse("0.25")) == 0.25


@pytest.mark.parametrize(
    "nanos",
    [0, 1, -1, 2**63 - 1, 2**63, -(2**63) - 1, 9_000_000_001 * 10**9, 10**40, -(10**40) - 7],
)
def test_what_was_written_of_any_sum_is_read_again(nanos):
    assert Money.recall(str(Money(nanos))) == Money(nanos)


@pytest.mark.parametrize(
    "text", ["", "1", "1.5", "$1.00", "1e9", "1,000.00", "٣.00", "nan", "1.0000000000"]
)
def test_only_what_was_written_is_recalled(text):
    with pytest.raises(InputError, match="is not an amount of money"):
        Money.recall(text)
