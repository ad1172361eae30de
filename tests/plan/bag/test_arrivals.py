"""When no task is ready any more, and which machines have come up by then."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from bursar.plan.bag.arrivals import Arrivals

REST = 10.0
BEGIN, SPEED, SLOTS = [30.0, 0.0, 100.0], [2.0, 1.0, 1.0], [1.0, 2.0, 4.0]
RUNNING = [0.0, 20.0, 0.0]


def plain(counts, work):
    """One group after the other: all that came up works until the next one does, or to the end."""
    rate = done = 0.0
    order = sorted(range(3), key=BEGIN.__getitem__)
    for group, following in zip(order, [*order[1:], None], strict=True):
        machines = counts[group] * SLOTS[group]
        rate += machines * SPEED[group]
        done += machines * (SPEED[group] * BEGIN[group] - REST)
        if rate:
            empty = max((work + done) / rate, BEGIN[group])
            if empty <= (inf if following is None else BEGIN[following]):
                return empty
    return 0.0


@pytest.mark.parametrize("work", [50.0, 400.0, 4000.0])
def test_many_fleets_are_as_one_by_one(work):
    fleets = [[1, 1, 0], [0, 0, 2], [3, 0, 1], [0, 2, 5], [0, 0, 0]]
    arrivals = Arrivals(*map(np.array, (BEGIN, np.multiply(SLOTS, SPEED), SLOTS, RUNNING)), REST)
    empty, is_up, at_once = arrivals.queue_empty(np.array(fleets, np.float64).T, work, 1000)
    assert empty.tolist() == pytest.approx([plain(fleet, work) for fleet in fleets])
    assert is_up.T.tolist() == [[begin <= end for begin in BEGIN] for end in empty.tolist()]
    assert at_once is None


def test_nobody_waits_for_an_end_where_free_slots_suffice_for_all_that_is_ready():
    arrivals = Arrivals(*map(np.array, (BEGIN, np.multiply(SLOTS, SPEED), SLOTS, RUNNING)), REST)
    fleets = np.array([[4.0, 1.0, 0.0], [0.0, 1.0, 1.0]]).T
    empty, _, at_once = arrivals.queue_empty(fleets, 4000.0, 4)
    assert at_once is not None
    assert at_once.tolist() == [True, True]
    assert empty.tolist() == [30.0, 100.0]
