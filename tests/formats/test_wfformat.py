import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.formats.wfformat import VERSIONS, parse_wfformat, write_wfformat
from bursar.model.errors import InputError
from bursar.model.workflow_builder import WorkflowBuilder

SHARED = sorted((Path(__file__).parents[3] / "shared/data/wfinstances").glob("*.json"))
"""executions of real workflows, where they are at hand"""


def instance(version="1.5", **changes):
    tasks = [
        {"id": "split_1", "name": "split_1", "parents": [], "children": ["align_2", "align_3"],
         "inputFiles": ["in.fa"], "outputFiles": ["a.fa", "b.fa"]},
        {"id": "align_2", "name": "align_2", "parents": ["split_1"], "children": [],
         "inputFiles": ["a.fa"], "outputFiles": ["a.bam"]},
        {"id": "align_3", "name": "align_3", "parents": [], "children": []},
    ]  # fmt: skip
    executions = [
        {"id": "split_1", "runtimeInSeconds": 4.5, "readBytes": 100,
         "command": {"program": "/opt/bin/split", "arguments": ["-n", "2"]}, "priority": 20},
        {"id": "align_2", "runtimeInSeconds": 60, "command": {"program": "bwa mem \\\n x > y"}},
        {"id": "align_3", "runtimeInSeconds": 61, "avgCPU": 90.5, "machines": ["one"]},
    ]  # fmt: skip
    files = [{"id": "in.fa", "sizeInBytes": 1024}, {"id": "a.fa", "sizeInBytes": 512}]
    whole = {
        "name": "made-up",
        "schemaVersion": version,
        "createdAt": "2026-08-04T15:19:28-08:00",
        "workflow": {
            "specification": {"tasks": tasks, "files": files, "metrics": {"numberOfTasks": 3}},
            "execution": {
                "makespanInSeconds": 65.5,
                "executedAt": "2026-08-04T15:20:00-08:00",
                "tasks": executions,
                "machines": [{"nodeName": "one"}],
            },
        },
    }
    return json.dumps({**whole, **changes})


def reported(text):
    with pytest.raises(InputError) as refusal:
        parse_wfformat(text, "x.json")
    assert str(refusal.value).isprintable()
    assert str(refusal.value).startswith("x.json: ")
    return str(refusal.value)


@pytest.mark.parametrize("version", VERSIONS)
def test_an_instance_is_read(version):
    dag = parse_wfformat(instance(version))
    assert dag.name == "made-up"
    assert dag.names == ("split_1", "align_2", "align_3")
    split, align = dag.task(0), dag.task(1)
    assert split.command == ("/opt/bin/split", "-n", "2")
    assert split.priority == 20
    assert split.kind == "split"
    assert split.reads == {"in.fa": 1024}
    assert split.writes == {"a.fa": 512, "b.fa": None}
    assert align.command == ("/bin/sh", "-c", "bwa mem \\\n x > y")
    assert align.kind == "align"
    assert dag.runtimes.tolist() == [4.5, 60.0, 61.0]
    assert dag.volumes.tolist() == [[100, -1], [-1, -1], [-1, -1]]


def test_an_edge_may_be_reported_by_either_end():
    assert parse_wfformat(instance()).children.of(0).tolist() == [1, 2]


def test_a_workflow_that_never_ran_is_read():
    whole = json.loads(instance())
    del whole["workflow"]["execution"]
    dag = parse_wfformat(json.dumps(whole))
    assert np.isnan(dag.runtimes).all()
    assert parse_wfformat(write_wfformat(dag)) == dag


def test_other_versions_are_reported():
    assert "version '1.4'" in reported(instance("1.4"))
    assert "without a schemaVersion" in reported("{}")
    with pytest.raises(InputError, match=r"version '2.0'.*1.5 and 1.6"):
        write_wfformat(parse_wfformat(instance()), "2.0")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda whole: whole.pop("name"), "`name`"),
        (lambda whole: whole["workflow"].pop("specification"), "$.workflow"),
        (lambda whole: tasks(whole).append(tasks(whole)[0]), "two tasks are named 'split_1'"),
        (lambda whole: tasks(whole)[1]["parents"].append("splt_1"), "did you mean 'split_1'"),
        (lambda whole: tasks(whole)[1]["children"].append("split_1"), "wait for each other"),
        (lambda whole: tasks(whole)[1]["children"].append("no"), "has a child 'no'"),
        (lambda whole: ran(whole).append({"id": "x", "runtimeInSeconds": 1}), "'x', which is not"),
        (lambda whole: ran(whole).append(ran(whole)[0]), "'split_1' twice"),
        (lambda whole: ran(whole)[0].update(runtimeInSeconds=-1), "task 'split_1': runtime"),
        (lambda whole: ran(whole)[0].update(runtimeInSeconds="1"), "runtimeInSeconds"),
        (lambda whole: (tasks(whole).clear(), ran(whole).clear()), "no tasks"),
    ],
)
def test_mistakes_are_reported_in_a_line_that_says_where(change, words):
    whole = json.loads(instance())
    change(whole)
    assert words in reported(json.dumps(whole))


def tasks(whole):
    return whole["workflow"]["specification"]["tasks"]


def ran(whole):
    return whole["workflow"]["execution"]["tasks"]


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_written_is_an_instance_of_the_version(version):
    whole = json.loads(write_wfformat(parse_wfformat(instance()), version))
    assert whole["schemaVersion"] == version
    assert all(set(task) >= {"name", "id", "parents", "children"} for task in tasks(whole))
    assert tasks(whole)[0]["children"] == ["align_2", "align_3"]
    execution = whole["workflow"]["execution"]
    assert execution["makespanInSeconds"] == 65.5
    assert execution["executedAt"].startswith("1970")
    assert all(task["runtimeInSeconds"] >= 0 for task in execution["tasks"])


words = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=6)
options = st.fixed_dictionaries(
    {},
    optional={
        "run": st.lists(words, min_size=1, max_size=3) | words,
        "reads": st.dictionaries(words.map("in-{}".format), st.none() | st.integers(0, 9)),
        "runtime": st.floats(0, 1e6) | st.fixed_dictionaries({"cpu": st.floats(0, 9)}),
        "kind": words,
        "priority": st.integers(-9, 9),
        "volume": st.tuples(st.none() | st.integers(0, 9), st.integers(0, 9)),
    },
)


@given(st.dictionaries(words, options, min_size=1, max_size=6), st.data())
def test_what_was_written_is_read_back_equal(given, data):
    flow = WorkflowBuilder("x", owner="ann", priority=data.draw(st.integers(-3, 3)), deadline=7)
    earlier = []
    for name, task in given.items():
        needs = data.draw(st.sets(st.sampled_from(earlier))) if earlier else ()
        flow.task(name, needs=needs, writes=[f"out-{name}"], **task)
        earlier.append(name)
    dag = flow.build()
    for version in VERSIONS:
        assert parse_wfformat(write_wfformat(dag, version)) == dag


def test_executions_of_real_workflows_are_read_and_written():
    for path in SHARED:
        dag = parse_wfformat(path.read_bytes(), path.name)
        assert len(dag) == len(tasks(json.loads(path.read_bytes())))
        assert not np.isnan(dag.runtimes).any()
        assert parse_wfformat(write_wfformat(dag)) == dag
