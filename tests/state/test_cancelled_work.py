"""A work that is cancelled is settled at once; one with another priority keeps all else."""

from tests.state.anything import OFFERS, workflow

from bursar.model.time import SECOND
from bursar.model.work import Bag, Work
from bursar.state import checkpoint
from bursar.state import events as ev
from bursar.state.read_only import view_of
from bursar.state.ready_queue import ReadyQueue
from bursar.state.task_status import CANCELLED, DONE, FAILED
from bursar.state.work_index import WorkIndex
from bursar.testing import Scene

DIAMOND = ((), (0,), (0,), (1, 2))


def team():
    """A bag of three for ann, and a diamond of four tasks for bob."""
    scene = Scene(*OFFERS, arrivals_open=True)
    scene.tell(ev.WorkArrived(0, Work(Bag(3), "ann")))
    scene.tell(ev.WorkArrived(0, Work(workflow(DIAMOND), "bob", priority=1)))
    return scene


def test_all_tasks_that_are_not_done_are_settled_at_once():
    scene = team()
    first = scene.machine("two")
    scene.end(scene.start(4, first))
    running = scene.start(5, first)
    scene.pass_time(SECOND)
    scene.tell(ev.WorkCancelled(scene.at, 2, "wrong input"))
    state = scene.state
    assert [state.status[task] for task in (4, 5, 6, 7)] == [DONE, CANCELLED, CANCELLED, CANCELLED]
    assert (state.cancelled, state.settled, len(state.ready)) == (3, 4, 3)
    assert state.cancelled_works == {2: "wrong input"}
    assert state.demand.now("bob") == 0
    # Its attempt lives until the world has ended it, and then its result does not count.
    assert running in state.attempts
    scene.end(running, "success")
    assert state.status[5] == CANCELLED
    assert state.done == 1


def test_a_task_that_failed_stays_failed_and_its_children_are_cancelled():
    scene = team()
    scene.end(scene.start(4, scene.machine("one")), "failed")
    assert scene.state.blocked == 3
    scene.tell(ev.WorkCancelled(scene.at, 2))
    assert scene.state.status[4] == FAILED
    assert (scene.state.blocked, scene.state.cancelled) == (0, 3)
    scene.tell(ev.RetryRequested(scene.at, (4,)))
    assert scene.state.status[4] == FAILED


def test_what_is_done_or_cancelled_cannot_be_cancelled():
    scene = team()
    state = scene.state
    assert state.expects(ev.WorkCancelled(0, 2))
    assert not state.expects(ev.WorkCancelled(0, 3))
    scene.tell(ev.WorkCancelled(0, 2))
    assert not state.expects(ev.WorkCancelled(0, 2))
    assert not state.expects(ev.PriorityChanged(0, 2, 5))
    machine = scene.machine("one")
    for task in (1, 2, 3):
        scene.end(scene.start(task, machine))
    assert not state.expects(ev.WorkCancelled(0, 1))


def test_a_queue_of_ready_tasks_forgets_those_that_are_cancelled():
    scene = team()
    queue = ReadyQueue(lambda task: task, lambda task: "")
    queue.look(view_of(scene.state))
    assert len(queue) == 4
    scene.tell(ev.WorkCancelled(0, 1))
    queue.look(view_of(scene.state))
    assert (len(queue), queue.take(""), queue.take("")) == (1, 4, None)


def test_an_index_of_works_follows_both():
    scene, index = team(), WorkIndex()
    index.look(view_of(scene.state))
    scene.tell(ev.PriorityChanged(0, 1, 7))
    scene.tell(ev.WorkCancelled(0, 2))
    index.look(view_of(scene.state))
    assert [(work.number, work.priority) for work in index.unsettled()] == [(1, 7)]


def test_a_checkpoint_keeps_both():
    scene = team()
    works = {2: Work(Bag(3), "ann"), 3: Work(workflow(DIAMOND), "bob", priority=1)}
    scene.tell(ev.PriorityChanged(0, 1, 7))
    scene.tell(ev.WorkCancelled(0, 2, "no"))
    again = checkpoint.from_bytes(checkpoint.to_bytes(scene.state), works.__getitem__)
    again.check()
    assert again.work[0][1].priority == 7
    assert (again.cancelled, again.cancelled_works) == (4, {2: "no"})
