"""When the provisioner `frontier` looks again."""

from __future__ import annotations

import pytest

from bursar.model.time import SECOND
from bursar.policies.provision.frontier import Frontier
from bursar.state.actions import Wake

NOW = 100 * SECOND


@pytest.mark.parametrize(
    ("asked", "wanted", "is_asked"),
    [
        (None, 110, True),
        (110, 110, False),  # asked for already
        (105, 110, False),  # it is looked before: then it is asked for
        (300, 110, True),  # a plan that is to be confirmed soon does not wait for a later look
        (90, 110, True),  # that look is over
        (None, 100, False),
    ],
)
def test_a_look_is_asked_for_unless_there_is_one_before(asked, wanted, is_asked):
    entry = Frontier()
    entry._next_look = wanted * SECOND
    if asked is not None:
        entry._woken = asked * SECOND
    assert entry._wakes(NOW) == ([Wake(wanted * SECOND)] if is_asked else [])
