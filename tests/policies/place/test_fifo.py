from __future__ import annotations

from random import Random

from bursar.model.market import Offer
from bursar.model.money import ZERO
from bursar.model.work import Bag, Work
from bursar.policies.place.fifo import FifoPlacer
from bursar.state import events as ev
from bursar.testing import Scene

TWO = Offer("two", ZERO, slots=2)


class Watched(Scene):
    """A scene and one placer for all of it, as in a run."""

    def __init__(self, *offers, **conditions):
        self.placer = FifoPlacer()
        super().__init__(*offers, **conditions)

    def place(self):
        starts = list(self.placer.place(self.state, self.at, Random(0)))
        return [(start.task, self.start(start.task, start.machine)) for start in starts]

    def placed(self):
        return [task for task, _ in self.place()]


def test_tasks_start_in_the_order_of_their_arrival():
    scene = Watched(TWO, tasks=3, arrivals_open=True)
    machine = scene.machine()
    attempts = scene.place()
    assert [task for task, _ in attempts] == [1, 2]
    scene.tell(ev.WorkArrived(0, Work(Bag(2))))
    for _, attempt in attempts:
        scene.end(attempt)
    assert scene.placed() == [3, 4]
    scene.down(machine, "lost")
    assert sorted(scene.state.ready) == [3, 4, 5]


def test_a_task_that_failed_or_was_lost_with_its_machine_comes_before_younger_ones():
    scene = Watched(TWO, tasks=6, retries=1)
    machine = scene.machine()
    (_, first), _ = scene.place()
    scene.end(first, "failed")
    assert scene.placed() == [1]
    scene.down(machine, "lost")
    scene.machine()
    assert scene.placed() == [1, 2]


def test_a_run_that_began_before_it_is_taken_up_in_order():
    scene = Scene(TWO, tasks=5)
    scene.end(scene.start(1, scene.machine()))
    starts = FifoPlacer().place(scene.state, 0, Random(0))
    assert [start.task for start in starts] == [2, 3]


def test_a_task_whose_start_was_refused_is_placed_again():
    scene = Watched(TWO, tasks=3)
    scene.machine()
    refused = list(scene.placer.place(scene.state, 0, Random(0)))
    assert [start.task for start in refused] == [1, 2]
    assert scene.placed() == [1, 2]
