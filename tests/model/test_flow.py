from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.model.codec import decoder, encode
from bursar.model.flow import Flow
from bursar.model.goal import Goal
from bursar.model.time import HOUR
from bursar.model.workflow import Workflow


def variants():
    flow = Workflow("variants", owner="ann", priority=3, deadline="2h")
    flow.task("split", run="./split in.fa", reads=["in.fa"], writes={"a.fa": 40, "b.fa": 50})
    flow.task("align-1", run=["./align", "a fa"], reads=["a.fa"], writes=["a.bam"], runtime=60)
    flow.task("align-2", reads=["b.fa"], runtime={"cpu": 5, "io": 2}, priority=7)
    flow.task("merge", needs=["align-1", "align-2"], volume=(10, None), kind="last")
    return flow.build()


def test_nothing_of_a_workflow_is_lost_in_a_journal():
    dag = variants()
    flow = decoder(Flow).decode(encode(Flow.of(dag)))
    assert flow == Flow.of(dag)
    assert flow.dag() == dag


@given(st.lists(st.sets(st.integers(0, 30)), min_size=1, max_size=30))
def test_edges_survive_the_journal(needs):
    work = Workflow("random")
    for task, needed in enumerate(needs):
        work.task(str(task), needs=[str(one) for one in needed if one < task])
    dag = work.build()
    assert Flow.of(dag).dag() == dag


def test_a_task_has_a_command_files_and_a_line_for_people():
    flow = Flow.of(variants())
    assert flow.count == 4
    assert flow.command(1) == ("./align", "a fa")
    assert flow.reads(0) == ["in.fa"]
    assert flow.writes(0) == ["a.fa", "b.fa"]
    told = [flow.describe(task) for task in range(4)]
    assert told == ["split: ./split in.fa", "align-1: ./align 'a fa'", "align-2", "merge"]


@pytest.mark.parametrize("task", [0, 1])
def test_a_workflow_without_commands_or_files_has_none(task):
    work = Workflow("bare")
    work.task("a")
    work.task("b", needs="a")
    flow = Flow.of(work.build())
    assert flow.command(task) == ()
    assert flow.reads(task) == flow.writes(task) == []


def test_the_deadline_of_a_workflow_is_the_goal_unless_another_is_told():
    flow = Flow.of(variants())
    assert flow.goal(Goal()).deadline == 2 * HOUR
    assert flow.goal(Goal(deadline=HOUR)).deadline == HOUR
