"""Placers for workloads of workflows, as entries of their role."""

from __future__ import annotations

from random import Random

import pytest

from bursar.model.market import Offer
from bursar.model.money import ZERO
from bursar.model.work import Bag, Work
from bursar.model.workflow_builder import WorkflowBuilder
from bursar.policies.registry import find
from bursar.state import events as ev
from bursar.testing import Scene, check_placer

NAMES = (
    "backfill",
    "cpp",
    "fdws",
    "fes",
    "fwp",
    "hr",
    "owm",
    "slop",
    "sr:life=lazy",
    "stretch",
    "wheft",
)
RANKED = ("cpp", "fdws", "fwp", "hr", "owm", "stretch", "wheft")
TWO = Offer("two", ZERO, slots=2)


def test_with_lazy_reservations_it_keeps_the_contract_of_a_placer():
    check_placer(find("placer", "sr:life=lazy"), worlds=12)


@pytest.mark.parametrize("name", NAMES)
def test_a_task_that_failed_or_was_lost_or_refused_is_placed_again(name):
    scene = Scene(TWO, tasks=4, retries=1)
    machine = scene.machine()
    placer = find("placer", name)()

    def asked():
        return [start.task for start in placer.place(scene.state, scene.at, Random(0))]

    refused = asked()
    assert len(refused) == 2
    assert sorted(asked()) == sorted(refused) or name not in RANKED
    first, _ = (scene.start(task, machine) for task in asked())
    failed = scene.state.log.task[first]
    scene.end(first, "failed")
    assert len(asked()) == 1
    scene.down(machine, "lost")
    scene.machine()
    scene.machine()
    assert sorted(asked()) == [1, 2, 3, 4]
    assert failed in (1, 2, 3, 4)


@pytest.mark.parametrize("name", NAMES)
def test_a_run_that_began_before_it_is_taken_up(name):
    scene = Scene(TWO, tasks=5)
    scene.end(scene.start(1, scene.machine()))
    scene.tell(ev.WorkArrived(0, Work(Bag(2))))
    scene.machine()
    starts = list(find("placer", name)().place(scene.state, 0, Random(0)))
    assert len({start.task for start in starts}) == 4
    assert 1 not in {start.task for start in starts}


@pytest.mark.parametrize("name", ["sr", "sr:life=lazy", "slop:f=1", "fes"])
def test_no_machine_is_kept_for_a_work_that_was_cancelled(name):
    fork = WorkflowBuilder("fork")
    fork.task("first")
    for task in ("second", "third"):
        fork.task(task, needs=["first"])
    scene = Scene(Offer("one", ZERO), arrivals_open=True)
    scene.tell(ev.WorkArrived(0, Work.of_dag(fork.build())))
    scene.tell(ev.WorkArrived(0, Work(Bag(2))))
    busy, other = scene.machine(), scene.machine()
    placer = find("placer", name)()

    def asked():
        starts = placer.place(scene.state, scene.at, Random(0))
        return [(start.task, start.machine) for start in starts]

    assert asked() == [(1, busy)]
    scene.start(1, busy)
    assert asked() == [], "the other machine is for the second or third task"
    scene.tell(ev.WorkCancelled(scene.at, 1, "not wanted"))
    assert [machine for _, machine in asked()] == [other]
