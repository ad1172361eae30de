import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.model.dag import UNKNOWN
from bursar.model.errors import InputError
from bursar.model.time import HOUR, LONGEST, SECOND
from bursar.model.workflow_checks import (
    LARGEST_SIZE,
    checked_command,
    checked_deadline,
    checked_files,
    checked_priority,
    checked_profile,
    checked_size,
    checked_words,
)

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text()


def given_or_refused(call, *arguments):
    try:
        return call(*arguments)
    except InputError as refusal:
        assert str(refusal).isprintable()
        return None


@given(scalars | st.dictionaries(st.sampled_from(["cpu", "io", "network", "x"]), scalars))
def test_a_run_time_is_from_nothing_to_a_hundred_years_and_the_sum_of_its_parts(value):
    found = given_or_refused(checked_profile, value)
    if found is None:
        return
    time, parts = found
    assert math.isnan(time) if value is None else 0 <= time <= 3 * LONGEST / SECOND
    assert parts is None or sum(parts) == time


@given(scalars)
def test_a_size_is_a_whole_number_of_bytes_or_not_known(value):
    found = given_or_refused(checked_size, value)
    assert found is None or (found == UNKNOWN) == (value is None)
    assert found is None or -1 <= found <= LARGEST_SIZE


@given(st.lists(st.text()) | st.text() | st.dictionaries(st.text(), st.none() | st.integers()))
def test_files_have_names_that_can_be_printed(value):
    found = given_or_refused(checked_files, value)
    assert found is None or all(name and name.isprintable() for name in found)


@given(st.lists(st.text(), min_size=1) | st.text())
def test_a_command_can_be_given_to_a_process(value):
    found = given_or_refused(checked_command, value)
    assert found is None or all("\0" not in word and word.encode() is not None for word in found)


@given(scalars)
def test_a_deadline_is_ahead_and_a_priority_is_whole(value):
    deadline = given_or_refused(checked_deadline, value)
    assert deadline is None or 0 < deadline <= LONGEST
    priority = given_or_refused(checked_priority, value)
    assert priority is None or type(priority) is int


def test_what_is_wrong_is_named():
    assert checked_deadline("1h") == HOUR
    assert checked_words("ann", "owner") == "ann"
    for call, words in (
        (lambda: checked_words("a\n", "owner"), "owner: "),
        (lambda: checked_deadline("0s"), "deadline: "),
        (lambda: checked_priority("high"), "priority: "),
    ):
        with pytest.raises(InputError, match=words):
            call()
