"""How long an agent stays when its machine is over."""

from __future__ import annotations

import pytest

from bursar.execute.remote.agent import LINGER, lingers_until
from bursar.execute.remote.messages import EXPIRY_SLACK
from bursar.model.time import MINUTE, SECOND


@pytest.mark.parametrize(
    ("over", "stays"),
    [
        (MINUTE, MINUTE + LINGER),
        (10 * MINUTE - SECOND, 10 * MINUTE + EXPIRY_SLACK),
        (10 * MINUTE + SECOND, 10 * MINUTE + EXPIRY_SLACK),
        (11 * MINUTE, 11 * MINUTE),
    ],
)
def test_it_waits_to_be_heard_but_not_long_beyond_its_lease(over, stays):
    assert lingers_until(over, 10 * MINUTE) == stays
