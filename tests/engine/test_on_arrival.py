"""A placer that plans ahead is asked when work arrives, also while no machine is idle."""

from __future__ import annotations

import pytest
from tests.simulate.plain_placing import PlainTask, PlainWork
from tests.simulate.whole_fleet import run_engine

from bursar.policies.place.fifo import FifoPlacer
from bursar.policies.place_by_account import PlacedByAccount
from bursar.policies.registry import find
from bursar.policies.reliable_retries import ReliableRetries


class Asked(FifoPlacer):
    """Notes when it was asked though no machine was idle."""

    def __init__(self, on_arrival):
        super().__init__()
        self.on_arrival = on_arrival
        self.early = []

    def place(self, view, now, rng):
        if not view.idle:
            self.early.append((now, len(view.work)))
        return super().place(view, now, rng)


@pytest.mark.parametrize(("on_arrival", "early"), [(True, [(3, 2), (5, 4)]), (False, [])])
def test_it_is_asked_once_for_all_work_that_arrives_together(on_arrival, early):
    works = [PlainWork(at, [PlainTask(10, 10)]) for at in (0, 3, 5, 5)]
    placer = Asked(on_arrival)
    assert run_engine(works, [1.0], placer).ended.status == "done"
    assert placer.early == early


def test_a_placer_that_asks_another_wants_what_that_one_wants():
    for name, wanted in (("wheft", True), ("wheft:plan=idle", False), ("backfill", False)):
        make = find("placer", name)
        assert make().on_arrival is wanted
        assert PlacedByAccount(make).on_arrival is wanted
        assert ReliableRetries(make()).on_arrival is wanted
