"""A machine that costs money turns itself off before its lease ends."""

from __future__ import annotations

import pytest

from bursar.execute.processes import boottime
from bursar.execute.remote.dead_man_switch import EARLY, MARGIN, DeadManSwitch
from bursar.model.time import MINUTE, SECOND


@pytest.fixture
def orders(tmp_path, monkeypatch):
    """What `shutdown` was told."""
    notes = tmp_path / "notes"
    notes.touch()
    (tmp_path / "shutdown").write_text(f'#!/bin/sh\necho "$*" >> {notes}\n')
    (tmp_path / "shutdown").chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return lambda: notes.read_text().splitlines()


@pytest.mark.parametrize("left", [95, 121, 211, 600, 3600])
def test_it_fires_before_the_end_of_the_lease_but_not_long_before(orders, left):
    DeadManSwitch().arm(boottime() + left * SECOND)
    (order,) = orders()
    early = left * SECOND - int(order.removeprefix("-P +")) * MINUTE
    assert MARGIN <= early <= EARLY + SECOND


def test_an_extension_sets_it_again_and_the_same_lease_does_not(orders):
    switch, now = DeadManSwitch(), boottime()
    switch.arm(now + 211 * SECOND)
    switch.arm(now + 212 * SECOND)
    assert orders() == ["-P +3"]
    switch.arm(now + 700 * SECOND)
    assert orders() == ["-P +3", "-P +11"]
