from __future__ import annotations

from bursar.model.workflow import Workflow
from bursar.model.workflow_builder import WorkflowBuilder
from bursar.state.precedence import Precedence


def diamond():
    work = WorkflowBuilder("diamond")
    work.task("a")
    work.task("b", needs="a")
    work.task("c", needs="a")
    work.task("d", needs=["b", "c"])
    return Workflow.of(work.build())


def test_tasks_of_bags_wait_for_nobody():
    precedence = Precedence()
    precedence.add_free(3)
    assert [precedence.missing(task) for task in (1, 2, 3)] == [0] * 3
    assert list(precedence.done(2)) == []


def test_a_task_is_released_when_the_last_that_it_needs_is_done():
    precedence = Precedence()
    precedence.add_free(10)
    assert list(precedence.add_workflow(diamond())) == [False, True, True, True]
    assert list(precedence.children(11)) == [12, 13]
    assert list(precedence.done(11)) == [12, 13]
    assert list(precedence.done(13)) == []
    assert precedence.missing(14) == 1
    assert list(precedence.done(12)) == [14]
    assert precedence.missing(14) == 0


def test_whom_a_task_needs_is_known_until_its_work_is_forgotten():
    precedence = Precedence()
    precedence.add_free(2)
    list(precedence.add_workflow(diamond()))
    precedence.add_free(1)
    list(precedence.add_workflow(diamond()))
    parents = [list(precedence.parents(task)) for task in range(1, 12)]
    assert parents == [[], [], [], [3], [3], [4, 5], [], [], [8], [8], [9, 10]]
    precedence.forget(range(3, 7))
    assert [list(precedence.parents(task)) for task in (6, 11)] == [[], [9, 10]]


def test_what_is_below_a_task_is_found_once_and_not_beyond_what_is_unwanted():
    precedence = Precedence()
    list(precedence.add_workflow(diamond()))

    def below(unwanted):
        found = []
        for one in precedence.below(1, lambda task: task not in (*unwanted, *found)):
            found.append(one)
        return sorted(found)

    assert below(()) == [2, 3, 4]
    assert below((2,)) == [3, 4]
    assert below((2, 3)) == []
