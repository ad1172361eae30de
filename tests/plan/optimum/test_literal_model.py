"""Schedules of the model with counts, checked by the printed model that has machines."""

from __future__ import annotations

from random import Random
from time import monotonic

import pytest
from tests.plan.optimum.literal_model import LiteralModel

from bursar.plan.optimum.annealed import annealed
from bursar.plan.optimum.greedy import greedy
from bursar.plan.optimum.search import optimum
from bursar.plan.optimum.slotted import (
    Placed,
    SlottedOffer,
    SlottedTask,
    SlottedWorkload,
    cost_of,
    problems,
)


def drawn(seed, most=12):
    """Two works of a few tasks, on two kinds of machines, within a budget."""
    rng = Random(seed)
    tasks = []
    for number in range(rng.randint(3, most)):
        work = rng.randint(0, 1)
        before = [p for p in range(number) if tasks[p].work == work]
        needs = tuple(p for p in before if rng.random() < 0.3)
        tasks.append(SlottedTask(work, (rng.randint(1, 5), rng.randint(1, 3)), needs))
    works = sorted({task.work for task in tasks})
    tasks = [SlottedTask(works.index(t.work), t.takes, t.parents) for t in tasks]
    offers = SlottedOffer(rng.randint(1, 3), 1), SlottedOffer(rng.randint(1, 2), rng.randint(2, 3))
    return SlottedWorkload(
        (0, rng.randint(0, 4))[: len(works)], tuple(tasks), offers, rng.randint(3, 6), 3, 14
    )


def literal(instance):
    """The same workload, and by machine its offer."""
    offers = [o for o, offer in enumerate(instance.offers) for _ in range(offer.limit)]
    model = LiteralModel(
        works=[task.work for task in instance.tasks],
        times=[[task.takes[offer] for offer in offers] for task in instance.tasks],
        needs=[(i, j) for i, task in enumerate(instance.tasks) for j in task.parents],
        arrivals=instance.arrivals,
        prices=[instance.offers[offer].price for offer in offers],
        budget=instance.budget,
        interval=instance.interval,
        slots=instance.interval * instance.intervals,
    )
    return model, offers


def on_machines(instance, schedule, offers):
    """By task a machine and a slot: of free machines, one that is paid for already comes first."""
    free = [0] * len(offers)
    placed = [(0, 0)] * len(schedule)
    for task in sorted(range(len(schedule)), key=lambda one: schedule[one].start):
        offer, start = schedule[task].offer, schedule[task].start
        begin = start - start % instance.interval
        usable = [k for k, one in enumerate(offers) if one == offer and free[k] <= start]
        assert usable, "more tasks at once than machines"
        machine = max(usable, key=lambda k: (free[k] > begin, -k))
        free[machine] = start + instance.tasks[task].takes[offer]
        placed[task] = machine, start
    return placed


@pytest.mark.parametrize("seed", range(12))
def test_every_schedule_that_is_found_holds_all_printed_equations(seed):
    instance = drawn(seed)
    model, offers = literal(instance)
    first = greedy(instance, "lateness")
    found = [
        first,
        annealed(instance, "lateness", first, seconds=0.01),
        optimum(instance, "lateness", seconds=2.0, clock=monotonic, start=first).schedule,
    ]
    for schedule in found:
        x = model.chosen(on_machines(instance, schedule, offers))
        assert model.broken(x) == set()
        works = len(instance.arrivals)
        assert model.profit(x) == works - cost_of(instance, schedule, "lateness")


@pytest.mark.parametrize("seed", range(150))
def test_the_model_with_counts_and_the_printed_one_refuse_the_same_schedules(seed):
    instance, rng = drawn(seed, most=4), Random(seed)
    model, offers = literal(instance)
    schedule = list(greedy(instance, "lateness"))
    for _ in range(rng.randint(0, 2)):
        task = rng.randrange(len(schedule))
        offer = rng.randrange(len(instance.offers))
        schedule[task] = Placed(offer, max(0, schedule[task].start + rng.randint(-3, 1)))
    try:
        x = model.chosen(on_machines(instance, schedule, offers))
    except AssertionError:
        assert problems(instance, schedule)
        return
    assert bool(model.broken(x)) == bool(problems(instance, schedule))


def two_tasks():
    """One needs the other; a machine of each price, of which the budget pays the cheap one only."""
    return LiteralModel(
        works=[0, 0], times=[[2, 1], [2, 1]], needs=[(1, 0)], arrivals=[1], prices=[1, 5], budget=4,
        interval=3, slots=6,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("placed", "broken"),
    [
        ([(0, 1), (0, 3)], set()),
        ([(0, 1), (0, 2)], {"5.18", "5.19"}),
        ([(0, 1), (1, 3)], {"5.24"}),
        ([(0, 0), (0, 3)], {"5.20"}),
        ([(0, 1), (0, 5)], {"5.22", "5.23"}),
    ],
)
def test_each_printed_equation_can_fail(placed, broken):
    model = two_tasks()
    assert model.broken(model.chosen(placed)) == broken


def test_a_task_that_begins_twice_or_never_is_no_schedule():
    model = two_tasks()
    x = model.chosen([(0, 1), (0, 3)])
    x[1, 0, 3] = 0
    assert "5.15" in model.broken(x)
    x[1, 0, 3] = x[1, 0, 4] = 1
    assert "5.15" in model.broken(x)
