import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar import WorkflowBuilder
from bursar.model.errors import InputError
from bursar.model.time import HOUR
from bursar.model.workflow_builder import kind_of


@st.composite
def graphs(draw, most=12):
    """A number of tasks, and edges from lower to higher places of a hidden order."""
    count = draw(st.integers(1, most))
    hidden = draw(st.permutations(range(count)))
    pairs = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))
    edges = draw(st.sets(pairs.filter(lambda pair: pair[0] < pair[1]), max_size=3 * count))
    return count, {(hidden[parent], hidden[child]) for parent, child in edges}


def built(count, edges, **options):
    flow = WorkflowBuilder("random")
    for task in range(count):
        needs = [f"t{parent}" for parent, child in edges if child == task]
        flow.task(f"t{task}", needs=needs, **options)
    return flow.build()


def reported(call):
    with pytest.raises(InputError) as refusal:
        call()
    assert str(refusal.value).isprintable()
    return str(refusal.value)


def test_a_workflow_is_written_task_by_task():
    flow = WorkflowBuilder("variants", owner="ann", priority=3, deadline="2h")
    split = flow.task("split", run=["./split", "in.fa"], reads=["in.fa"], writes={"a.fa": 40})
    flow.task("align-1", run="./align a.fa > a.bam", needs=[split], reads="a.fa", runtime="1m")
    dag = flow.build()
    assert (dag.name, dag.owner, dag.priority, dag.deadline) == ("variants", "ann", 3, 2 * HOUR)
    align = dag.task(1)
    assert align.name == "align-1"
    assert align.kind == "align"
    assert align.command == ("/bin/sh", "-c", "./align a.fa > a.bam")
    assert align.needs == ("split",)
    assert align.reads == {"a.fa": 40}
    assert align.runtime == 60.0
    assert dag.task(0).reads == {"in.fa": None}
    assert dag.task(0).runtime is None
    assert dag.command(0) == ("./split", "in.fa")


def test_who_reads_a_file_needs_who_writes_it():
    flow = WorkflowBuilder()
    flow.task("reader", reads=["x"])
    flow.task("writer", writes={"x": 7})
    flow.task("both", needs=["writer"], reads={"x": 5})
    dag = flow.build()
    assert dag.task(0).needs == ("writer",)
    assert dag.task(2).needs == ("writer",)
    assert dag.edges == 2
    assert dag.order.tolist() == [1, 0, 2]
    assert dag.task(0).reads == {"x": 7}


def test_a_run_time_may_be_reported_in_parts():
    flow = WorkflowBuilder()
    flow.task("a", runtime={"cpu": 40, "network": "5s"})
    flow.task("b", runtime=1.5)
    dag = flow.build()
    assert dag.runtimes.tolist() == [45.0, 1.5]
    assert dag.task(0).parts == {"cpu": 40.0, "io": 0.0, "network": 5.0}
    assert dag.task(1).parts is None


@given(graphs())
def test_the_order_has_each_task_once_and_after_what_it_needs(graph):
    count, edges = graph
    dag = built(count, edges)
    assert sorted(dag.order.tolist()) == list(range(count))
    place = {task: at for at, task in enumerate(dag.order.tolist())}
    assert all(place[parent] < place[child] for parent, child in edges)


@given(graphs())
def test_parents_and_children_hold_the_same_edges(graph):
    count, edges = graph
    dag = built(count, edges)
    assert dag.edges == len(edges)
    for task in range(count):
        assert dag.parents.of(task).tolist() == sorted(p for p, c in edges if c == task)
        assert dag.children.of(task).tolist() == sorted(c for p, c in edges if p == task)


@given(graphs(), st.data())
def test_a_cycle_is_reported_whole(graph, data):
    count, edges = graph
    length = data.draw(st.integers(2, 5))
    ring = {(count + step, count + (step + 1) % length) for step in range(length)}
    entry = {(count, task) for task in range(count)} if data.draw(st.booleans()) else set()
    error = reported(lambda: built(count + length, edges | ring | entry))
    names = error.partition(": ")[2].partition(";")[0].split(" -> ")
    assert names[0] == names[-1]
    assert len(set(names)) == len(names) - 1 == length
    needs = [(int(one[1:]), int(other[1:])) for one, other in pairwise(names)]
    assert set(needs) == ring


def test_of_a_long_cycle_the_middle_is_left_out():
    error = reported(lambda: built(500, {(task, (task + 1) % 500) for task in range(500)}))
    assert "489 more" in error
    assert len(error) < 300


def test_a_workflow_needs_a_task():
    assert "no tasks" in reported(WorkflowBuilder().build)


def test_one_task_is_a_workflow():
    dag = built(1, set())
    assert (len(dag), dag.edges, dag.order.tolist()) == (1, 0, [0])
    assert dag.commands == ()
    assert math.isnan(dag.runtimes[0])


def test_a_need_that_is_no_task_is_reported_with_the_nearest_name():
    flow = WorkflowBuilder()
    flow.task("align")
    flow.task("report", needs=["algin"])
    assert reported(flow.build) == (
        "task 'report' needs 'algin', which is not a task; did you mean 'align'?"
    )


