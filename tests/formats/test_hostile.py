"""Whatever stands in a file or on a command line: a value, or one line that says what is wrong."""

from __future__ import annotations

import datetime
from decimal import Decimal

from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.formats.test_commands import parse_words

from bursar.formats.job import Job
from bursar.formats.job_keys import KEYS
from bursar.formats.joblog import HEADER, parse_joblog, read_joblog
from bursar.formats.market import market_of, parse_market, read_market
from bursar.formats.params import inline_params, read_params
from bursar.model.errors import InputError
from bursar.model.fleet import parse_fleet
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.work import Bag

VAST = 10**5000
"""a number that Python refuses to print"""


def deep(levels=5000):
    """Lists in lists that Python refuses to compare or print."""
    nested = []
    for _ in range(levels):
        nested = [nested]
    return nested


scalars = st.one_of(
    st.booleans(),
    st.integers(),
    st.sampled_from([10**400, -(10**400), 2**63, -1, 0]),
    st.booleans().map(lambda negative: -VAST if negative else VAST),
    st.decimals(allow_nan=True, allow_infinity=True),
    st.sampled_from([Decimal("NaN"), Decimal("1e400"), Decimal("-0"), Decimal("0." + "1" * 30)]),
    st.text(max_size=20),
    st.sampled_from(
        ["", " ", "\0", "\x1b[31m", "a\nb", "1h", "0s", "9" * 500 + "d", "1e400", "x=1"]
    ),
    st.dates(),
    st.times(),
    st.datetimes(),
    st.just(datetime.datetime(2012, 9, 21, tzinfo=datetime.UTC)),
)
market_keys = ["currency", "date", "offer", *Offer.__struct_fields__]
keys = st.sampled_from([*market_keys, *KEYS]) | st.text(max_size=8)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=6),
    max_leaves=12,
)
tables = st.dictionaries(keys, values, max_size=8)
offer_tables = st.fixed_dictionaries(
    {"name": st.just("x") | values}, optional=dict.fromkeys(market_keys[4:], values)
)
job_tables = st.fixed_dictionaries({}, optional=dict.fromkeys(KEYS, values))
marks = ["[[offer]]", "[market]", "[[params]]", "\n", " = ", '"', "'", "[", "]", "{", "}", ",", "#"]
atoms = ["1", "-", ".", "1e9", "nan", "inf", "true", "1979-05-27", "07:32:00", "0x", "\\u"]
toml_like = st.lists(
    st.sampled_from([*market_keys, *KEYS, *marks, *atoms]) | st.text(max_size=3), max_size=30
).map("".join)


def answers(call, *arguments, **options):
    """Whether the call gave a value; anything but a plain refusal fails the test."""
    try:
        call(*arguments, **options)
    except InputError as refusal:
        assert str(refusal).isprintable()
        assert 0 < len(str(refusal)) < 2000
        return False
    return True


@given(toml_like | st.text())
@example("x = " + "[" * 50_000)
@example("x = " + "9" * 5000)
@example("x = 0x" + "f" * 5000)
@example("a." * 5000 + "b = 1")
def test_any_text_is_a_market_or_refused(text):
    answers(parse_market, text)


@given(st.fixed_dictionaries({"offer": st.lists(offer_tables, max_size=3)}) | tables)
def test_any_tables_are_a_market_or_refused(table):
    answers(market_of, table)


durations = st.sampled_from(["0s", "1us", "1s", "1h", "36500d", "36501d", "free"])
plausible_offers = st.fixed_dictionaries(
    {"name": st.just("x"), "price": st.sampled_from(["0", "1e-9", "9000000000", "0.08"]) | scalars},
    optional={
        "billing": durations,
        "minimum": durations,
        "boot": durations,
        "slots": st.sampled_from([1, 10_000, 10_001]),
        "speed": st.sampled_from([1, Decimal("1e-6"), Decimal("0.1"), 10**6, 10**7]),
    },
)


@given(plausible_offers)
def test_an_offer_that_is_accepted_can_be_charged(table):
    try:
        market = market_of({"offer": [table]})
    except InputError:
        return
    offer = market["x"]
    assert offer.price >= Money(0)
    assert offer.charge(10**15) >= offer.entry_charge
    assert 1 <= offer.slots <= 10_000
    assert offer.speed > 0


