"""What bursar writes as WfFormat is taken by wfcommons itself, and the other way round.

wfcommons fetches the schema of WfFormat from the network. Where it is not in its cache, the one
below stands for it: what the format's documentation demands. The rest of the validation, and the
loader, are wfcommons' own.
"""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.formats.test_dax_shapes import SHAPES, dax

from bursar.formats.dax import parse_dax
from bursar.formats.wfformat import write_wfformat
from bursar.formats.workflow import read_workflow
from bursar.model.workflow_builder import WorkflowBuilder

ROOT = Path(__file__).parents[2]
PEER = ROOT / ".venv" / "peers" / "bin" / "python"
SIDE = Path(__file__).with_name("wfcommons_side.py")

ID = {"type": "string", "minLength": 1}
IDS = {"type": "array", "items": {**ID, "pattern": "^[0-9a-zA-Z-_.]*$"}}
SCHEMA = {
    "type": "object",
    "required": ["name", "schemaVersion", "workflow"],
    "properties": {
        "name": ID,
        "schemaVersion": {"enum": ["1.5", "1.6"]},
        "workflow": {
            "type": "object",
            "required": ["specification"],
            "properties": {
                "specification": {
                    "type": "object",
                    "required": ["tasks"],
                    "properties": {
                        "tasks": {
                            "type": "array",
                            "minItems": 1,
                            "items": {
                                "required": ["name", "id", "parents", "children"],
                                "properties": {
                                    "name": ID, "id": ID, "parents": IDS, "children": IDS,
                                    "inputFiles": IDS, "outputFiles": IDS,
                                },
                            },
                        },
                        "files": {
                            "type": "array",
                            "items": {
                                "required": ["id", "sizeInBytes"],
                                "properties": {
                                    "id": ID, "sizeInBytes": {"type": "integer", "minimum": 0},
                                },
                            },
                        },
                    },
                },
                "execution": {
                    "required": ["makespanInSeconds", "executedAt", "tasks"],
                    "properties": {
                        "makespanInSeconds": {"type": "number"},
                        "executedAt": ID,
                        "tasks": {
                            "type": "array",
                            "minItems": 1,
                            "items": {
                                "required": ["id", "runtimeInSeconds"],
                                "properties": {"id": ID, "runtimeInSeconds": {"type": "number"}},
                            },
                        },
                    },
                },
            },
        },
    },
}  # fmt: skip


def workflows():
    found = {make.__name__: parse_dax(dax(*make())) for make in SHAPES}
    unknown = WorkflowBuilder("unknown sizes", owner="ann", deadline="2h")
    unknown.task("split", run=["./split"], writes=["a", "b"], runtime=30)
    unknown.task("sort", run="sort a > c", reads={"a": 40}, writes=["c"], runtime={"cpu": 5})
    unknown.task("join", reads=["b", "c"], priority=3)
    found["unknown"] = unknown.build()
    alone = WorkflowBuilder("alone")
    alone.task("one")
    return {**found, "alone": alone.build()}


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    """What wfcommons says of our files, and files that it generated; one process for all."""
    python = sys.executable if find_spec("wfcommons") else str(PEER)
    if not Path(python).exists():
        pytest.skip("wfcommons is not installed: make peers installs it")
    directory = tmp_path_factory.mktemp("wfcommons")
    given, made = directory / "given", directory / "made"
    given.mkdir(), made.mkdir()
    for name, dag in workflows().items():
        for version in ("1.5", "1.6"):
            (given / f"{name}-{version}.json").write_bytes(write_wfformat(dag, version))
    schema = directory / "schema.json"
    schema.write_text(json.dumps(SCHEMA))
    side = subprocess.run(
        [python, SIDE, schema, given, made],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    if "No module named 'wfcommons'" in side.stderr:
        pytest.skip("wfcommons is not installed: make peers installs it")
    assert side.returncode == 0, side.stderr
    return {one.pop("name"): one for one in json.loads(side.stdout)}, made


def test_wfcommons_takes_what_bursar_writes(verdicts):
    for name, dag in workflows().items():
        tasks = [dag.task(number) for number in range(len(dag))]
        sizes = zip(dag.files.names, dag.files.sizes.tolist(), strict=True)
        expected = {
            "errors": [],
            "edges": sorted([need, task.name] for task in tasks for need in task.needs),
            "runtimes": {task.name: task.runtime or 0 for task in tasks},
            "files": {file: max(size, 0) for file, size in sizes},
        }
        for version in ("1.5", "1.6"):
            assert verdicts[0][f"{name}-{version}.json"] == expected


def test_bursar_takes_what_wfcommons_generates(verdicts):
    made = sorted(verdicts[1].glob("*.json"))
    assert len(made) == 3
    for path in made:
        dag = read_workflow(path)
        reported = json.loads(path.read_text())["workflow"]["specification"]
        assert list(dag.names) == [task["id"] for task in reported["tasks"]]
        assert dag.edges == sum(len(task["parents"]) for task in reported["tasks"])
        assert dag.cautions == ()


@pytest.mark.parametrize("name", workflows())
def test_every_file_of_a_task_is_declared_with_a_size(name):
    reported = json.loads(write_wfformat(workflows()[name]))["workflow"]["specification"]
    declared = {file["id"]: file["sizeInBytes"] for file in reported.get("files", ())}
    for task in reported["tasks"]:
        for file in (*task.get("inputFiles", ()), *task.get("outputFiles", ())):
            assert declared[file] >= 0
