"""Tests that wait are begun early, and by two processes only."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.waiting_first import WAITING, waiting_first

ROOT = Path(__file__).parents[1]
ALL = [name for names in WAITING for name in names]


def some_tests(each: int, others: int) -> list[tuple[str, str]]:
    """So many of each file that waits, among so many others."""
    found = [("tests/test_other.py", f"other {number}") for number in range(others)]
    for name in ALL:
        found[others // 2 : others // 2] = [(name, f"{name} {number}") for number in range(each)]
    return found


def test_every_file_that_waits_is_there_and_named_once():
    assert len(set(ALL)) == len(ALL)
    for name in ALL:
        assert (ROOT / name).is_file(), name


@pytest.mark.parametrize("processes", range(1, 8))
@pytest.mark.parametrize(("each", "others"), [(3, 400), (3, 0), (0, 7), (20, 50)])
def test_no_test_is_lost_or_made_twice(processes, each, others):
    tests = some_tests(each, others)
    assert sorted(waiting_first(tests, processes)) == sorted(item for _, item in tests)


def test_two_of_four_processes_begin_with_tests_that_wait_and_the_others_with_none():
    tests = some_tests(3, 400)
    found = waiting_first(tests, 4)
    share = len(tests) // 4
    for number in range(4):
        part = found[number * share : (number + 1) * share]
        files = WAITING[number] if number < 2 else ()
        begin = [f"{name} {which}" for name in files for which in range(3)]
        assert part[: len(begin)] == begin
        assert all(item.startswith("other") for item in part[len(begin) :])


def test_a_single_process_keeps_the_order():
    tests = some_tests(3, 40)
    assert waiting_first(tests, 1) == [item for _, item in tests]
