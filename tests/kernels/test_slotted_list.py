"""The compiled placement of a list, beside one that is as plain as can be."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from bursar.kernels.slotted_list import SMALL, ListedTasks, compiled, new_placing, sort_list


def drawn_tasks(rng: Random) -> ListedTasks:
    """Few works, tasks and offers, with many ties; some do not fit."""
    works, offers = rng.randint(1, 3), rng.randint(1, 3)
    count, interval = rng.randint(1, 8), rng.randint(1, 4)
    parents = [
        sorted(rng.sample(range(task), rng.randint(0, min(2, task)))) for task in range(count)
    ]
    return ListedTasks(
        work=np.array([rng.randrange(works) for _ in range(count)]),
        takes=np.array([[rng.randint(1, 5) for _ in range(offers)] for _ in range(count)]),
        parents_start=np.cumsum([0, *map(len, parents)]),
        parents=np.array([one for some in parents for one in some], np.int64),
        arrivals=np.array([rng.randint(0, 4) for _ in range(works)]),
        free=np.array([rng.randint(0, 8) for _ in range(works)]),
        late=rng.randint(0, 2),
        limit=np.array([rng.randint(1, 2) for _ in range(offers)]),
        price=np.array([rng.randint(1, 3) for _ in range(offers)]),
        budget=rng.randint(2, 6),
        interval=interval,
        slots=rng.randint(12, 24),
    )


def is_allowed(tasks: ListedTasks, placed: list[tuple[int, int, int]]) -> tuple[bool, int]:
    """Whether limits and budgets hold for (offer, start, end), and what all of it costs."""
    paid: dict[int, int] = {}
    for interval in range(-(-tasks.slots // tasks.interval)):
        slots = range(interval * tasks.interval, (interval + 1) * tasks.interval)
        for offer, limit in enumerate(tasks.limit):
            peak = max(
                sum(one == offer and start <= slot < end for one, start, end in placed)
                for slot in slots
            )
            if peak > limit:
                return False, 0
            paid[interval] = paid.get(interval, 0) + peak * int(tasks.price[offer])
    return max(paid.values()) <= tasks.budget, sum(paid.values())


def plain_places(tasks: ListedTasks, bound: list[int]) -> dict[int, tuple[int, int, int]] | None:
    """Each task where it ends first, of equals where it costs least; None: not all fit."""
    found: dict[int, tuple[int, int, int]] = {}
    for task in range(len(tasks.work)):
        needed = tasks.parents[tasks.parents_start[task] : tasks.parents_start[task + 1]]
        ready = max([tasks.arrivals[tasks.work[task]], *(found[one][2] for one in needed)])
        before, choices = list(found.values()), []
        for offer, takes in enumerate(tasks.takes[task]):
            if bound[task] not in (-1, offer):
                continue
            for start in range(ready, tasks.slots - takes + 1):
                allowed, cost = is_allowed(tasks, [*before, (offer, start, start + takes)])
                if allowed:
                    choices.append((start + takes, cost, offer, start))
                    break
        if not choices:
            return None
        end, _, offer, start = min(choices)
        found[task] = offer, start, end
    return found


def plain_cost(tasks: ListedTasks, places: dict[int, tuple[int, int, int]]) -> float:
    ends = [places[task][2] for task in range(len(tasks.work))]
    whole = 0
    for work, free in enumerate(tasks.free):
        last = max(
            (end for end, one in zip(ends, tasks.work, strict=True) if one == work), default=0
        )
        whole += last - free + tasks.late if last > free else 0
    return whole + SMALL * sum(ends) / len(ends)


@pytest.mark.parametrize("first", range(0, 300, 100))
def test_a_list_is_placed_as_by_a_plain_program(first):
    for seed in range(first, first + 100):
        rng = Random(seed)
        tasks = drawn_tasks(rng)
        count = len(tasks.work)
        bound = [rng.randint(-1, len(tasks.limit) - 1) for _ in range(count)]
        best = np.full((count, 2), -1)
        tails, aims = np.arange(count, 0.0, -1), np.zeros(len(tasks.arrivals))
        args = (tails, aims, np.array(bound), best, 1, seed)
        cost = compiled()(tasks, new_placing(tasks), *args)
        places = plain_places(tasks, bound)
        if places is None:
            assert cost == np.inf
            continue
        assert cost == pytest.approx(plain_cost(tasks, places))
        assert [tuple(one) for one in best] == [(places[t][1], places[t][0]) for t in range(count)]


def test_what_annealing_returns_is_never_worse_than_the_list_it_began_with():
    for seed in range(40):
        tasks = drawn_tasks(Random(seed))
        count = len(tasks.work)
        costs = []
        for steps in (1, 200):
            aims, bound = np.zeros(len(tasks.arrivals)), np.full(count, -1)
            lists = np.arange(count, 0.0, -1), aims, bound, np.zeros((count, 2), np.int64)
            costs.append(compiled()(tasks, new_placing(tasks), *lists, steps, 1))
        assert costs[1] <= costs[0]


def test_a_list_is_sorted_by_when_tasks_have_to_begin_and_none_comes_before_its_parents():
    for seed in range(100):
        rng = Random(seed)
        tasks = drawn_tasks(rng)
        count = len(tasks.work)
        tails = np.array([rng.uniform(0, 20) for _ in range(count)])
        aims = np.array([rng.uniform(0, 20) for _ in tasks.arrivals])
        shifts = np.array([rng.uniform(-15, 15) for _ in range(count)])
        order = sort_list(tasks, tails, aims, shifts, np.empty(count)).tolist()
        wanted = (aims[tasks.work] - tails + shifts).tolist()
        assert sorted(order) == list(range(count))
        for task in range(count):
            needed = tasks.parents[tasks.parents_start[task] : tasks.parents_start[task + 1]]
            before = order[: order.index(task)]
            assert set(needed) <= set(before)
            later = [one for one in before if wanted[one] > wanted[task] + 1e-3]
            assert not later or len(needed), "only parents let a task come later than it wants"
