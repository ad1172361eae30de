import gzip
import json

import pytest

from bursar.formats.wfformat import write_wfformat
from bursar.formats.workflow import parse_workflow, read_workflow, read_workflows
from bursar.model.errors import InputError
from bursar.model.time import HOUR

FLOW = """
name: variants
owner: ann
priority: 2
deadline: 2h
defaults: {runtime: 30s, priority: 1}
tasks:
  split:
    run: ./split genome.fa
    files: {in: genome.fa, out: {a.fa: 40 MB, b.fa: 1.5KiB, c.fa: 7, d.fa: }}
  align-a:
    run: [./align, a.fa]
    files: {in: [a.fa], out: a.bam}
    runtime: {cpu: 50s, io: 10s}
    priority: 9
  merge:
    kind: gather
    needs: [align-a, split]
  last:
"""
TOML = """
name = "variants"
owner = "ann"
priority = 2
deadline = "2h"
[defaults]
runtime = "30s"
priority = 1
[tasks.split]
run = "./split genome.fa"
files.in = "genome.fa"
files.out = ["a.fa", "b.fa", "c.fa", "d.fa"]
[tasks.align-a]
run = ["./align", "a.fa"]
files = {in = {"a.fa" = "40 MB", "b.fa" = 1536, "c.fa" = 7}, out = "a.bam"}
runtime = {cpu = "50s", io = "10s"}
priority = 9
[tasks.merge]
kind = "gather"
needs = ["align-a", "split"]
[tasks.last]
"""
COMPACT = {"kind": "tiny", "name": ["a"], "runtime": [1.0], "parents": [[]]}


def reported(text, source="f.yaml"):
    with pytest.raises(InputError) as refusal:
        parse_workflow(text.encode(), source)
    assert str(refusal.value).isprintable()
    return str(refusal.value)


def test_a_workflow_file_is_read():
    dag = parse_workflow(FLOW.encode(), "f.yaml")
    assert (dag.name, dag.owner, dag.priority, dag.deadline) == ("variants", "ann", 2, 2 * HOUR)
    split, align, merge, last = (dag.task(number) for number in range(4))
    assert split.command == ("/bin/sh", "-c", "./split genome.fa")
    assert split.reads == {"genome.fa": None}
    assert split.writes == {"a.fa": 40_000_000, "b.fa": 1536, "c.fa": 7, "d.fa": None}
    assert split.runtime == 30.0
    assert align.command == ("./align", "a.fa")
    assert align.needs == ("split",)
    assert align.parts == {"cpu": 50.0, "io": 10.0, "network": 0.0}
    assert (align.priority, merge.priority) == (9, 1)
    assert merge.kind == "gather"
    assert merge.needs == ("split", "align-a")
    assert last.needs == ()


def test_yaml_toml_and_json_say_the_same():
    table = {
        "tasks": {"a": {"run": "x", "runtime": "2s"}, "b": {"needs": "a", "files": {"in": "f"}}}
    }
    yaml = "tasks:\n  a: {run: x, runtime: 2s}\n  b: {needs: a, files: {in: f}}\n"
    toml = '[tasks.a]\nrun = "x"\nruntime = "2s"\n[tasks.b]\nneeds = "a"\nfiles.in = "f"\n'
    found = [parse_workflow(text.encode()) for text in (json.dumps(table), yaml, toml)]
    assert found[0] == found[1] == found[2]
    merged = parse_workflow(TOML.encode(), "f.toml")
    assert merged.runtimes.tolist() == parse_workflow(FLOW.encode()).runtimes.tolist()
    assert merged.children == parse_workflow(FLOW.encode()).children


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "f.yaml: the file: is empty"),
        ("a", "f.yaml: the file: must be a table"),
        ("tasks:", "f.yaml: no tasks"),
        ("task: {}", "unknown key 'task'; did you mean 'tasks'"),
        ("tasks: [a]", "'tasks' is a list; write it as a table, NAME: {run: COMMAND}"),
        ("tasks: {a: x}", "task 'a': must be a table"),
        ("tasks: {a: {runs: x}}", "task 'a': unknown key 'runs'; did you mean 'run'"),
        ("tasks: {a: {run: 7}}", "task 'a': run: must be a command"),
        ("tasks: {a: {run: [x, 7]}}", "task 'a': run: must be"),
        ("tasks: {a: {needs: [7]}}", "task 'a': needs: must be a name"),
        ("tasks: {a: {needs: b}}", "task 'a' needs 'b', which is not a task"),
        ("tasks: {a: {files: x}}", "task 'a': files: must be a table with in, out"),
        ("tasks: {a: {files: {input: x}}}", "unknown key 'input'; known: in, out"),
        ("tasks: {a: {files: {in: {x: big}}}}", "in: 'big' is not a size"),
        ("tasks: {a: {files: {in: {x: -1}}}}", "in: '-1' is not a size"),
        ("tasks: {a: {runtime: 7}}", "task 'a': runtime: must be a duration with its unit"),
        ("tasks: {a: {runtime: {cpu: 7}}}", "task 'a': runtime: must be a duration"),
        ("tasks: {a: {runtime: {gpu: 7s}}}", "task 'a': runtime: unknown part 'gpu'"),
        ("tasks: {a: {priority: high}}", "task 'a': priority: must be a whole number"),
        ("defaults: {needs: a}\ntasks: {a: {}}", "defaults: unknown key 'needs'"),
        ("tasks: {a: {}}\ndeadline: soon", "deadline: 'soon'"),
        ("tasks:\n  a:\n  a:\n", "f.yaml, line 3: 'a' appears a second time"),
        ("tasks: {a: {needs: b}, b: {needs: a}}", "a -> b -> a"),
    ],
)
def test_mistakes_are_reported_in_a_line_that_says_where(text, words):
    assert words in reported(text)


