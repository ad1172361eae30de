"""Failed tasks in groups, kept while a run goes on."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bursar.model.market import Offer
from bursar.model.money import ZERO
from bursar.model.work import make_bag
from bursar.state import events as ev
from bursar.state.failures import FailureGroups, failures_alike
from bursar.testing import Scene

TASKS = 6
TEXTS = ("no memory", "file {} is missing", "")


def fail(scene, machine, task, text):
    attempt = scene.start(task, machine)
    why = TEXTS[text].format(f"a{task}")
    scene.tell(ev.AttemptEnded(scene.at, attempt, "failed", 1, 1 + text, why=why))


@given(st.lists(st.tuples(st.integers(1, TASKS), st.integers(0, len(TEXTS) - 1), st.booleans())))
def test_groups_that_follow_a_run_are_those_of_its_state(steps):
    bag = make_bag(["fit", "{}"], [[f"a{task}"] for task in range(1, TASKS + 1)])
    scene = Scene(Offer("free", ZERO, slots=TASKS), tasks=bag, arrivals_open=True)
    machine, groups = scene.machine("free"), FailureGroups()
    for task, text, is_looked_at in steps:
        if task in scene.state.failed_tasks:
            scene.tell(ev.RetryRequested(scene.at, (task,)))
        else:
            fail(scene, machine, task, text)
        if is_looked_at:
            assert groups.look(scene.state) == FailureGroups().look(scene.state)
            assert groups.tasks() == failures_alike(scene.state)
    failed = sorted(task for tasks in failures_alike(scene.state) for task in tasks)
    assert failed == sorted(scene.state.failed_tasks)


def test_tasks_that_failed_alike_but_for_their_own_words_are_one_group():
    bag = make_bag(["fit", "{}"], [["a1"], ["a2"], ["a3"]])
    scene = Scene(Offer("free", ZERO, slots=3), tasks=bag, arrivals_open=True)
    machine = scene.machine("free")
    for task, text in ((3, 1), (2, 0), (1, 1)):
        fail(scene, machine, task, text)
    (most, other) = FailureGroups().look(scene.state)
    assert (most.count, most.first, most.exit_code, most.why) == (2, 1, 2, ("file a1 is missing",))
    assert (other.count, other.first, other.command) == (1, 2, "fit a2")
