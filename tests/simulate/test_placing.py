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


@pytest.mark.parametrize("placer", KEYED)
@settings(max_examples=120, deadline=None)
@given(works=plain_works(), speeds=SPEEDS, seed=st.integers(0, 2**40))
def test_every_task_starts_when_and_where_the_plain_simulation_starts_it(
    placer, works, speeds, seed
):
    found = placed(works, speeds, placer, seed)
    policy, options = policy_of(placer)
    assert found == set(PlainSimulation(works, speeds, policy, seed=seed, **options).run())


@settings(max_examples=300, deadline=None)
@given(works=plain_works(), speeds=SPEEDS, placer=RESERVING, seed=st.integers(0, 2**40))
def test_every_task_starts_on_a_machine_reserved_as_in_the_plain_simulation(
    works, speeds, placer, seed
):
    found = placed(works, speeds, placer, seed)
    policy, options = policy_of(placer)
    assert found == set(PlainSimulation(works, speeds, policy, seed=seed, **options).run())


@settings(max_examples=100, deadline=None)
@given(works=plain_works(), speeds=SPEEDS, placer=RESERVING, seed=st.integers(0, 2**40))
def test_the_engine_reserves_machines_as_the_compiled_loop_does(works, speeds, placer, seed):
    seeded = f"{placer}:seed={seed}"
    assert placed_by_engine(works, speeds, seeded, seed) == placed(works, speeds, placer, seed)


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
    assert by_engine == found


def placed_by_engine(works, speeds, placer, seed=0, *, learns=False):
    """The same by the engine."""
    seeded = f"{placer}:seed={seed}" if placer == "backfill" else placer
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


@pytest.mark.parametrize("placer", KEYED)
@settings(max_examples=30, deadline=None)
@given(works=plain_works(), speeds=SPEEDS, seed=st.integers(0, 2**40))
def test_the_engine_starts_every_task_when_and_where_the_compiled_loop_does(
    placer, works, speeds, seed
):
    assert placed_by_engine(works, speeds, placer, seed) == placed(works, speeds, placer, seed)


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


@pytest.mark.parametrize("placer", RULES)
@settings(max_examples=40, deadline=None)
@given(works=plain_works(), speeds=SPEEDS)
def test_every_task_runs_once_after_its_parents_and_alone_on_its_machine(placer, works, speeds):
    starts = {
        (work, task): (time, machine) for time, work, task, machine in placed(works, speeds, placer)
    }
    assert len(starts) == sum(len(work.tasks) for work in works)
    spans = {}
    for (work, task), (time, machine) in starts.items():
        end = time + works[work].tasks[task].takes(speeds[machine])
        spans[work, task] = (time, end)
        assert time >= works[work].arrived
    for (work, task), (time, _) in spans.items():
        assert all(spans[work, parent][1] <= time for parent in works[work].tasks[task].parents)
    for machine in range(len(speeds)):
        mine = sorted(spans[one] for one, (_, where) in starts.items() if where == machine)
        assert all(before[1] <= after[0] for before, after in pairwise(mine))


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


def test_a_full_workload_is_placed_as_it_was_before():
    """20,000 tasks in 300 works of a random shape on machines of two speeds."""
    rng = np.random.default_rng(14)
    works, arrived = [], 0
    for _ in range(300):
        arrived += int(rng.integers(0, 50_000_000))
        count = int(rng.integers(30, 110))
        parents = [
            tuple(sorted({int(rng.integers(0, n)) for _ in range(2)})) if n > 8 else ()
            for n in range(count)
        ]
        times = rng.integers(1_000_000, 90_000_000, count)
        works.append(
            PlainWork(
                arrived,
                [
                    PlainTask(int(time), int(time), one, n % 5)
                    for n, (time, one) in enumerate(zip(times, parents, strict=True))
                ],
            )
        )
    digest = sha256()
    for placer in (*RULES, "fes:depth=2:tokens=echo:life=lazy"):
        for learns in (False, True):
            starts = sorted(placed(works, [1.5] * 60 + [0.5] * 60, placer, learns=learns))
            digest.update(repr(starts).encode())
    assert digest.hexdigest()[:16] == "a217885d3500f661"


def test_a_placer_that_does_not_exist_is_refused():
    works = [PlainWork(0, [PlainTask(1, 1)])]
    with pytest.raises(InputError, match="no placer 'best'"):
        placed(works, [1.0], "best")
