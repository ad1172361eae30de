"""Values come back from JSON as they were."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.model.codec import decoder, encode, to_builtins
from bursar.model.errors import InputError
from bursar.model.goal import Goal, Limits
from bursar.model.market import Market, Offer
from bursar.model.money import LARGEST, Money
from bursar.model.time import LONGEST
from bursar.model.work import Bag
from bursar.state import events as ev

text = st.text(st.characters(exclude_categories=["Cs"]))
times = st.integers(0, LONGEST)
money = st.integers(-LARGEST, LARGEST).map(Money)
offers = st.builds(
    Offer,
    name=text,
    price=money,
    billing=times,
    minimum=times,
    limit=st.none() | st.integers(0, 2**31),
    boot=times,
    slots=st.integers(1, 100),
    speed=st.floats(0.01, 100),
    pool=st.sampled_from(["reliable", "unreliable"]),
)
values = st.one_of(
    offers,
    st.builds(Market, currency=text, date=text, offers=st.lists(offers, max_size=3).map(tuple)),
    st.builds(Goal, budget=st.none() | money, deadline=st.none() | times),
    st.builds(Limits, retries=st.integers(0, 9), timeout=st.none() | times),
    st.builds(
        Bag,
        count=st.integers(0, 2**40),
        template=st.lists(text).map(tuple),
        columns=st.lists(text).map(tuple),
        rows=st.lists(st.lists(text).map(tuple)).map(tuple),
        shell=st.booleans(),
        label=text,
    ),
)


@given(values)
def test_a_value_survives_the_way_through_json(value):
    assert decoder(type(value)).decode(encode(value)) == value


@given(values)
def test_plain_values_are_what_the_json_holds(value):
    assert json.loads(json.dumps(to_builtins(value))) == json.loads(encode(value))


def test_money_is_text_in_json():
    assert encode(Goal(budget=Money.parse("2.5"))) == b'{"budget":"2.50"}'


@pytest.mark.parametrize("budget", [b"2.5", b"true", b"[]"])
def test_money_is_never_read_from_a_json_number(budget):
    with pytest.raises(msgspec.ValidationError):
        decoder(Goal).decode(b'{"budget":' + budget + b"}")


def test_an_amount_that_is_none_is_refused():
    with pytest.raises(InputError):
        decoder(Goal).decode(b'{"budget":"lots"}')


def test_an_unknown_kind_of_value_is_refused():
    with pytest.raises(TypeError):
        encode(object())
    with pytest.raises(msgspec.ValidationError):
        decoder(complex).decode(b'"1"')


@pytest.mark.parametrize("nanos", [2**63 - 1, 2**63, 10**30])
def test_sums_beyond_64_bits_go_through_a_journal(nanos):
    plan = ev.PlanChosen(0, "knee", {"small": 1}, 1, 1, Money(nanos), Money(2 * nanos))
    assert decoder(ev.AnyEvent).decode(encode(plan)) == plan
