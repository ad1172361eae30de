"""The structure of works that `view.structure` tells is what its definitions say."""

from __future__ import annotations

from random import Random

import pytest
from tests.state.anything import Anything

from bursar.model.time import SECOND
from bursar.state.read_only import view_of
from bursar.state.run_times import RunTimes
from bursar.state.task_status import DONE, READY, RUNNING, WAITING


class UnevenTimes(RunTimes):
    """Task n takes n seconds modulo 5 at speed 1; every second work takes half of that."""

    def expected(self, offer, elapsed=0, task=0):
        return max(elapsed, self.at_speed_one(task))

    def at_speed_one(self, task):
        return (task % 5) * SECOND

    def correction(self, work):
        return 0.5 if work % 2 else 1.0


class LiteralWork:
    """A work by the definitions, computed anew by recursion."""

    def __init__(self, state, place):
        before, work = state.work[place]
        self.state, self.factor = state, state.runtimes.correction(place)
        self.tasks = range(before + 1, before + 1 + work.count)

    def having(self, *statuses):
        return [task for task in self.tasks if self.state.status[task] in statuses]

    def rank(self, task):
        children = self.state.precedence.children(task)
        below = max(map(self.rank, children), default=0.0)
        return self.state.runtimes.at_speed_one(task) * self.factor + below

    def generations(self):
        done = set(self.having(DONE))
        left = self.having(READY, RUNNING, WAITING)
        sizes = []
        while wave := [
            task
            for task in left
            if task not in done and done.issuperset(self.state.precedence.parents(task))
        ]:
            sizes.append(len(wave))
            done.update(wave)
        return tuple(sizes)


def compare(view, state):
    """All that the view tells, with the definitions; the number of works that are open."""
    numbers = []
    for place in range(len(state.work)):
        plain, found = LiteralWork(state, place), view.structure.of(place + 1)
        if not plain.having(READY, RUNNING, WAITING):
            assert found is None
            assert view.structure.generations(place + 1) == view.structure.by_rank(place + 1) == ()
            continue
        numbers.append(place + 1)
        ranks = {task: plain.rank(task) for task in plain.tasks}
        unstarted, waiting = plain.having(READY, WAITING), plain.having(READY)
        assert (found.number, found.tasks) == (place + 1, plain.tasks)
        assert (found.owner, found.arrived) == (
            state.work[place][1].owner,
            state.work.arrived(place),
        )
        assert (found.waiting, found.running) == (len(waiting), len(plain.having(RUNNING)))
        assert found.left == len(plain.having(READY, RUNNING, WAITING))
        assert found.path == max(ranks.values())
        assert found.path_left == max((ranks[task] for task in unstarted), default=0)
        assert found.work_left == sum(
            state.runtimes.at_speed_one(task) * plain.factor for task in unstarted
        )
        assert view.structure.by_rank(place + 1) == tuple(
            sorted(waiting, key=lambda task: (-ranks[task], task))
        )
        assert [view.structure.rank(task) for task in plain.tasks] == list(ranks.values())
        assert view.structure.generations(place + 1) == plain.generations()
    assert [one.number for one in view.structure.works()] == numbers
    return len(numbers)


@pytest.mark.parametrize("seed", range(4))
def test_what_the_view_tells_is_what_the_definitions_say(seed):
    world = Anything(Random(seed))
    world.state.runtimes = UnevenTimes()
    view = view_of(world.state)
    most = 0
    for event in range(120):
        world.happen()
        if event % 3 == 0:  # several events may pass between two questions
            most = max(most, compare(view, world.state))
    assert most > 3


def test_where_nobody_knows_run_times_every_task_takes_a_second():
    world = Anything(Random(1))
    (work,) = view_of(world.state).structure.works()
    assert work.work_left == work.left * SECOND


def test_what_nobody_asks_for_is_not_kept():
    world = Anything(Random(2))
    view = view_of(world.state)
    assert world.state.ranked is None
    assert view.structure.works()
    assert world.state.ranked is not None
