"""Placers that plan ahead or reserve machines are asked where others are not."""

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


class Watching(FifoPlacer):
    """Notes when it was asked though no task was ready."""

    def __init__(self, on_idle):
        super().__init__()
        self.on_idle = on_idle
        self.idle = []

    def place(self, view, now, rng):
        if not view.ready:
            self.idle.append((now, len(view.idle)))
        return super().place(view, now, rng)


@pytest.mark.parametrize(("on_idle", "idle"), [(True, [(2, 1)]), (False, [])])
def test_it_is_asked_about_idle_machines_while_no_task_is_ready(on_idle, idle):
    works = [PlainWork(0, [PlainTask(2, 2), PlainTask(7, 7), PlainTask(5, 5, (1,))])]
    placer = Watching(on_idle)
    assert run_engine(works, [1.0, 1.0], placer).ended.status == "done"
    assert [one for one in placer.idle if one[0] > 0] == idle


def test_only_lazy_reservations_are_looked_at_while_no_task_is_ready():
    for name, wanted in (("fes:life=lazy", True), ("fes:life=eager", False), ("cpp", False)):
        make = find("placer", name)
        assert make().on_idle is wanted
        assert PlacedByAccount(make).on_idle is wanted
        assert ReliableRetries(make()).on_idle is wanted
