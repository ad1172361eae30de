"""All reproductions are computed side by side, and come in the order of the page."""

from bursar.model.errors import InputError
from bursar.reproduce.everything import ALONE, compute
from bursar.reproduce.result import ENTRIES, Reproduction, reproduce


def test_reproductions_come_in_order_and_are_the_same_as_one_by_one():
    names = ["bats-sarsa", "bats-kohonen"]
    found = dict(compute(names))
    assert list(found) == names
    assert found["bats-kohonen"] == reproduce("bats-kohonen")


def test_what_cannot_be_computed_is_reported_and_does_not_stop_the_others():
    (_, missing), (_, found) = compute(["bats-kohonnen", "bats-kohonen"])
    assert isinstance(missing, InputError)
    assert "no reproduction" in str(missing)
    assert isinstance(found, Reproduction)


def test_entries_that_are_computed_alone_exist():
    assert set(ENTRIES) > ALONE