def test_a_workflow_without_a_name_has_that_of_its_file(tmp_path):
    (tmp_path / "night.yaml").write_text("tasks: {a: }")
    assert read_workflow(tmp_path / "night.yaml").name == "night"
    assert parse_workflow(b"tasks: {a: }", "standard input").name == "workflow"


def test_the_format_is_found_by_what_a_file_holds(tmp_path):
    own = parse_workflow(FLOW.encode())
    trace = "task_id\tname\trealtime\n1\tA (x)\t1s\n"
    texts = {
        b"<adag name='dax'><job id='1' name='j'/></adag>": "dax",
        b"\xef\xbb\xbf  <adag name='bom'><job id='1' name='j'/></adag>": "bom",
        write_wfformat(own): "variants",
        json.dumps(COMPACT).encode(): "tiny",
        trace.encode(): "trace",
        TOML.encode(): "variants",
        FLOW.encode(): "variants",
        b"# said first\n\n[tasks.a]\n": "workflow",
    }
    for text, name in texts.items():
        assert parse_workflow(text).name == name
        (tmp_path / "flow").write_bytes(gzip.compress(text))
        assert read_workflow(tmp_path / "flow").name == name
    assert parse_workflow(write_wfformat(own)) == own


def test_of_several_workflows_one_is_chosen(tmp_path):
    path = tmp_path / "many.jsonl"
    path.write_text("\n".join(json.dumps({**COMPACT, "kind": kind}) for kind in "xyz"))
    assert read_workflow(path, 2).name == "y"
    assert [dag.name for dag in read_workflows(path)] == ["x", "y", "z"]
    with pytest.raises(InputError, match="holds 3 workflows; choose one with number="):
        read_workflow(path)
    with pytest.raises(InputError, match="no workflow 4; use 1 to 3"):
        read_workflow(path, 4)
    path.write_text(json.dumps(COMPACT))
    assert read_workflow(path, 1) == read_workflow(path) == next(read_workflows(path))
    with pytest.raises(InputError, match="it holds one"):
        read_workflow(path, 2)


CUT = gzip.compress(b"tasks: {a: }", mtime=0)[:-4]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        pytest.param(b"\x1f\x8b broken", "cannot be unpacked", id="no gzip"),
        pytest.param(CUT, "cannot be unpacked", id="cut off"),
        pytest.param(b"tasks:\n  \xff: ", "line 2: not UTF-8 text", id="no UTF-8 in YAML"),
        pytest.param(b"{", "not valid JSON", id="begins only"),
        pytest.param(b'{"a": "\xff"}', "not UTF-8", id="no UTF-8 in JSON"),
        pytest.param(
            b'{"tasks": {"a": {}, "b": {}, "a": {}}}', "'a' appears a second time", id="twins"
        ),
        pytest.param(b"[" * 100_000, "not valid TOML", id="deep lists"),
        pytest.param(b'{"tasks": ' * 100_000, "not valid JSON", id="deep tables"),
    ],
)
def test_files_that_are_nothing_are_reported(tmp_path, data, words):
    path = tmp_path / "flow"
    path.write_bytes(data)
    with pytest.raises(InputError) as refusal:
        read_workflow(path)
    assert words in str(refusal.value)
    assert str(path) in str(refusal.value)


def test_a_file_that_is_not_there_is_reported(tmp_path):
    with pytest.raises(InputError, match="cannot read the workflow"):
        read_workflow(tmp_path / "none.yaml")
