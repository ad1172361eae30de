"""A provider that does not answer is said once, and so is that it answers again."""

from __future__ import annotations

import pytest

from bursar.rent import silence
from bursar.rent.silence import Silence


@pytest.fixture
def passing(monkeypatch):
    """The time, which passes when it is told to."""
    now = [100.0]
    monkeypatch.setattr(silence.time, "monotonic", lambda: now[0])
    return now


def test_it_is_said_once_after_a_while_and_once_when_it_is_over(passing, caplog):
    one = Silence("Slurm")
    for _ in range(20):
        one.failed("connection refused")
        passing[0] += 3.0
    one.answered()
    one.answered()
    assert [record.getMessage() for record in caplog.records] == [
        "Slurm has not answered for 12 s, and is asked again: connection refused",
        "Slurm answers again, after 60 s",
    ]


def test_what_fails_for_a_moment_is_no_news(passing, caplog):
    one = Silence("Slurm")
    for _ in range(20):
        one.failed("connection refused")
        passing[0] += 8.0
        one.answered()
    assert not caplog.records
