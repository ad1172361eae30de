"""A file is known by what it holds; a program stays a command."""

import gzip
import json

import pytest

from bursar.formats.job import Job
from bursar.formats.recognise import named_kind
from bursar.model.errors import InputError

DAX = b'<?xml version="1.0"?>\n<!-- by hand -->\n<adag name="x"><job id="a"/></adag>'
TRACE = b"task_id\thash\tname\tstatus\trealtime\n1\tab/cd\tALIGN (1)\tCOMPLETED\t3s\n"
WFFORMAT = json.dumps({"name": "x", "schemaVersion": "1.5", "workflow": {}}).encode()
COMPACT = b'{"kind": "m", "name": ["a"], "runtime": [1.0], "parents": [[]]}'
YAML = b"# mine\nname: x\ntasks:\n  a: {run: echo}\n"
TOML = b'name = "x"\n[tasks.a]\nrun = "echo"\n'
JOB = b'command = "echo {}"\nargs = ["a"]\n'
WORKFLOWS = {
    "dax": DAX,
    "prefixed": DAX.replace(b"adag", b"p:adag"),
    "utf16": DAX.decode().encode("utf-16"),
    "packed": gzip.compress(DAX),
    "trace": TRACE,
    "wfformat": WFFORMAT,
    "compact": COMPACT,
    "yaml": YAML,
    "flow-yaml": b"{name: x, tasks: {a: {run: echo}}}",
    "toml": TOML,
    "marked": b"\xef\xbb\xbf" + YAML,
}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["x.xml", "trace.txt", "flow", "my flow.dat", "./x", "sub/x.log"])
@pytest.mark.parametrize("data", WORKFLOWS.values(), ids=WORKFLOWS)
def test_a_workflow_is_known_by_what_it_holds(here, name, data):
    (here / "sub").mkdir()
    (here / name).write_bytes(data)
    assert named_kind(name) == "workflow"
    assert Job.from_command_line([name], {}).workflow == name


@pytest.mark.parametrize("name", ["job.toml", "job.txt", "night"])
def test_a_job_file_is_known_by_what_it_holds(here, name):
    (here / name).write_bytes(JOB)
    assert named_kind(name) == "job"
    assert Job.from_command_line([name], {}).command == "echo {}"


@pytest.mark.parametrize(
    "data",
    [
        b"#!/bin/sh\ntasks: \n",
        b"#!/bin/sh\n",
        b"\x7fELF\x02\x01",
        b"#!/usr/bin/env python3\n" + JOB,
    ],
)
@pytest.mark.parametrize("name", ["./x.sh", "./flow.yaml", "./job.toml"])
def test_a_program_stays_a_command(here, name, data):
    (here / name).write_bytes(data)
    (here / name).chmod(0o755)
    assert named_kind(name) is None
    assert Job.from_command_line([name], {}).command == name


def test_a_format_stays_one_where_everything_may_be_executed(here):
    (here / "x.xml").write_bytes(DAX)
    (here / "x.xml").chmod(0o755)
    assert named_kind("./x.xml") == "workflow"


@pytest.mark.parametrize(
    "data", [b"", b"hello\n", b"<html></html>", b"echo tasks\n", b"a,b\n1,2\n", b"\x1f\x8bbroken",
             b'command = "x" and more\n', b"\xff\xfe\x00"],
)  # fmt: skip
def test_anything_else_is_a_command(here, data):
    (here / "x").write_bytes(data)
    assert named_kind("./x") is None


@pytest.mark.parametrize(
    ("word", "kind"),
    [("none.yaml", "workflow"), ("none.json.gz", "workflow"), ("none.toml", "job"), ("sort", None),
     ("./tool none.yaml", None), ("./tool none.toml", None), ("", None), ("a\0b.yaml", None),
     ("x" * 5000, None), (".", None)],
)  # fmt: skip
def test_what_is_not_there_is_known_by_its_name(word, kind):
    assert named_kind(word) == kind


def test_a_broken_file_is_reported_by_the_reader_that_its_name_asks_for(here):
    (here / "flow.yaml").write_text("taskz: 3")
    (here / "job.toml").write_text("command = \n")
    assert named_kind("flow.yaml") == "workflow"
    with pytest.raises(InputError, match="not valid TOML"):
        Job.from_command_line(["job.toml"], {})


def test_a_word_that_is_a_file_and_a_program_is_refused(here):
    (here / "sort").write_bytes(YAML)
    with pytest.raises(InputError, match=r"'sort' is a workflow file here and a program, too; "):
        named_kind("sort")
    assert named_kind("sort", with_arguments=True) is None
    assert Job.from_command_line(["sort", ":::", "a"], {}).command == "sort"
    assert named_kind("./sort") == "workflow"
    assert named_kind("/usr/bin/sort") is None


@pytest.mark.parametrize("name", ["gone.xml", "gone.dax", "gone.yaml", "gone.json.gz"])
def test_a_workflow_file_that_is_not_there_is_no_command(here, name):
    assert named_kind(name) == "workflow"