@given(toml_like | st.text())
@example("x = " + "{a=" * 50_000)
def test_any_text_is_a_job_or_refused(text):
    answers(Job.parse, text)


@given(job_tables | tables)
def test_any_tables_are_a_job_or_refused(table):
    if answers(Job.from_table, table, "/nonexistent/job.toml"):
        job = Job.from_table(table, "/nonexistent/job.toml")
        answers(job.override(job).bag)
        assert job.goal().budget is None or job.goal().budget >= Money(0)


@settings(max_examples=200)
@given(
    st.binary()
    | toml_like.map(str.encode)
    | st.text(st.sampled_from('a,"\n\r{}[]:1;\t\0é')).map(str.encode),
    st.sampled_from(["csv", "tsv", "json", "jsonl", "toml", "log"]),
)
def test_any_bytes_are_a_file_or_refused(tmp_path_factory, data, kind):
    path = tmp_path_factory.getbasetemp() / f"hostile.{kind}"
    path.write_bytes(data)
    for read in (Job.load, read_market, read_joblog):
        answers(read, path)
    if answers(read_params, str(path)):
        params = read_params(str(path))
        assert params.rows
        assert {len(row) for row in params.rows} == {len(params.columns)}
        answers(parse_words, ["x"], params=params)


@given(st.lists(values, max_size=4))
def test_any_tables_are_parameters_or_refused(rows):
    answers(inline_params, rows, "params")


words = st.lists(
    st.sampled_from(
        [":::", ":::+", "::::+", "{}", "{1}", "{2.}", "{#}", "{a}", "x y", "'", "\\", "", "|"]
    )
    | st.text(max_size=6)
    | st.sampled_from(["{" + "9" * 5000 + "}", "\ud800", "\0", "${1}", "{" * 3000]),
    max_size=12,
).filter(lambda words: "::::" not in words and "::::+" not in words)


@given(words, st.booleans(), st.none() | st.integers(-2, 3) | st.just(0).map(lambda _: VAST))
def test_any_words_are_a_bag_or_refused(words, shell, repeat):
    try:
        bag = parse_words(words, shell=shell, repeat=repeat)
    except InputError as refusal:
        assert str(refusal).isprintable()
    else:
        check(bag)


def check(bag: Bag):
    """A bag that was accepted has commands that a process can be given."""
    assert bag.count >= 1
    for index in {0, bag.count - 1}:
        command = bag.command(index)
        assert command
        assert all("\0" not in word and word.encode() is not None for word in command)
        assert bag.describe(index).isprintable()


@given(words)
def test_any_words_and_options_are_a_job_or_refused(words):
    answers(lambda: Job.from_command_line(words, {"repeat": 2}).bag())


@given(st.text(st.sampled_from("1\t\n :.-x\0")) | st.text())
def test_any_text_is_a_job_log_or_refused(text):
    answers(parse_joblog, text)
    answers(parse_joblog, HEADER + text)


@given(st.text(st.sampled_from("abx=,0129 ²\n")) | st.text())
def test_any_text_is_a_fleet_or_refused(text):
    market = Market("USD", "undated", (Offer("x", Money(1)), Offer("a", Money(1), limit=3)))
    answers(parse_fleet, text, market)


def test_deep_tables_are_refused():
    offer = {"name": "x", "price": 1}
    assert not answers(market_of, {"offer": deep()})
    assert not answers(market_of, {"offer": [offer], "currency": deep()})
    for key in Offer.__struct_fields__:
        assert not answers(market_of, {"offer": [{**offer, key: deep()}]})
    for key in KEYS:
        assert not answers(Job.from_table, {key: deep()})
    assert not answers(Job.from_table, {"params": [{"a": deep()}]})


def test_vast_numbers_are_refused():
    offer = {"name": "x", "price": 1}
    for key in Offer.__struct_fields__:
        assert not answers(market_of, {"offer": [{**offer, key: VAST}]})
    for key in KEYS:
        assert not answers(Job.from_table, {key: VAST})
    assert not answers(Job.from_table, {"args": [VAST]})
