import json
from pathlib import Path

import pytest

from bursar.formats.bharathi import parse_bharathi, parse_bharathi_lines
from bursar.formats.workflow import read_workflow, read_workflows
from bursar.model.errors import InputError
from bursar.plan.workflow.shape import shape

SHARED = Path(__file__).parents[3] / "shared/data/bharathi"
"""generated workflows, where they are at hand"""

SMALL = {
    "kind": "montage",
    "name": ["mProjectPP", "mProjectPP", "mDiffFit"],
    "runtime": [13.85, 13.58, 10.59],
    "parents": [[], [], [0, 1]],
    "read": [1, 2, 3],
    "written": [4, 5, 6],
}


def test_tasks_are_named_after_their_kind_and_place():
    dag = parse_bharathi(json.dumps(SMALL))
    assert dag.name == "montage"
    assert dag.names == ("mProjectPP_1", "mProjectPP_2", "mDiffFit_3")
    assert dag.kind_names == ("mProjectPP", "mDiffFit")
    assert dag.parents.of(2).tolist() == [0, 1]
    assert dag.runtimes.tolist() == [13.85, 13.58, 10.59]
    assert dag.volumes.tolist() == [[1, 4], [2, 5], [3, 6]]


def test_many_stand_one_a_line():
    lines = "\n".join([json.dumps(SMALL), "", json.dumps({**SMALL, "kind": "other"}), ""])
    assert [dag.name for dag in parse_bharathi_lines(lines.encode())] == ["montage", "other"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"runtime": [1.0]}, "runtime has 1 entries, but there are 3 tasks"),
        ({"parents": [[], [], [3]]}, "task 'mDiffFit_3' has parent 3"),
        ({"parents": [[], [], [-1]]}, "has parent -1"),
        ({"parents": [[2], [], [0]]}, "mProjectPP_1 -> mDiffFit_3 -> mProjectPP_1"),
        ({"runtime": [1, 2, -3]}, "task 'mDiffFit_3': runtime"),
        ({"name": [1, 2, 3]}, "$.name"),
        ({"name": [], "runtime": [], "parents": [], "read": [], "written": []}, "no tasks"),
    ],
)
def test_mistakes_are_reported_in_a_line_that_says_where(changes, words):
    with pytest.raises(InputError) as refusal:
        parse_bharathi(json.dumps({**SMALL, **changes}), "x.json")
    assert str(refusal.value).startswith("x.json: ")
    assert words in str(refusal.value)


def test_the_line_of_a_mistake_is_reported():
    with pytest.raises(InputError, match="f, line 2: not a compact workflow"):
        list(parse_bharathi_lines(f"{json.dumps(SMALL)}\n{{}}\n".encode(), "f"))


def test_generated_workflows_are_read():
    for path in SHARED.glob("large/*.json.gz"):
        dag = read_workflow(path)
        assert len(dag) > 900
        assert shape(dag).lop > 1
    for path in SHARED.glob("genome.jsonl.gz"):
        assert len(list(read_workflows(path))) == 100
        assert read_workflow(path, 100).name == "genome"
