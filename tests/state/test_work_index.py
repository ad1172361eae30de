"""Works with their tasks by status are those that there are, whatever happens."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st
from tests.state.anything import Anything, workflow

from bursar.model.market import Offer
from bursar.model.money import ZERO
from bursar.model.time import MINUTE
from bursar.model.work import Bag, Work
from bursar.state import events as ev
from bursar.state import recent
from bursar.state.read_only import view_of
from bursar.state.task_status import DONE, FAILED, READY, RUNNING, WAITING, TaskStatus
from bursar.state.work_index import WorkIndex
from bursar.testing import Scene


def reported(work):
    """All that an index tells of a work."""
    tasks = {status: list(work.having(status)) for status in TaskStatus}
    counts = {status: work.count(status) for status in TaskStatus}
    return work.number, work.work, work.arrived, work.tasks, counts, tasks, work.unsettled


def counted(state, place):
    """The same, by looking at every task."""
    before, work = state.work[place]
    numbers = range(before + 1, before + 1 + work.count)
    tasks = {s: [task for task in numbers if state.status[task] == s] for s in TaskStatus}
    counts = {status: len(having) for status, having in tasks.items()}
    unsettled = counts[READY] + counts[RUNNING] + counts[WAITING]
    return place + 1, work, state.work.arrived(place), numbers, counts, tasks, unsettled


@given(st.integers(0, 10**9), st.sampled_from((0, 3, 20_000)))
def test_works_are_those_of_a_look_at_everything(seed, kept):
    rng, before, recent.KEPT = Random(seed), recent.KEPT, kept
    try:
        run, index = Anything(rng), WorkIndex()
        for number in range(80):
            run.happen()
            if number == 50:
                run.resume()
                index = WorkIndex()
            if rng.random() < 0.5:
                view = view_of(run.state)
                index.look(view)
                every = [counted(run.state, place) for place in range(len(run.state.work))]
                assert [reported(index.of(one[0], view)) for one in every] == every
                assert [reported(one) for one in index.unsettled()] == [
                    one for one in every if one[-1]
                ]
    finally:
        recent.KEPT = before


def test_a_work_tells_whose_it_is_how_much_it_matters_and_when_it_is_due():
    scene, index = Scene(Offer("any", ZERO), arrivals_open=True), WorkIndex()
    scene.pass_time(MINUTE)
    scene.tell(ev.WorkArrived(scene.at, Work(Bag(3), "ann", 7, 2 * MINUTE)))
    scene.tell(ev.WorkArrived(scene.at, Work(workflow(((), (0,))))))
    index.look(scene.state)
    bag, flow = index.unsettled()
    assert (bag.number, bag.owner, bag.priority, bag.tasks) == (1, "ann", 7, range(1, 4))
    assert (bag.arrived, bag.deadline, flow.deadline) == (MINUTE, 3 * MINUTE, None)
    assert [flow.count(status) for status in (READY, WAITING)] == [1, 1]


def test_a_settled_work_takes_no_room_until_it_is_retried():
    scene, index = Scene(Offer("any", ZERO), tasks=1, arrivals_open=True), WorkIndex()
    scene.tell(ev.WorkArrived(scene.at, Work(Bag(1))))
    machine = scene.machine()
    index.look(scene.state)
    scene.end(scene.start(1, machine), "failed")
    index.look(scene.state)
    assert [work.number for work in index.unsettled()] == [2]
    assert index.of(1, scene.state).count(FAILED) == 1
    scene.tell(ev.RetryRequested(scene.at, (1,)))
    index.look(scene.state)
    assert [work.number for work in index.unsettled()] == [1, 2], "as they arrived"
    for task in (1, 2):
        scene.end(scene.start(task, machine))
    index.look(scene.state)
    assert not index.unsettled()
    assert index.of(2, scene.state).count(DONE) == 1


def test_what_arrived_since_a_moment_is_found():
    scene = Scene(Offer("any", ZERO), arrivals_open=True)
    for _ in range(3):
        scene.tell(ev.WorkArrived(scene.at, Work(Bag(2))))
        scene.pass_time(MINUTE)
    works = view_of(scene.state).work
    assert list(works.arrived_since(MINUTE)) == [1, 2]
    assert list(works.arrived_since(MINUTE + 1)) == [2]
    assert not works.arrived_since(3 * MINUTE)
