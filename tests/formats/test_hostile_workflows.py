"""Whatever a file holds: a workflow, or one line that says what is wrong."""

from __future__ import annotations

import json

from hypothesis import example, given, settings
from hypothesis import strategies as st

from bursar.formats.bharathi import parse_bharathi
from bursar.formats.dax import parse_dax
from bursar.formats.nextflow import parse_nextflow
from bursar.formats.wfformat import parse_wfformat, write_wfformat
from bursar.formats.workflow import parse_workflow, read_workflow, workflow_from_table
from bursar.model.errors import InputError
from bursar.plan.workflow.shape import shape

KEYS = ["name", "owner", "priority", "deadline", "defaults", "tasks", "run", "needs", "files",
        "runtime", "kind", "in", "out", "cpu", "io", "a", "b"]  # fmt: skip
WF_KEYS = ["name", "id", "schemaVersion", "workflow", "specification", "execution", "tasks",
           "files", "parents", "children", "inputFiles", "outputFiles", "sizeInBytes", "command",
           "program", "arguments", "runtimeInSeconds", "priority", "bursar"]  # fmt: skip
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["a", "b", "1h", "5s", "1 MB", "\0", "\x1b[31m", "1.5", "9" * 400, 10**400]),
)


def trees(keys):
    named = st.sampled_from(keys) | st.text(max_size=4)
    return st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(named, inner, max_size=5),
        max_leaves=15,
    )


def answers(call, *arguments):
    """What the call gives; anything but a plain refusal fails the test."""
    try:
        dag = call(*arguments)
    except InputError as refusal:
        assert str(refusal).isprintable()
        assert 0 < len(str(refusal)) < 2000
        return None
    assert shape(dag).depth >= 1
    assert parse_wfformat(write_wfformat(dag)) == dag
    return dag


task_tables = st.fixed_dictionaries(
    {},
    optional={
        "run": st.text(max_size=5) | trees(KEYS),
        "needs": st.sampled_from(["a", "b", ["a", "b"], []]) | trees(KEYS),
        "files": st.fixed_dictionaries({}, optional={"in": trees(KEYS), "out": trees(KEYS)}),
        "runtime": st.sampled_from(["1s", {"cpu": "1s"}]) | trees(KEYS),
        "priority": trees(KEYS),
    },
)
tables = trees(KEYS) | st.fixed_dictionaries(
    {"tasks": st.dictionaries(st.sampled_from("abc") | st.text(max_size=3), task_tables)},
    optional={"name": scalars, "owner": scalars, "priority": scalars, "deadline": scalars},
)


@given(tables)
def test_any_table_is_a_workflow_or_refused(table):
    answers(workflow_from_table, table)


wf_task = st.fixed_dictionaries(
    {"id": st.sampled_from("ab") | st.text(max_size=3), "name": st.text(max_size=3),
     "parents": st.lists(st.sampled_from("ab"), max_size=1),
     "children": st.lists(st.sampled_from("ab"), max_size=1)},
    optional={"inputFiles": st.lists(st.sampled_from(["f", ""])), "kind": scalars,
              "outputFiles": st.lists(st.sampled_from("fg"))},
)  # fmt: skip
wf_run = st.fixed_dictionaries(
    {"id": st.sampled_from("ab"), "runtimeInSeconds": st.floats() | st.integers(-1, 10**30)},
    optional={"command": trees(WF_KEYS), "priority": scalars, "readBytes": scalars},
)
instances = st.fixed_dictionaries(
    {"name": st.text(max_size=4), "schemaVersion": st.sampled_from(["1.5", "1.6", "1.7"]),
     "workflow": st.fixed_dictionaries(
         {"specification": st.fixed_dictionaries({"tasks": st.lists(wf_task, max_size=3)})},
         optional={"execution": st.fixed_dictionaries(
             {"tasks": st.lists(wf_run, max_size=2), "makespanInSeconds": st.just(1),
              "executedAt": st.just("")})})},
    optional={"bursar": trees(WF_KEYS)},
)  # fmt: skip


@given(instances | trees(WF_KEYS))
def test_any_json_is_an_instance_or_refused(tree):
    text = json.dumps(tree)
    answers(parse_wfformat, text)
    answers(parse_workflow, text.encode())


compact = st.fixed_dictionaries(
    {"kind": st.text(max_size=3), "name": st.lists(st.text(max_size=3), max_size=3),
     "runtime": st.lists(st.floats(), max_size=3),
     "parents": st.lists(st.lists(st.integers(-2, 3), max_size=2), max_size=3)},
    optional={"read": scalars | st.lists(st.integers(), max_size=3)},
)  # fmt: skip


@given(compact | trees(["kind", "name", "runtime", "parents"]))
def test_any_json_is_a_compact_workflow_or_refused(tree):
    answers(parse_bharathi, json.dumps(tree))


pieces = ["<adag>", "<adag name='x'>", "</adag>", "<job id='a' name='n'>", "<job id='b'/>",
          "<job/>", "</job>", "<uses file='f' link='input' size='1'/>",
          "<uses name='g' link='inout'/>", "<argument>", "</argument>", "<filename file='f'/>",
          "<child ref='a'>", "</child>", "<parent ref='b'/>", "<!DOCTYPE a>",
          "<?xml version='1.0' encoding='utf-8'?>", "&amp;", "&x;", "<profile key='runtime'>",
          "1.5", "</profile>", "<![CDATA[", "]]>", "<!--"]  # fmt: skip


@settings(max_examples=200)
@given(st.lists(st.sampled_from(pieces), max_size=12).map("".join) | st.text())
@example("<adag>" + "<a>" * 100_000)
@example("<adag><job id='a' runtime='" + "9" * 5000 + "'/></adag>")
@example("<adag><job id='a'><uses file='f' link='input' size='" + "9" * 5000 + "'/></job></adag>")
@example("<adag><job id='a'><uses file='f' link='input' size='²'/></job></adag>")
def test_any_text_is_a_dax_or_refused(text):
    answers(parse_dax, text)
    answers(parse_dax, text.encode("utf-8", "surrogatepass"))


cells = st.sampled_from(
    ["", "-", "1", "a", "A (x)", "1s", "1m 2s", "x", "1.5 MB", "COMPLETED", "²"]
)
columns = st.lists(
    st.sampled_from(["task_id", "name", "process", "status", "realtime", "duration", "rchar"]),
    max_size=6,
)


@given(columns, st.lists(st.lists(cells, max_size=6), max_size=4), st.text(max_size=20))
def test_any_lines_are_a_trace_or_refused(header, rows, rest):
    text = "\n".join("\t".join(row) for row in [header, *rows])
    answers(parse_nextflow, text)
    answers(parse_nextflow, f"task_id\tname\trealtime\n{text}{rest}")


@settings(max_examples=200)
@given(
    st.binary()
    | st.text().map(lambda text: text.encode("utf-8", "surrogatepass"))
    | st.sampled_from([b"\x1f\x8b", b"\xfe\xff", b"\xff\xfe<", b"{}\n{}", b'{"a":1}\n{"b":2}']),
    st.sampled_from(["yaml", "toml", "json", "txt"]),
)
def test_any_bytes_are_a_workflow_or_refused(tmp_path_factory, data, kind):
    path = tmp_path_factory.getbasetemp() / f"hostile-flow.{kind}"
    path.write_bytes(data)
    answers(read_workflow, path)
