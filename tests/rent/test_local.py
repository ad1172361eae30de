from __future__ import annotations

import os

from bursar.rent.local import local_market, usable_cpus


def test_this_computer_offers_a_free_machine_per_processor():
    market = local_market()
    assert market.is_free
    assert market["local"].limit == usable_cpus() == len(os.sched_getaffinity(0))
    assert market["local"].slots == 1
    assert market["local"].boot == 0


def test_a_process_bound_to_one_processor_gets_one_machine():
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        assert local_market()["local"].limit == 1
    finally:
        os.sched_setaffinity(0, before)
