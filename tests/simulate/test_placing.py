"""Workloads placed by the compiled loop, start by start as by a plain simulation."""

from __future__ import annotations

from fractions import Fraction
from hashlib import sha256
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.simulate.plain_placing import PlainSimulation, PlainTask, PlainWork
from tests.simulate.whole_fleet import run_engine

from bursar.model.dag import frozen, grouped
from bursar.model.errors import InputError
from bursar.model.workload_arrays import WorkloadArrays
from bursar.policies.registry import find
from bursar.simulate.placing import RULES, place_workload

SPEEDS = st.one_of(
    st.integers(1, 4).map(lambda count: [1.0] * count),
    st.lists(st.sampled_from([0.5, 1.0, 1.5, 2.0]), min_size=1, max_size=4),
)


@st.composite
def plain_works(draw):
    """Small works with few different times, so that nearly everything is a tie."""
    works, arrived = [], 0
    for _ in range(draw(st.integers(1, 5))):
        arrived += draw(st.sampled_from([0, 0, 1, 2, 5]))
        tasks = []
        for number in range(draw(st.integers(1, 7))):
            parents = draw(st.sets(st.integers(0, number - 1), max_size=2)) if number else set()
            runtime = draw(st.sampled_from([0, 1, 2, 4]))
            estimate = draw(st.sampled_from([runtime, runtime, 0, 1, 3]))
            kind = draw(st.integers(0, 2))
            transfer = draw(st.sampled_from([0, 0, 1, 3]))
            tasks.append(PlainTask(runtime, estimate, tuple(sorted(parents)), kind, transfer))
        works.append(PlainWork(arrived, tasks))
    return works


def arrays_of_plain(works):
    first = np.concatenate(([0], np.cumsum([len(work.tasks) for work in works])))
    tasks = [task for work in works for task in work.tasks]
    edges = [
        (first[number] + child, first[number] + parent)
        for number, work in enumerate(works)
        for child, task in enumerate(work.tasks)
        for parent in task.parents
    ]
    pairs = np.array(edges, dtype=np.int64).reshape(-1, 2)
    count = len(tasks)
    return WorkloadArrays(
        arrived=frozen(np.array([work.arrived for work in works]), np.int64),
        first=frozen(first, np.int64),
        work=frozen(np.repeat(np.arange(len(works)), np.diff(first)), np.int32),
        runtimes=frozen(np.array([task.runtime for task in tasks]), np.int64),
        transfers=frozen(np.array([task.transfer for task in tasks]), np.int64),
        parents=grouped(pairs[:, 0], pairs[:, 1], count, count),
        children=grouped(pairs[:, 1], pairs[:, 0], count, count),
    )


def placed(works, speeds, placer, seed=0, *, learns=False):
    """(time, work, task, machine) of every start"""
    arrays = arrays_of_plain(works)
    estimates = np.array([task.estimate for work in works for task in work.tasks], np.int64)
    kinds = np.array([task.kind for work in works for task in work.tasks], np.int32)
    schedule = place_workload(
        arrays, speeds, placer, estimates, seed, kinds=kinds if learns else None
    )
    assert schedule.is_whole
    return {
        (int(start), int(work), int(task - arrays.first[work]), int(machine))
        for task, (start, work, machine) in enumerate(
            zip(schedule.start, arrays.work, schedule.machine, strict=True)
        )
    }


KEYED = (
    *(name for name in RULES if name not in ("sr", "slop", "fes")),
    "owm:overdue=now",
    "wheft:plan=idle",
)
RESERVING = st.builds(
    lambda name, tokens, life: f"{name}:tokens={tokens}:life={life}",
    st.sampled_from(["sr", "slop:f=0.9", "slop:f=0.3", "slop:f=0", "fes:depth=1", "fes:depth=2"]),
    st.sampled_from(["gen", "stay", "echo"]),
    st.sampled_from(["eager", "lazy"]),
)


def policy_of(placer):
    """The name and the parameters of a plain simulation."""
    name, *settings = placer.split(":")
    options = dict(setting.split("=") for setting in settings)
    if options.pop("order", "") == "highest":
        return "owm_highest", options
    return name, {key: int(v) if key == "depth" else v for key, v in options.items()}


def placed_by_engine(works, speeds, placer, seed=0, *, learns=False):
    """The same by the engine."""
    draws = placer.partition(":")[0] in ("backfill", "sr", "slop", "fes")
    seeded = f"{placer}:seed={seed}" if draws else placer
    state = run_engine(works, speeds, find("placer", seeded)(), learns=learns)
    assert state.ended.status == "done"
    owners = [
        (number, task) for number, work in enumerate(works) for task in range(len(work.tasks))
    ]
    return {
        (state.log.started[attempt], *owners[state.log.task[attempt] - 1], machine - 1)
        for attempt, machine in enumerate(state.log.machine)
        if attempt
    }


