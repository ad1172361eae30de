"""The ready tasks in order: exactly those, no matter who starts them, and none is forgotten."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bursar.model.market import Offer
from bursar.model.money import ZERO
from bursar.model.work import Bag, Work
from bursar.state import events as ev
from bursar.state import recent
from bursar.state.ready_queue import ReadyQueue
from bursar.testing import Scene

WIDE = Offer("wide", ZERO, slots=50)


def evens_and_odds():
    """The highest numbers first, even and odd ones apart."""
    return ReadyQueue(key=lambda task: -task, group=lambda task: task % 2)


def taken(queue, group):
    found = []
    while (task := queue.take(group)) is not None:
        found.append(task)
    return found


def test_tasks_come_by_group_and_in_order():
    scene, queue = Scene(WIDE, tasks=5), evens_and_odds()
    queue.look(scene.state)
    assert (queue.count(0), queue.count(1)) == (2, 3)
    assert (taken(queue, 0), taken(queue, 1)) == ([4, 2], [5, 3, 1])
    assert queue.take(0) is None


def test_what_was_taken_but_not_started_is_there_again():
    scene, queue = Scene(WIDE, tasks=3), evens_and_odds()
    queue.look(scene.state)
    assert queue.take(1) == 3
    scene.start(3, scene.machine())
    assert queue.take(1) == 1  # whose start is refused
    queue.look(scene.state)
    assert taken(queue, 1) == [1]


def test_tasks_that_others_start_are_not_there():
    scene, queue = Scene(WIDE, tasks=4), evens_and_odds()
    queue.look(scene.state)
    attempt = scene.start(4, scene.machine())
    queue.look(scene.state)
    assert (queue.count(0), queue.take(0)) == (1, 2)
    scene.end(attempt, "cancelled")
    queue.look(scene.state)
    assert queue.take(0) == 4


def test_another_order_is_that_of_the_next_look():
    signs = [-1]
    scene, queue = Scene(WIDE, tasks=3), ReadyQueue(lambda task: signs[0] * task, lambda task: 0)
    queue.look(scene.state)
    signs[0] = 1
    queue.forget()
    queue.look(scene.state)
    assert taken(queue, 0) == [1, 2, 3]


@given(st.randoms(use_true_random=False), st.sampled_from((0, 3, 20_000)))
def test_it_holds_exactly_the_ready_tasks(rng, kept):
    """Also where it was not looked at for so long that it has to look at everything again."""
    before, recent.KEPT = recent.KEPT, kept
    try:
        scene, queue = Scene(WIDE, tasks=6, arrivals_open=True, retries=9), evens_and_odds()
        for _ in range(40):
            state, what = scene.state, rng.random()
            if what < 0.2:
                scene.machine()
            elif what < 0.3:
                scene.tell(ev.WorkArrived(0, Work(Bag(rng.randrange(1, 4)))))
            elif what < 0.6 and state.idle and state.ready:
                scene.start(rng.choice(list(state.ready)), rng.choice(list(state.idle)))
            elif what < 0.9 and state.attempts:
                outcome = rng.choice(("success", "failed", "cancelled"))
                scene.end(rng.choice(list(state.attempts)), outcome)
            elif state.machines:
                scene.down(rng.choice(list(state.machines)), "lost")
            if rng.random() < 0.5:
                queue.look(state)
                assert sorted(queue._group_of) == sorted(state.ready)
                assert queue.count(0) + queue.count(1) == len(state.ready)
                queue.take(rng.randrange(2))
    finally:
        recent.KEPT = before