def test_the_nearest_name_is_found_among_very_many():
    flow = WorkflowBuilder()
    for number in range(30_000):
        flow.task(f"align-{number}")
    flow.task("report", needs=["align-29_999"])
    assert "did you mean 'align-29999'" in reported(flow.build)
    flow = WorkflowBuilder()
    flow.task("a", needs=["quite different"])
    assert "which is not a task; add it" in reported(flow.build)


def test_names_are_unique():
    flow = WorkflowBuilder()
    flow.task("a")
    assert reported(lambda: flow.task("a")) == "two tasks are named 'a'; rename one"


def test_nothing_needs_itself():
    flow = WorkflowBuilder()
    flow.task("a", needs="a")
    assert "task 'a' needs itself" in reported(flow.build)
    flow = WorkflowBuilder()
    flow.task("a", reads=["x"], writes=["x"])
    assert "task 'a' reads and writes the file 'x'" in reported(flow.build)


def test_a_file_has_one_writer():
    flow = WorkflowBuilder()
    flow.task("a", writes=["x", "y", "y"])
    flow.task("b", writes=["z", "x"])
    error = reported(flow.build)
    assert "'x' is written by 'a' and by 'b'" in error


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"runtime": -1}, "runtime"),
        ({"runtime": float("nan")}, "runtime"),
        ({"runtime": True}, "runtime"),
        ({"runtime": "soon"}, "soon"),
        ({"runtime": {"disk": 1}}, "unknown part 'disk'"),
        ({"reads": {"x": -1}}, "bytes"),
        ({"reads": ["a\nb"]}, "name of a file"),
        ({"reads": [""]}, "name of a file"),
        ({"run": [""]}, "no command"),
        ({"run": ["a", 1]}, "run"),
        ({"run": ["a\0"]}, "NUL"),
        ({"run": "\ud800"}, "Unicode"),
        ({"priority": 1.5}, "priority"),
        ({"kind": "a\nb"}, "kind"),
        ({"volume": (1, -2)}, "bytes"),
    ],
)
def test_what_a_task_cannot_have_is_reported_with_its_name(options, words):
    error = reported(lambda: WorkflowBuilder().task("align", **options))
    assert error.startswith("task 'align': ")
    assert words in error


def test_a_task_that_was_refused_leaves_no_trace():
    flow, same = WorkflowBuilder(), WorkflowBuilder()
    with pytest.raises(InputError):
        flow.task("a", run="x", needs="z", reads=["p"], writes={"q": -1}, runtime={"cpu": 1})
    with pytest.raises(InputError):
        flow.task("a", run="x", needs="z", reads=["p"], writes=["q"], runtime=1.0, kind="\n")
    for each in (flow, same):
        each.task("a", reads=["r"])
    assert flow.build() == same.build()


@pytest.mark.parametrize("name", ["", "a\nb", None, 7, "\ud800"])
def test_names_are_text_that_can_be_printed(name):
    assert "task 1: the name" in reported(lambda: WorkflowBuilder().task(name))


def test_a_deadline_is_a_time():
    for deadline in (0, -1, 1.5, True, "soon"):
        assert reported(lambda given=deadline: WorkflowBuilder(deadline=given))


def test_kinds_are_names_without_their_number():
    names = ("mAdd_ID0000012", "align-7", "align7", "sort", "42", "a.b.c_3", "x ID")
    assert [kind_of(name) for name in names] == [
        "mAdd", "align", "align", "sort", "42", "a.b.c", "x ID",
    ]  # fmt: skip


def test_a_built_workflow_cannot_be_changed():
    dag = built(3, {(0, 1)}, runtime=1.0)
    for row in (dag.runtimes, dag.order, dag.parents.items, dag.children.starts, dag.kinds):
        with pytest.raises(ValueError, match="read-only"):
            row[0] = 1
    with pytest.raises(AttributeError):
        dag.name = "other"


def test_workflows_are_equal_if_they_hold_the_same():
    one, same = built(4, {(0, 1), (1, 2)}), built(4, {(1, 2), (0, 1)})
    assert one == same
    assert one != built(4, {(0, 1), (1, 3)})
    assert one != built(4, {(0, 1), (1, 2)}, runtime=1)
    assert one != built(4, {(0, 1), (1, 2)}, volume=(7, None))
    assert one == built(4, {(0, 1), (1, 2)}, volume=(None, None))
    assert one != "t0"


def test_two_hundred_thousand_tasks_are_built_and_a_deep_cycle_among_them_is_found():
    count = 200_000
    flow, broken = WorkflowBuilder("large"), WorkflowBuilder("broken")
    for task in range(count):
        needs = [f"t{task - 1}", f"t{task // 2}"] if task else []
        flow.task(f"t{task}", needs=needs, runtime=1.0)
        broken.task(f"t{task}", needs=needs or [f"t{count - 1}"])
    dag = flow.build()
    assert np.array_equal(dag.order, np.arange(count))
    assert dag.edges == 2 * (count - 1) - 2
    assert "wait for each other" in reported(broken.build)
