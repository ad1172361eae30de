from __future__ import annotations

from random import Random

from bursar.model.market import Offer
from bursar.model.money import ZERO
from bursar.model.work import Bag, Work
from bursar.policies.place.priority import PriorityPlacer
from bursar.state import events as ev
from bursar.testing import Scene

ONE = Offer("one", ZERO)


def test_the_work_with_the_highest_priority_comes_first_as_it_is_now():
    scene, placer = Scene(ONE, arrivals_open=True), PriorityPlacer()
    for priority in (0, 2, 1):
        scene.tell(ev.WorkArrived(0, Work(Bag(2), priority=priority)))
    machine = scene.machine()

    def next_task():
        (start,) = placer.place(scene.state, scene.at, Random(0))
        scene.end(scene.start(start.task, machine))
        return start.task

    assert [next_task(), next_task()] == [3, 4]
    scene.tell(ev.PriorityChanged(0, 1, 9))
    assert next_task() == 1
    scene.tell(ev.PriorityChanged(0, 1, -1))
    assert [next_task(), next_task(), next_task()] == [5, 6, 2]
