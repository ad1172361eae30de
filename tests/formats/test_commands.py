"""What is typed after `bursar run` is read as GNU parallel reads it."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bursar.formats.commands import Source, combine, command_bag, parse_command, split_words
from bursar.formats.params import Params
from bursar.model.errors import EmptyListError, InputError

SHELL = {"shell": True}


def parse_words(words, **options):
    """The bag of a command line: a command, `:::` and arguments."""
    command, sources = split_words(words)
    return command_bag(command, sources, **options)


def commands(*words, **options):
    bag = parse_words(words, **options)
    return [" ".join(bag.command(index)[2 if bag.shell else 1 :]) for index in range(bag.count)]


# What GNU parallel 20221122 printed for: parallel -k echo ...
@pytest.mark.parametrize(
    ("words", "printed"),
    [
        ("::: a b ::: c d", "a c, a d, b c, b d"),
        ("{} ::: a b ::: c d", "a c, a d, b c, b d"),
        ("{2} {1} {#} ::: a b ::: c d e", "c a 1, d a 2, e a 3, c b 4, d b 5, e b 6"),
        ("{1} {2} ::: a b c :::+ d e", "a d, b e"),
        ("{1} {2} ::: a b :::+ d e f g", "a d, b e"),
        ("{1} {2} {3} ::: a b :::+ d e f ::: x y", "a d x, a d y, b e x, b e y"),
        ("{1} {2} {3} ::: x y ::: a b :::+ d e", "x a d, x b e, y a d, y b e"),
        ("{1.} {1/} {1//} {1/.} ::: a/b.c ::: q", "a/b b.c a b"),
        ("{.} ::: a/b.c ::: c.d/e.f", "a/b c.d/e"),
        ("{1} ::: {2} ::: x", "{2}"),
        ("{name} ::: a", "{name} a"),
        ("[{}] :::: f1", "[l1], [l2], [], [l4]"),
        ("[{1}] [{2}] :::: f1 ::::+ f3", "[l1] [x1], [l2] [x2]"),
        ("{1} {2} {3} ::: a b ::::+ f1 f3", "a l1 x1, b l2 x2"),
        ("{1} {2} {3} ::: a b :::: f1 ::::+ f3", "a l1 x1, a l2 x2, b l1 x1, b l2 x2"),
        ("{1} {2} :::: f3 f3", "x1 x1, x1 x2, x2 x1, x2 x2"),
    ],
)
def test_sources_give_the_commands_that_gnu_parallel_gives(words, printed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f1").write_text("l1\nl2\n\nl4")
    (tmp_path / "f3").write_text("x1\nx2\n")
    assert commands("echo", *words.split()) == printed.split(", ")


def test_a_single_word_is_taken_apart_as_a_shell_does():
    bag = parse_words(["./sim.sh --title 'two words' {}", ":::", "a b"])
    assert bag.command(0) == ("./sim.sh", "--title", "two words", "a b")
    assert parse_words(["./sim.sh", ":::", "1"]).command(0) == ("./sim.sh", "1")


def test_several_words_are_the_argument_list_as_it_is():
    bag = parse_words(["echo", "'two words'", "a | b", "$HOME", ":::", "1"])
    assert bag.command(0) == ("echo", "'two words'", "a | b", "$HOME", "1")


def test_with_a_shell_the_words_are_one_command_for_it():
    bag = parse_words(["echo", "{}", "|", "tr", "a", "b", ":::", "a'a"], **SHELL)
    answer = subprocess.run(bag.command(0), capture_output=True, check=True)
    assert answer.stdout == b"b'b\n"
    assert bag.describe(0) == """echo 'a'"'"'a' | tr a b"""


@settings(max_examples=40)
@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8),
        min_size=1,
        max_size=4,
    ),
    st.booleans(),
)
def test_a_process_gets_exactly_what_was_typed(values, shell):
    typed = [f"x{value}" for value in values]  # so that none is a separator
    bag = parse_words(["printf '%s\\000' {}", ":::", *typed], shell=shell)
    got = [
        subprocess.run(bag.command(index), capture_output=True, check=True).stdout.decode()
        for index in range(bag.count)
    ]
    assert got == [f"{value}\0" for value in typed]


def test_a_command_without_arguments_can_be_repeated():
    assert commands("echo", "{#}", repeat=3) == ["1", "2", "3"]
    assert commands("echo {#} | cat", repeat=2, **SHELL) == ["echo 1 | cat", "echo 2 | cat"]


def test_arguments_are_repeated_all_over():
    assert commands("echo", ":::", "a", "b", repeat=2) == ["a", "b", "a", "b"]


def test_parameters_fill_the_placeholders_of_their_columns():
    params = Params(("rate", "layer size"), (("0.1", "8"), ("0.2", "16")), "sweep.csv")
    words = ["train --rate {rate} '{layer size}' {2} {}"]
    assert commands(*words, params=params) == ["--rate 0.1 8 8 0.1 8", "--rate 0.2 16 16 0.2 16"]


def test_lines_of_standard_input_are_arguments(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"one\r\ntwo\r\n")))
    assert commands("echo", "::::", "-") == ["one", "two"]


@given(st.lists(st.lists(st.text(), min_size=1, max_size=4), min_size=1, max_size=4))
def test_there_is_a_task_for_every_combination(values):
    rows = combine([Source(values=tuple(source)) for source in values])
    product = [()]
    for source in values:
        product = [(*row, value) for row in product for value in source]
    assert rows == product


@given(st.lists(st.lists(st.text(), min_size=1, max_size=5), min_size=1, max_size=4))
def test_linked_sources_are_as_long_as_the_shortest(values):
    linked = [Source(values=tuple(source), linked=at > 0) for at, source in enumerate(values)]
    assert combine(linked) == list(zip(*values, strict=False))


def test_the_words_are_divided_at_the_separators():
    assert split_words(["a b", ":::", "1", "::::+", "f", "g"]) == (
        "a b",
        (
            Source(values=("1",)),
            Source(file="f", linked=True),
            Source(file="g", linked=True),
        ),
    )
    assert split_words(["a", "b"]) == (("a", "b"), ())
    assert split_words([]) == ((), ())


@pytest.mark.parametrize(
    "command",
    ["sort -t '|' {}", 'echo "a | b" {}', "find {} -name x \\; -print", "curl 'http://x/?a&b={}'"],
)
def test_operators_of_a_shell_are_fine_between_quotes(command):
    assert "{}" in " ".join(parse_command(command))


@pytest.mark.parametrize(
    ("words", "options", "message"),
    [
        (["./sim.sh"], {}, "the command has no arguments: give them after ':::'"),
        (["./sim.sh {}"], {}, "or run it as it is with --repeat N"),
        ([], {}, "the command has no arguments"),
        ([":::", "a"], {}, "there is no command; write one, for example 'sh -c {}'"),
        (["", ":::", "a"], {}, "there is no command"),
        (["x 'y {}", ":::", "a"], {}, "the command 'x 'y {}': no closing quotation; fix"),
        (["x y\\", ":::", "a"], {}, "no escaped character; fix the quotes"),
        (["x", ":::", "a", ":::"], {}, "no argument after ':::'"),
        (["x", "::::"], {}, "no file after '::::'; name one, or - for standard input"),
        (["x", ":::+", "a"], {}, "':::+' goes along with the arguments before it"),
        (["x", "::::+", "a"], {}, "there are none; write '::::'"),
        (["x", "::::", "/nonexistent/f"], {}, "/nonexistent/f: cannot read the argument file"),
        (["x", "::::", "/dev/null", "/dev/null"], {}, "/dev/null: no arguments; write one on each"),
        (["x", "{2}", ":::", "a"], {}, "{2}: a task has 1 argument"),
        (["x {} > out", ":::", "a"], {}, "'>' needs a shell; add --shell"),
        (["x {} | y", ":::", "a"], {}, "'|' needs a shell; add --shell"),
        (["cd x; y {}", ":::", "a"], {}, "';' needs a shell"),
        (["x"], {"repeat": 0}, "to repeat less than once gives no task"),
        (["x", "{}"], {"repeat": 2}, "{}: a task has 0 arguments"),
        (
            ["x", ":::", "a"],
            {"repeat": 10_000_001},
            "too many repetitions: a bag has at most",
        ),
        (["x"], {"repeat": 10**12}, "too many tasks: a bag has at most 10,000,000"),
        (["x", *([":::", *"abcdefghij"] * 8)], {}, "the arguments give 100,000,000 tasks"),
    ],
)
def test_a_mistake_is_reported_in_one_line(words, options, message):
    with pytest.raises(InputError) as refusal:
        parse_words(words, **options)
    assert message in str(refusal.value)
    assert str(refusal.value).isprintable()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["x {beta}"], "sweep.csv: no column 'beta' for {beta}; the columns are alpha, two words"),
        (["x {two words}"], "put quotes around {two words}"),
        (["x", ":::", "a"], "arguments (':::') and parameters (--params) do not go together"),
    ],
)
def test_a_mistake_about_parameters_names_their_file(words, message):
    params = Params(("alpha", "two words"), (("1", "2"),), "sweep.csv")
    with pytest.raises(InputError) as refusal:
        parse_words(words, params=params)
    assert message in str(refusal.value)


def test_a_list_that_is_empty_is_no_mistake(tmp_path):
    (tmp_path / "empty").write_text("")
    for words in (["x", ":::"], ["x", "::::", str(tmp_path / "empty")]):
        with pytest.raises(EmptyListError, match="nothing to do") as nothing:
            parse_words(words)
        assert nothing.value.exit_code == 0
