"""Files within directories that are files of the same workflow, and names in plain form."""

from __future__ import annotations

import pytest

from bursar.model.nested_files import made_by, nested, plain_name
from bursar.model.workflow_builder import WorkflowBuilder


def edges(**tasks):
    """The edges of tasks that are given by what they read and what they write."""
    flow = WorkflowBuilder()
    for name, (reads, writes) in tasks.items():
        flow.task(name, reads=reads, writes=writes)
    dag = flow.build()
    return {
        f"{dag.names[parent]}{dag.names[task]}"
        for task in range(len(dag))
        for parent in dag.parents.of(task)
    }


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("./x", "x"),
        ("d//x", "d/x"),
        ("d/./x", "d/x"),
        ("d/", "d"),
        ("/tmp//x", "/tmp/x"),
        ("../x", "../x"),
        ("d/../x", "d/../x"),
        (".x", ".x"),
        ("x.", "x."),
        ("a./b", "a./b"),
        ("./", "."),
        ("/", "/"),
        ("https://data.example.org/./x/", "https://data.example.org/./x/"),
    ],
)
def test_a_name_has_one_plain_form(name, plain):
    assert plain_name(name) == plain


def test_a_file_is_the_same_however_it_is_written():
    assert edges(a=((), "./x"), b=("x", "d//y"), c=("d/y", ())) == {"ab", "bc"}


def test_two_spellings_of_one_file_have_one_size():
    flow = WorkflowBuilder()
    flow.task("a", writes={"x": 3, "./x": 5})
    assert flow.build().task(0).writes == {"x": 5}


def test_who_reads_within_a_directory_waits_for_who_writes_it():
    assert edges(a=((), "d"), b=("d/x", ()), c=("d/deep/x", ())) == {"ab", "ac"}


def test_who_writes_the_file_itself_comes_before_who_writes_its_directory():
    assert edges(a=((), "d"), b=((), "d/x"), c=("d/x", ())) == {"bc"}


def test_the_nearest_directory_counts():
    assert edges(a=((), "d"), b=((), "d/e"), c=("d/e/x", ())) == {"bc"}


def test_who_reads_a_directory_waits_for_all_that_write_within_it():
    assert edges(a=((), "d/x"), b=((), "d/e/y"), c=("d", ())) == {"ac", "bc"}


def test_who_writes_in_the_directory_that_it_reads_waits_for_no_other_that_does():
    assert edges(a=("d", "d/x"), b=("d", "d/y"), c=("d", ())) == {"ac", "bc"}


def test_names_that_only_begin_alike_lie_apart():
    assert edges(a=((), "d"), b=("d.x", ()), c=("dd/x", ())) == set()
    assert list(nested(["d", "d.x", "dd/x", "d/x", "/d/x"])) == [(0, 3)]


def test_what_is_written_brings_what_lies_within_and_around_it():
    names = ["d", "d/x", "e", "e/y", "f"]
    assert made_by(names, {0, 3}) == {0, 1, 2, 3}
