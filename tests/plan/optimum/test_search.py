"""The exact optimum: as good as trying everything, and always a schedule."""

from __future__ import annotations

from itertools import product
from random import Random
from time import monotonic

import pytest

from bursar.model.errors import InputError
from bursar.plan.optimum.annealed import annealed
from bursar.plan.optimum.greedy import greedy
from bursar.plan.optimum.programme import Programme
from bursar.plan.optimum.relaxation import relaxed_bound
from bursar.plan.optimum.search import optimum
from bursar.plan.optimum.slotted import (
    Placed,
    SlottedOffer,
    SlottedTask,
    SlottedWorkload,
    cost_of,
    problems,
)

SMALL, LARGE = SlottedOffer(2, 1), SlottedOffer(2, 5)


def chain(budget=6):
    """Two works: a fork of three, and a single task that arrives later."""
    tasks = (
        SlottedTask(0, (2, 1)),
        SlottedTask(0, (2, 1), (0,)),
        SlottedTask(0, (3, 1), (0,)),
        SlottedTask(1, (2, 2)),
    )
    return SlottedWorkload((0, 1), tasks, (SMALL, LARGE), budget, interval=3, intervals=4)


def everything(instance, aim):
    """The least cost of all schedules, by trying each."""
    places = [
        [Placed(offer, start) for offer in range(len(instance.offers)) for start in range(9)]
        for _ in instance.tasks
    ]
    found = (s for s in product(*places) if not problems(instance, s))
    return min((cost_of(instance, one, aim) for one in found), default=None)


def drawn(seed):
    rng = Random(seed)
    count = rng.randint(1, 3)
    tasks = []
    for number in range(count):
        needs = tuple(p for p in range(number) if rng.random() < 0.5 and tasks[p].work == 0)
        work = 0 if needs else rng.randint(0, 1)
        tasks.append(SlottedTask(work, (rng.randint(1, 3), rng.randint(1, 2)), needs))
    limits = SlottedOffer(rng.randint(1, 2), 1), SlottedOffer(rng.randint(0, 2), rng.randint(2, 3))
    return SlottedWorkload(
        (0, rng.randint(0, 2)), tuple(tasks), limits, rng.randint(1, 4), interval=2, intervals=6
    )


@pytest.mark.parametrize("aim", ["lateness", "response"])
@pytest.mark.parametrize("seed", range(8))
def test_it_is_as_good_as_trying_everything(seed, aim):
    instance = drawn(seed)
    found = optimum(instance, aim, seconds=20, clock=monotonic, workers=1)
    assert found.is_optimal
    assert relaxed_bound(instance, aim, seconds=20) <= found.cost
    assert relaxed_bound(instance, aim, seconds=20, known=found.cost) <= found.cost
    assert relaxed_bound(instance, aim, seconds=20, known=found.cost + 1) <= found.cost
    assert found.bound == found.cost == everything(instance, aim)
    assert problems(instance, found.schedule) == []


def test_money_decides_how_soon_works_end():
    costs = [
        optimum(chain(budget), seconds=20, clock=monotonic, workers=1).cost
        for budget in (1, 2, 6, 12)
    ]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] > costs[-1] == 0


def test_a_schedule_to_begin_with_is_never_made_worse():
    instance = chain()
    begin = greedy(instance, "response")
    assert problems(instance, begin) == []
    found = optimum(instance, "response", seconds=0.01, clock=monotonic, workers=1, start=begin)
    assert found.cost <= cost_of(instance, begin, "response")
    assert found.bound <= found.cost


@pytest.mark.parametrize(
    ("change", "broken"),
    [
        ({0: Placed(0, -1)}, "task 0 begins before its work arrives"),
        ({1: Placed(1, 1)}, "task 1 begins before task 0 has ended"),
        ({3: Placed(0, 11)}, "task 3 ends after the last interval"),
        ({1: Placed(1, 3), 2: Placed(1, 3)}, "costs 10 of 6"),
        ({1: Placed(0, 3), 2: Placed(0, 3), 3: Placed(0, 3)}, "3 machines of an offer that has 2"),
    ],
)
def test_the_checker_finds_what_is_wrong(change, broken):
    instance = chain()
    schedule = [Placed(0, 0), Placed(0, 3), Placed(0, 6), Placed(0, 9)]
    assert problems(instance, schedule) == []
    for task, placed in change.items():
        schedule[task] = placed
    assert any(broken in one for one in problems(instance, schedule))


def crowded(*, works=2, budget=10):
    """Forks of tasks that take two slots on each of the machines, and more than fit at once."""
    tasks: list[SlottedTask] = []
    for work in range(works):
        first = len(tasks)
        tasks.append(SlottedTask(work, (1, 1)))
        tasks += [SlottedTask(work, (2, 2), (first,)) for _ in range(12)]
        tasks.append(SlottedTask(work, (1, 1), tuple(range(first + 1, first + 13))))
    offers = SlottedOffer(8, 1), SlottedOffer(8, 5)
    arrivals = tuple(range(0, 2 * works, 2))
    return SlottedWorkload(arrivals, tuple(tasks), offers, budget, interval=3, intervals=8)


def test_the_bound_knows_that_machines_are_whole_and_that_works_end_at_once():
    """The budget pays 8 small machines, or 5 and a large one; 8.4 would be over after 3 slots."""
    tasks = tuple(SlottedTask(0, (1, 1)) for _ in range(25))
    offers = SlottedOffer(8, 1), SlottedOffer(8, 5)
    instance = SlottedWorkload((0,), tasks, offers, 10, interval=3, intervals=4)
    assert relaxed_bound(instance, "response", seconds=20) == 4
    assert optimum(instance, "response", seconds=20, clock=monotonic, workers=1).cost == 4