def check_alike(works, speeds, placer, seed):
    """Plain simulation, compiled loop and engine start the same tasks, and never two at a time."""
    found = placed(works, speeds, placer, seed)
    policy, options = policy_of(placer)
    assert found == set(PlainSimulation(works, speeds, policy, seed=seed, **options).run())
    assert found == placed_by_engine(works, speeds, placer, seed)
    check_conserved(works, speeds, found)


def check_conserved(works, speeds, found):
    """Every task runs once, after its parents, and alone on its machine."""
    starts = {(work, task): (time, machine) for time, work, task, machine in found}
    assert len(starts) == len(found) == sum(len(work.tasks) for work in works)
    spans = {}
    for (work, task), (time, machine) in starts.items():
        spans[work, task] = (time, time + works[work].tasks[task].takes(speeds[machine]))
        assert time >= works[work].arrived
    for (work, task), (time, _) in spans.items():
        assert all(spans[work, parent][1] <= time for parent in works[work].tasks[task].parents)
    for machine in range(len(speeds)):
        mine = sorted(spans[one] for one, (_, where) in starts.items() if where == machine)
        assert all(before[1] <= after[0] for before, after in pairwise(mine))


@pytest.mark.parametrize("placer", KEYED)
@settings(max_examples=100, deadline=None)
@given(works=plain_works(), speeds=SPEEDS, seed=st.integers(0, 2**40))
def test_every_task_starts_when_and_where_the_plain_simulation_and_the_engine_start_it(
    placer, works, speeds, seed
):
    check_alike(works, speeds, placer, seed)


@settings(max_examples=250, deadline=None)
@given(works=plain_works(), speeds=SPEEDS, placer=RESERVING, seed=st.integers(0, 2**40))
def test_every_task_starts_on_a_machine_reserved_as_in_the_plain_simulation_and_the_engine(
    works, speeds, placer, seed
):
    check_alike(works, speeds, placer, seed)


@settings(max_examples=60, deadline=None)
@given(works=plain_works(), speeds=SPEEDS)
def test_with_right_run_times_it_is_the_same_when_wheft_makes_its_plan(works, speeds):
    for work in works:
        for task in work.tasks:
            task.estimate, task.transfer = task.runtime, 0
    assert placed(works, speeds, "wheft") == placed(works, speeds, "wheft:plan=idle")


@settings(max_examples=50, deadline=None)
@given(works=plain_works(), speeds=SPEEDS, seed=st.integers(0, 2**40))
def test_without_a_share_or_a_depth_nothing_is_reserved_and_the_whole_share_is_strict(
    works, speeds, seed
):
    plain = placed(works, speeds, "backfill", seed)
    assert placed(works, speeds, "slop:f=0", seed) == plain
    assert placed(works, speeds, "fes:depth=0", seed) == plain
    strict = placed(works, speeds, "sr", seed)
    assert placed(works, speeds, "slop:f=1", seed) == strict
    assert placed(works, speeds, "fes:depth=99", seed) == strict


def test_lazy_reservations_are_kept_alike_where_tasks_end_together():
    several = [PlainTask(2, 0), PlainTask(2, 0), PlainTask(2, 2)]
    many = [PlainTask(4, 4), *(PlainTask(2, 0) for _ in range(3)), PlainTask(2, 1), PlainTask(4, 4)]
    children = [PlainTask(2, 0, (0,)), PlainTask(2, 0, (0,))]
    parents = [PlainTask(2, 2, transfer=3), PlainTask(2, 0, transfer=3)]
    works = [
        PlainWork(0, tasks)
        for tasks in (several, many, [*parents, *children], [PlainTask(4, 4), PlainTask(4, 4)])
    ]
    lazy = "slop:f=0.3:tokens=gen:life=lazy"
    assert placed_by_engine(works, [1.0] * 3, lazy) == placed(works, [1.0] * 3, lazy, 0)


LEARNING = (
    *("cpp", "owm", "owm:order=highest", "fdws", "hr", "fwp:tasks=3", "stretch:history=4"),
    *("owm:overdue=now", "wheft", "wheft:plan=idle"),
)


@pytest.mark.parametrize("placer", LEARNING)
@settings(max_examples=60, deadline=None)
@given(works=plain_works(), speeds=SPEEDS, learns=st.booleans())
def test_what_is_learned_and_trusted_is_that_of_the_plain_simulation(placer, works, speeds, learns):
    found = placed(works, speeds, placer, learns=learns)
    by_engine = placed_by_engine(works, speeds, placer, learns=learns)
    policy, options = policy_of(placer)
    remembered = int(options.pop("tasks", 1000))
    plain = PlainSimulation(works, speeds, policy, learns=learns, remembered=remembered, **options)
    assert found == set(plain.run())
    assert found == by_engine


