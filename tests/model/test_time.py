"""Durations: written by people with a unit, held as whole microseconds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.model.errors import InputError
from bursar.model.time import (
    DAY,
    HOUR,
    LONGEST,
    MILLISECOND,
    MINUTE,
    SECOND,
    format_duration,
    parse_duration,
    seconds,
)

times = st.integers(0, LONGEST)


@given(times)
def test_whole_microseconds_are_read_exactly(time):
    assert parse_duration(f"{time}us") == time


@given(times)
def test_decimals_of_seconds_are_read_exactly(time):
    assert parse_duration(f"{time // SECOND}.{time % SECOND:06d} s") == time


@given(st.integers(0, 500), st.integers(0, 100), st.integers(0, 100), st.integers(0, 10**6))
def test_the_parts_of_a_duration_add_up(days, hours, minutes, millis):
    expected = days * DAY + hours * HOUR + minutes * MINUTE + millis * MILLISECOND
    assert parse_duration(f"{days}d {hours}h{minutes} min {millis}ms") == expected


@given(times)
def test_a_printed_duration_says_about_how_long(time):
    assert abs(parse_duration(format_duration(time)) - time) <= time * 0.06


@given(times)
def test_a_negative_duration_is_printed_with_its_sign(time):
    assert format_duration(-time) == ("-" if time else "") + format_duration(time)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("90s", 90 * SECOND),
        ("1.5m", 90 * SECOND),
        ("1h", HOUR),
        ("1h30m", 90 * MINUTE),
        ("hour", HOUR),
        ("2 Hours", 2 * HOUR),
        (".5d", 12 * HOUR),
        ("3.s", 3 * SECOND),
        ("0s", 0),
        ("0.4us", 0),
        ("36500d", LONGEST),
    ],
)
def test_durations_are_written_in_the_usual_ways(text, time):
    assert parse_duration(text) == time


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "90",
        "1.5",
        "-5s",
        "1h-5m",
        "5ss",
        "h30m",
        "1 fortnight",
        "1h 30",
        "1e3s",
        "1,5h",
        "nan s",
        "infs",
        "٣s",
        "36501d",
        pytest.param("1" + "0" * 400 + "s", id="vast"),
        "1" + "0" * 80 + "d",
        pytest.param("9" * 2_000_000 + "d", id="vaster"),
        "1h\n\x1b[31m",
    ],
)
def test_anything_else_is_refused_in_one_short_line(text):
    with pytest.raises(InputError) as refusal:
        parse_duration(text)
    assert str(refusal.value).isprintable()
    assert len(str(refusal.value)) < 150


@pytest.mark.parametrize(
    ("time", "text"),
    [
        (0, "0 ms"),
        (7, "7 us"),
        (1_900, "1.9 ms"),
        (350_000, "350 ms"),
        (999_999, "1.0 s"),
        (58_200_000, "58.2 s"),
        (90 * SECOND, "90.0 s"),
        (MINUTE, "1.0 min"),
        (10 * MINUTE, "10.0 min"),
        (HOUR - 1, "1.0 h"),
        (HOUR, "1.0 h"),
        (90 * MINUTE, "90.0 min"),
        (17 * HOUR, "17.0 h"),
    ],
)
def test_durations_are_printed_with_their_unit(time, text):
    assert format_duration(time) == text


def test_seconds_are_rounded_to_the_nearest_microsecond():
    assert seconds(0.1) == 100_000
    assert seconds(1.0000004) == SECOND


@pytest.mark.parametrize(
    ("time", "shown"),
    [
        (4_130_000, "4.2 s"),
        (4_100_000, "4.1 s"),
        (121 * SECOND, "2.1 min"),
        (2 * HOUR + 1, "2.1 h"),
        (12_345, "12.4 ms"),
        (999_999, "1.0 s"),
        (119_999_999, "2.0 min"),
        (0, "0 ms"),
    ],
)
def test_a_time_that_is_to_be_enough_is_rounded_up(time, shown):
    assert format_duration(time, up=True) == shown
    assert parse_duration(shown) >= time


@given(st.integers(1, 200 * HOUR))
def test_a_time_that_is_rounded_up_is_enough_when_it_is_typed(time):
    assert parse_duration(format_duration(time, up=True)) >= time
