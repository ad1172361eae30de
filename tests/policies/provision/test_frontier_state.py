"""What the provisioner `frontier` knows of its machines and of what is left."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from bursar.beliefs.bag_times import BagTimes
from bursar.plan.bag.live_fleet import MachineGroups, WorkLeft
from bursar.policies.provision.frontier_state import BagBelief, FleetNow


def test_what_fits_paid_time_costs_nothing_more():
    """A run with paid hours left is not given up for want of the money that they have cost."""
    belief = BagBelief(None, None)
    belief.times = BagTimes.lognormal(100.0, 0.1, 0.3, 50)
    now = FleetNow(belief)
    one = np.ones(2)
    now.groups = MachineGroups(
        offer=np.zeros(2, np.int64),
        is_new=np.array([False, True]),
        room=np.array([3.0, 10.0]),
        slots=2 * one,
        speed=one,
        begin=np.array([500.0, 0.0]),
        price=7200 * one,
        unit=3600 * one,
        paid=np.array([1500.0, 3600.0]),
        held=0 * one,
        running=0 * one,
    )
    left = {"running": 0.0, "attempts": 0, "money": 1e9, "deadline": inf}
    for ready, cost in ((60, 0.0), (70, 1000.0)):
        now.left = WorkLeft(ready=ready, elapsed=0.0, spent=0.0, **left)
        assert now.cheapest() == pytest.approx(cost)