def test_the_order_within_a_work_holds_also_where_its_tasks_seem_to_take_no_time():
    def task(runtime=0, kind=0):
        return PlainTask(runtime, runtime, (), kind, 0)

    def works():
        sets = [[task()], [task(), task(1, 2), *(task() for _ in range(5))], [task()] * 5, [task()]]
        return [
            *(PlainWork(0, tasks) for tasks in sets),
            PlainWork(1, [task(), task(0, 2), task(1, 2)]),
        ]

    plain = PlainSimulation(works(), [1.0], "fdws", learns=True, remembered=1000)
    found = placed(works(), [1.0], "fdws", learns=True)
    assert found == set(plain.run())
    assert found == placed_by_engine(works(), [1.0], "fdws", learns=True)


class TargetedSimulation(PlainSimulation):
    """`fwp` with its target slowdown (3.4, 3.7), exactly."""

    kept = 300

    def fwp(self, works):
        ended = [one for one in self.finished if one.critical_path()]
        last = [Fraction(self.now - one.arrived, one.critical_path()) for one in ended]
        last = last[-self.kept :]
        target = sum(last) / len(last) if last else Fraction(1)
        joint = self.joint(works)
        return max(joint, key=lambda one: Fraction(min(self.slowdown(one[0]), 1e300)) - target)


@settings(max_examples=60, deadline=None)
@given(works=plain_works(), speeds=SPEEDS, kept=st.sampled_from([1, 2, 300]))
def test_how_many_works_the_target_of_fwp_remembers_changes_no_decision(works, speeds, kept):
    found = placed(works, speeds, f"fwp:history={kept}")
    plain = TargetedSimulation(works, speeds, "fwp")
    plain.kept = kept
    assert found == set(plain.run())


@settings(max_examples=60, deadline=None)
@given(works=plain_works(), speeds=SPEEDS, seed=st.integers(0, 2**40))
def test_no_machine_idles_while_backfill_has_a_task_to_start(works, speeds, seed):
    starts = placed(works, speeds, "backfill", seed)
    when = {(work, task): time for time, work, task, _ in starts}
    ends = {
        (work, task): time + works[work].tasks[task].takes(speeds[machine])
        for time, work, task, machine in starts
    }
    for (work, task), time in when.items():
        parents = [ends[work, parent] for parent in works[work].tasks[task].parents]
        eligible = max([works[work].arrived, *parents])
        moments = {moment for moment in (*ends.values(), eligible) if eligible <= moment < time}
        for moment in moments:
            busy = sum(when[one] <= moment < ends[one] for one in when)
            assert busy == len(speeds)


def random_arrays(works):
    """Works of 69 tasks in the mean, with two parents each but for the first eight."""
    rng = np.random.default_rng(14)
    sizes = rng.integers(30, 109, works)
    first = np.concatenate(([0], np.cumsum(sizes)))
    count, work = int(first[-1]), np.repeat(np.arange(works), sizes)
    place = np.arange(count) - first[work]
    child = np.repeat(np.flatnonzero(place > 8), 2)
    parent = first[work[child]] + (rng.random(len(child)) * place[child]).astype(np.int64)
    edges = np.unique(np.stack([child, parent], axis=1), axis=0)
    arrays = WorkloadArrays(
        arrived=frozen(np.cumsum(rng.integers(0, 65_000_000, works)), np.int64),
        first=frozen(first, np.int64),
        work=frozen(work, np.int32),
        runtimes=frozen(rng.integers(1_000_000, 90_000_000, count), np.int64),
        transfers=frozen(np.zeros(count), np.int64),
        parents=grouped(edges[:, 0], edges[:, 1], count, count),
        children=grouped(edges[:, 1], edges[:, 0], count, count),
    )
    return arrays, (place % 5).astype(np.int32)


def digest_of(schedules):
    digest = sha256()
    for schedule in schedules:
        assert schedule.is_whole
        digest.update(schedule.start.tobytes() + schedule.machine.tobytes())
    return digest.hexdigest()[:16]


MIXED_SPEEDS = [1.5] * 60 + [0.5] * 60


def test_a_full_workload_is_placed_as_it_was_before():
    """Some 207,000 tasks in 3,000 works."""
    arrays, _ = random_arrays(3000)
    assert abs(len(arrays) - 207_000) < 2_000
    placers = ("backfill", "cpp", "owm", "fdws", "hr", "fwp", "stretch", "fes")
    found = digest_of(place_workload(arrays, MIXED_SPEEDS, placer) for placer in placers)
    assert found == "5e8b775bb77232de"


def test_a_workload_is_placed_by_plans_and_by_what_was_learned_as_it_was_before():
    """Some 20,000 tasks in 300 works."""
    arrays, kinds = random_arrays(300)
    others = ("sr", "slop", "fes:depth=2:tokens=echo:life=lazy", "wheft", "wheft:plan=idle")
    known, learned = ((one, None) for one in others), ((one, kinds) for one in RULES)
    found = digest_of(
        place_workload(arrays, MIXED_SPEEDS, placer, kinds=one)
        for placer, one in (*known, *learned)
    )
    assert found == "40e6969bba9ee1dd"


def test_a_placer_that_does_not_exist_is_refused():
    works = [PlainWork(0, [PlainTask(1, 1)])]
    with pytest.raises(InputError, match="no placer 'best'"):
        placed(works, [1.0], "best")