def test_tasks_are_alike_if_what_is_around_them_is():
    """Two forks of one work; a child of the second takes longer, so that the forks differ."""
    tasks = (
        SlottedTask(0, (1, 1)),
        SlottedTask(0, (1, 1)),
        *(SlottedTask(0, (1, 1), (0,)) for _ in range(3)),
        SlottedTask(0, (1, 1), (1,)),
        SlottedTask(0, (1, 1), (1,)),
        SlottedTask(0, (2, 1), (1,)),
        SlottedTask(1, (1, 1)),
    )
    instance = SlottedWorkload((0, 0), tasks, (SMALL, LARGE), 6, interval=3, intervals=4)
    assert instance.alike == (0, 1, 2, 2, 2, 5, 5, 7, 8)


def shared_children(seed):
    """A few kinds of tasks in two works, with children that several need."""
    rng = Random(seed)
    tasks: list[SlottedTask] = []
    for work in range(2):
        first = len(tasks)
        heads = rng.randint(1, 4)
        tasks += [SlottedTask(work, (rng.randint(1, 2), 1)) for _ in range(heads)]
        for _ in range(rng.randint(1, 4)):
            needs = rng.sample(range(first, first + heads), rng.randint(1, heads))
            tasks.append(SlottedTask(work, (rng.randint(1, 2), 1), tuple(sorted(needs))))
    offers = SlottedOffer(rng.randint(1, 3), 1), SlottedOffer(rng.randint(0, 2), rng.randint(2, 3))
    arrivals = 0, rng.randint(0, 2)
    return SlottedWorkload(
        arrivals, tuple(tasks), offers, rng.randint(1, 4), interval=2, intervals=9
    )


@pytest.mark.parametrize("seed", range(12))
def test_the_bound_is_the_same_if_each_task_is_for_itself(seed):
    instance, apart = shared_children(seed), shared_children(seed)
    apart.__dict__["alike"] = tuple(range(len(apart.tasks)))
    bounds = [relaxed_bound(one, "response", seconds=20) for one in (instance, apart)]
    assert bounds[0] == bounds[1]


@pytest.mark.parametrize("aim", ["lateness", "response"])
def test_changed_lists_are_schedules_and_get_better(aim):
    instance = crowded(works=4)
    last = instance.horizon - 2
    slow = [Placed(0, 0)] * len(instance.tasks)  # any order; what it costs does not matter
    for number, task in enumerate(instance.tasks):
        slow[number] = Placed(0, min(last, 2 * number + len(task.parents)))
    found = annealed(instance, aim, slow, seconds=0.1, seed=3)
    assert problems(instance, found) == []
    assert cost_of(instance, found, aim) <= cost_of(instance, greedy(instance, aim), aim)
    assert found == annealed(instance, aim, slow, seconds=0.1, seed=3)


def test_a_search_ends_once_it_is_near_enough():
    instance = crowded(works=4)

    def looks(within):
        """How often the clock is looked at: before each part of a search."""
        asked = []

        def clock():
            asked.append(monotonic())
            return asked[-1]

        found = optimum(instance, "response", seconds=10, clock=clock, within=within, workers=1)
        assert found.gap <= within
        return len(asked)

    assert looks(1.0) == 2  # at the begin and for the first search: none came after it
    assert looks(0.5) > 2


@pytest.mark.parametrize("late", range(2, 10))
def test_no_part_of_a_search_is_given_time_that_the_clock_does_not_have(late, monkeypatch):
    asked, given = [], []

    def clock():
        """The time is up from this look at it on, as on a computer that does much else."""
        asked.append(0.0 if len(asked) < late else 11.0)
        return asked[-1]

    def least(programme, seconds):
        given.append((asked[-1], seconds))
        return 0.0

    monkeypatch.setattr(Programme, "least", least)
    instance = crowded(works=4)
    found = optimum(instance, "response", seconds=10, clock=clock, workers=1)
    assert all(seconds == 0 for now, seconds in given if now > 10)
    assert problems(instance, found.schedule) == []
    assert 0 <= found.bound <= found.cost


def test_time_that_went_before_the_search_counts():
    instance = crowded(works=4)
    now = monotonic()
    begin = greedy(instance, "response")
    found = optimum(
        instance, "response", seconds=10, clock=monotonic, begun=now - 10, workers=1, start=begin
    )
    assert monotonic() - now < 5
    assert found.schedule == begin


def test_too_few_intervals_are_reported():
    tasks = tuple(SlottedTask(0, (3, 3)) for _ in range(4))
    instance = SlottedWorkload((0,), tasks, (SMALL, LARGE), 1, interval=3, intervals=2)
    with pytest.raises(InputError, match="give more of them"):
        optimum(instance, seconds=20, clock=monotonic, workers=1)


@pytest.mark.parametrize(
    ("tasks", "budget", "why"),
    [
        ((SlottedTask(0, (1, 1)),), 0, "pays for no machine"),
        ((SlottedTask(0, (1, 1), (0,)),), 6, "sort the tasks"),
        ((SlottedTask(0, (1, 0)),), 6, "at least one slot"),
    ],
)
def test_what_cannot_be_optimised_is_reported(tasks, budget, why):
    with pytest.raises(InputError, match=why):
        SlottedWorkload((0,), tasks, (SMALL, LARGE), budget, interval=3, intervals=2)
