"""Waves of tasks: found again only where something was done, and right all the same."""

from __future__ import annotations

from random import Random

import pytest
from tests.state.anything import OWNERS, Anything

from bursar.model.market import Offer
from bursar.model.money import ZERO
from bursar.model.work import Bag, Work
from bursar.model.workflow_builder import WorkflowBuilder
from bursar.state import events as ev
from bursar.state.generations import Generations
from bursar.state.task_status import DONE, READY, RUNNING, WAITING
from bursar.testing import Scene


def flow(parents, owner=""):
    builder = WorkflowBuilder("flow")
    for task, needs in enumerate(parents):
        builder.task(str(task), needs=[str(one) for one in needs])
    work = Work.of_dag(builder.build())
    return Work(work.tasks, owner)


FORK = ((), (0,), (0,), (0,), (1, 2, 3), (4,))


def arrived(*works):
    scene = Scene(Offer("one", ZERO, slots=9), arrivals_open=True)
    for work in works:
        scene.tell(ev.WorkArrived(0, work))
    return scene


def looked(scene):
    found = Generations()
    found.look(scene.state)
    return found


def test_a_fork_is_as_wide_as_its_widest_wave_within_the_depth():
    found = looked(arrived(flow(FORK)))
    (work,) = found.works()
    assert [found.largest(work, depth) for depth in (0, 1, 2, 99)] == [1, 3, 3, 3]
    assert [found.joint("", depth) for depth in (0, 1, 3, float("inf"))] == [
        (1, 1),
        (3, 4),
        (3, 6),
        (3, 6),
    ]


def test_works_count_together_wave_by_wave():
    found = looked(arrived(flow(FORK), Work(Bag(4)), flow(FORK)))
    assert found.joint("", 9) == (6, 16)


def test_only_works_of_the_account_count():
    found = looked(arrived(flow(FORK, "ann"), flow(FORK, "bob")))
    assert found.joint("ann", 9) == (3, 6)


def test_running_tasks_are_in_the_first_wave_and_done_ones_in_none():
    scene = arrived(flow(FORK))
    machine = scene.machine()
    attempt = scene.start(1, machine)
    assert looked(scene).joint("", 0) == (1, 1)
    scene.end(attempt, "success")
    assert looked(scene).joint("", 0) == (3, 3)
    assert looked(scene).joint("", 9) == (3, 5)


def literal(state, account):
    """Waves by the definition: all of a wave are done, then see what is ready."""
    done = {task for task in range(1, state.total + 1) if state.status[task] == DONE}
    open_tasks = [
        task
        for task in range(1, state.total + 1)
        if state.status[task] in (READY, RUNNING, WAITING)
        and (not account or state.work[state.work.place_of(task)][1].owner == account)
    ]
    sizes = []
    while True:
        wave = [
            task
            for task in open_tasks
            if task not in done and set(state.precedence.parents(task)) <= done
        ]
        if not wave:
            return sizes
        sizes.append(len(wave))
        done.update(wave)


@pytest.mark.parametrize("seed", range(6))
def test_what_is_kept_up_to_date_is_what_the_definition_says(seed):
    world, kept = Anything(Random(seed)), Generations()
    for _ in range(150):
        world.happen()
        kept.look(world.state)
        for account in ("", *OWNERS):
            sizes = literal(world.state, account)
            assert kept.joint(account, float("inf")) == (max(sizes, default=0), sum(sizes))
            assert kept.joint(account, 1) == (max(sizes[:2], default=0), sum(sizes[:2]))
