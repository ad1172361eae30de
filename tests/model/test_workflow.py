from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.model.codec import decoder, encode
from bursar.model.goal import Goal
from bursar.model.time import HOUR
from bursar.model.work import Bag, Work
from bursar.model.workflow import Workflow
from bursar.model.workflow_builder import WorkflowBuilder


def variants():
    flow = WorkflowBuilder("variants", owner="ann", priority=3, deadline="2h")
    flow.task("split", run="./split in.fa", reads=["in.fa"], writes={"a.fa": 40, "b.fa": 50})
    flow.task("align-1", run=["./align", "a fa"], reads=["a.fa"], writes=["a.bam"], runtime=60)
    flow.task("align-2", reads=["b.fa"], runtime={"cpu": 5, "io": 2}, priority=7)
    flow.task("merge", needs=["align-1", "align-2"], volume=(10, None), kind="last")
    return flow.build()


def test_nothing_of_a_workflow_is_lost_in_a_journal():
    dag = variants()
    flow = decoder(Workflow).decode(encode(Workflow.of(dag)))
    assert flow == Workflow.of(dag)
    assert flow.dag == msgspec.structs.replace(dag, owner="", priority=0, deadline=None)


@given(st.lists(st.sets(st.integers(0, 30)), min_size=1, max_size=30))
def test_edges_survive_the_journal(needs):
    work = WorkflowBuilder("random")
    for task, needed in enumerate(needs):
        work.task(str(task), needs=[str(one) for one in needed if one < task])
    dag = work.build()
    assert decoder(Workflow).decode(encode(Workflow.of(dag))).dag == dag


def test_the_arrays_of_a_workflow_are_made_once():
    dag = variants()
    assert Workflow.of(dag).dag is dag
    flow = decoder(Workflow).decode(encode(Workflow.of(dag)))
    assert flow.dag is flow.dag
    assert not flow.dag.runtimes.flags.writeable


def test_a_task_has_a_command_files_and_a_line_for_people():
    flow = Workflow.of(variants())
    assert flow.count == 4
    assert flow.command(1) == ("./align", "a fa")
    assert flow.reads(0) == ["in.fa"]
    assert flow.writes(0) == ["a.fa", "b.fa"]
    reported = [flow.describe(task) for task in range(4)]
    assert reported == ["split: ./split in.fa", "align-1: ./align 'a fa'", "align-2", "merge"]


@pytest.mark.parametrize("task", [0, 1])
def test_a_workflow_without_commands_or_files_has_none(task):
    work = WorkflowBuilder("bare")
    work.task("a")
    work.task("b", needs="a")
    flow = Workflow.of(work.build())
    assert flow.command(task) == ()
    assert flow.reads(task) == flow.writes(task) == []


def test_what_a_file_tells_of_owner_priority_and_deadline_is_reported_by_the_work():
    work = Work.of_dag(variants())
    assert (work.owner, work.priority, work.deadline) == ("ann", 3, 2 * HOUR)
    assert work.tasks is work.workflow
    assert b"ann" not in encode(work.tasks)
    assert Work(Bag(1)).workflow is None


def test_the_deadline_of_a_work_is_the_goal_unless_another_is_reported():
    work = Work.of_dag(variants())
    assert work.goal(Goal()).deadline == 2 * HOUR
    assert work.goal(Goal(deadline=HOUR)).deadline == HOUR
