"""How many tasks of a workflow can run at once."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st
from tests.simulate.plain_placing import PlainTask, PlainWork, token_sets

from bursar.model.dag import dag_of
from bursar.reproduce.workflows_parallelism import exact_parallelism, token_parallelism


@st.composite
def dags(draw):
    count = draw(st.integers(1, 9))
    some = [st.sets(st.integers(0, max(0, task - 1)), max_size=3) for task in range(count)]
    return [sorted(draw(one)) if task else [] for task, one in enumerate(some)]


def comes_after(parents, task, other):
    return other in parents[task] or any(comes_after(parents, p, other) for p in parents[task])


def widest(parents):
    """By trying all sets of tasks."""
    tasks = range(len(parents))
    for size in range(len(parents), 0, -1):
        for chosen in combinations(tasks, size):
            pairs = combinations(chosen, 2)
            if not any(comes_after(parents, max(pair), min(pair)) for pair in pairs):
                return size
    return 0


@given(dags())
def test_the_exact_level_is_that_of_the_largest_set_in_which_no_task_needs_another(parents):
    assert exact_parallelism(dag_of(parents)) == widest(parents)


@given(dags(), st.sampled_from(["gen", "stay", "echo"]), st.integers(0, 4))
def test_tokens_are_those_of_the_steps_done_one_by_one(parents, tokens, depth):
    work = PlainWork(0, [PlainTask(1, 1, tuple(one)) for one in parents])
    sets = token_sets(work, tokens)
    assert token_parallelism(dag_of(parents), tokens) == max(map(len, sets))
    assert token_parallelism(dag_of(parents), tokens, depth) == max(map(len, sets[: depth + 1]))


@given(dags())
def test_a_generation_can_run_at_once_and_tokens_that_stay_or_echo_are_no_fewer(parents):
    dag = dag_of(parents)
    gen, stay, echo = (token_parallelism(dag, one) for one in ("gen", "stay", "echo"))
    assert gen <= exact_parallelism(dag)
    assert gen <= stay <= echo


def test_tokens_may_miss_tasks_that_never_get_theirs_together():
    """A long task beside a chain of which the end forks."""
    parents = [[], [], [1], [2], [2], [2], [0], [0], [0]]
    dag = dag_of(parents)
    assert exact_parallelism(dag) == 6
    assert token_parallelism(dag) == 4
