"""Bags: a template and rows become the commands of tasks."""

from __future__ import annotations

import os
import subprocess
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bursar.model.errors import InputError
from bursar.model.work import LARGEST_BAG, Bag, make_bag, repeated_bag

SHELL = {"shell": True}
arguments = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


def test_without_a_placeholder_the_arguments_are_appended():
    assert make_bag(["echo", "x"], [("a", "b")]).command(0) == ("echo", "x", "a", "b")
    assert make_bag(["echo x"], [("a b",)], **SHELL).describe(0) == "echo x 'a b'"
    assert make_bag(["echo"], [("1", "2")], ["a", "b"]).command(0) == ("echo", "1", "2")


def test_a_word_that_is_a_placeholder_becomes_a_word_for_each_argument():
    bag = make_bag(["cp", "{}", "{/}", "to {}"], [("a/x 1", "b/y")])
    assert bag.command(0) == ("cp", "a/x 1", "b/y", "x 1", "y", "to a/x 1 b/y")


def test_tasks_are_numbered_from_one():
    bag = make_bag(["echo", "{#}", "{}"], [("a",), ("b",)])
    assert [bag.command(index) for index in range(bag.count)] == [
        ("echo", "1", "a"),
        ("echo", "2", "b"),
    ]


def test_the_place_where_a_task_runs_is_reported_by_its_environment():
    for template, shell in (
        (["printf", "%s,%s|", "x{%}y", "{%}", "{}", "a'{}'{%}"], False),
        (["printf %s,%s\\| x{%}y {%} {} \"a'\"{}\\''{%}'"], True),
    ):
        bag = make_bag(template, [("1 $x",), ("",)], shell=shell)
        run = partial(subprocess.run, capture_output=True, text=True, check=True)
        reported = run(bag.command(0), env={**os.environ, "BURSAR_JOB_SLOT": "7"}).stdout
        assert reported == "x7y,7|1 $x,a'1 $x'7|"
        assert bag.describe(0).startswith("printf")
        assert "{%}" in bag.describe(0)


def test_a_placeholder_of_gnu_parallel_alone_is_refused_in_one_line():
    for word in ("{= s/a/b/ =}", "{..}", "{1/..}"):
        for shell in (False, True):
            with pytest.raises(InputError, match="bursar has no such placeholder") as refusal:
                make_bag(["echo", word], [("a",)], shell=shell)
            assert word in str(refusal.value)
    assert make_bag(["echo", "{%}"], [("x", "y")], ["%", "b"]).command(0) == ("echo", "x")


def test_only_the_number_tells_repeated_tasks_apart():
    bag = repeated_bag(["echo", "{#}", "{name}"], 3)
    assert bag.count == 3
    assert bag.command(2) == ("echo", "3", "{name}")
    assert repeated_bag(["echo {#} | cat"], 2, **SHELL).command(1)[2] == "echo 2 | cat"


@given(st.lists(arguments, min_size=1, max_size=4))
def test_an_argument_reaches_the_argument_list_unchanged(row):
    assert make_bag(["x", "{}"], [row]).command(0) == ("x", *row)
    assert make_bag(["x", "<{1}>"], [row]).command(0) == ("x", f"<{row[0]}>")


@settings(max_examples=50)
@given(st.lists(arguments, min_size=1, max_size=3), st.booleans())
def test_a_process_gets_exactly_the_arguments(row, shell):
    template = ["printf '%s\\000' {}"] if shell else ["printf", "%s\\000", "{}"]
    bag = make_bag(template, [row], shell=shell)
    answer = subprocess.run(bag.command(0), capture_output=True, check=True)
    assert answer.stdout.decode() == "".join(f"{value}\0" for value in row)


@given(st.lists(arguments, min_size=1, max_size=3), st.booleans())
def test_a_task_is_described_on_one_line(row, shell):
    assert make_bag(["echo", "{}"], [row], shell=shell).describe(0).isprintable()


def test_a_bag_without_commands_is_described_by_its_label():
    assert Bag(count=3).describe(0) == "task"
    assert Bag(count=3, label="simulate()").describe(2) == "simulate()"


@pytest.mark.parametrize(
    ("template", "rows", "columns", "message"),
    [
        (["x"], [], (), "the bag is empty"),
        ([], [("1",)], (), "there is no command"),
        ([""], [("1",)], (), "there is no command"),
        (["  "], [("1",)], (), "there is no command"),
        (["x", "{3}"], [("1", "2")], (), "{3}: a task has 2 arguments"),
        (["x", "{3.}"], [("1", "2")], (), "{3.}: a task has 2 arguments"),
        (["x", "{0}"], [("1",)], (), "{0}: a task has 1 argument"),
        (["x", "{b}"], [("1",)], ("a",), "no column 'b' for {b}; the columns are a"),
        (["x", "{_b.}"], [("1",)], ("a",), "no column '_b' for {_b.}; the columns are a"),
        (["x"], [("1",), ("1", "2")], (), "task 2 has 2 arguments, but 1 are needed"),
        (["x"], [("1",)], ("a", "b"), "task 1 has 1 argument, but 2 are needed"),
        (["x"], [("1", "2")], ("a", "a"), "the column 'a' appears twice; rename one"),
        (["x"], [("a",), ("a\0b",)], (), "an argument of task 2 contains a NUL character"),
        (["x\0"], [("a",)], (), "the command contains a NUL character"),
        (["x"], [("caf\udce9",)], (), r"an argument of task 1 is not UTF-8 text: 'caf\udce9'"),
    ],
)
def test_a_mistake_is_reported_in_one_line(template, rows, columns, message):
    for shell in (False, True):
        with pytest.raises(InputError) as refusal:
            make_bag(template, rows, columns, shell=shell)
        assert message in str(refusal.value)
        assert str(refusal.value).isprintable()


@pytest.mark.parametrize(
    ("template", "count", "message"),
    [
        (["x"], 0, "the bag is empty: repeat"),
        (["x"], LARGEST_BAG + 1, "too many tasks: a bag has at most 10,000,000"),
        (["x", "{}"], 2, "{}: a task has 0 arguments"),
        (["x", "{1}"], 2, "{1}: a task has 0 arguments"),
        ([], 2, "there is no command"),
    ],
)
def test_a_mistake_in_a_repeated_bag_is_reported_in_one_line(template, count, message):
    with pytest.raises(InputError) as refusal:
        repeated_bag(template, count)
    assert message in str(refusal.value)


def test_braces_of_the_shell_and_of_other_languages_are_left_alone():
    bag = make_bag(["awk {print $1} {} ${HOME} {x:-y}"], [("f",)], ["file"], **SHELL)
    assert bag.command(0)[2] == "awk {print $1} f ${HOME} {x:-y}"
