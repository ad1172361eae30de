"""Whatever an argument holds, /bin/sh reads it as data: tried on the real one."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bursar.model.shell import legible, quoting, script

HOSTILE = [
    "plain",
    "",
    " ",
    "a b",
    "  two  spaces  ",
    "$(touch x)",
    "`touch x`",
    "'; touch x; '",
    '"; touch x; "',
    "'; rm",
    "it's",
    'say "hi"',
    "\\",
    "\\'",
    "$HOME",
    "${1}",
    "$((1+1))",
    "*",
    "~",
    "!!",
    "a\nb",
    "\n",
    "x\ntouch x\n",
    "-n",
    "#comment",
    "a;b&c|d>e<f",
    "{1} {}",
    "BURSAR_ARG_1=oops",
    "größe ∑ 🙂",
    "\x01\x1b[31m\x7f",
    "%s\\0",
    "EOF",
]

# Commands that print exactly the argument, with the placeholder in different quotes.
EXACT = [
    "printf %s {}",
    'printf %s "{}"',
    "printf %s '{}'",
    "printf '%s' ''{}\"\"",
    "printf %s {1}",
    'x={}; printf %s "$x"',
    'x="{}" && printf %s "$x"',
    "f() { printf %s {}; }; f other words",
    "set -- other words; printf %s {}",
    "(printf %s {})",
    "printf %s {} # don't {}",
    "# don't\nprintf %s '{}'",
    "case {} in {}) printf %s {};; *) echo other;; esac",
    'if true; then printf %s "$(: "{}")"{}; fi',
    "sh -c 'printf %s \"$1\"' sh {}",
    "set -eu; printf %s {}",
]

# Substitutions drop newlines at the end, so these protect it with a letter.
NESTED = [
    'printf %s "$(printf %s. "{}")"',
    "printf %s \"$(printf %s. '{}')\"",
    'printf %s "$(printf %s. {})"',
    'printf %s "`printf %s. {}`"',
    'printf %s "$(printf %s "$(printf %s. "{}")")"',
]


def run(text, row, directory):
    columns = tuple(str(number) for number in range(1, len(row) + 1))
    made = script(text, columns, row, 0)
    answer = subprocess.run(["/bin/sh", "-c", made], capture_output=True, cwd=directory, check=True)
    assert list(directory.iterdir()) == [], "an argument was run as code"
    return answer.stdout.decode()


@pytest.mark.parametrize("value", HOSTILE)
def test_a_command_gets_exactly_its_argument_whatever_quotes_it_is_in(value, tmp_path):
    for text in EXACT:
        assert run(text, (value,), tmp_path) == value, text
    for text in NESTED:
        assert run(text, (value,), tmp_path) == value + ".", text


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
nasty = st.text(st.sampled_from("ab '\"\\$`(){};&|<>\n#*?[]~!=%-"), max_size=12)


@settings(max_examples=100)
@given(value=texts | nasty, text=st.sampled_from(EXACT[:8]))
def test_a_command_gets_any_argument_there_can_be(tmp_path_factory, value, text):
    assert run(text, (value,), tmp_path_factory.getbasetemp() / "none") == value


@settings(max_examples=50)
@given(row=st.lists(nasty, min_size=1, max_size=3))
def test_several_arguments_are_several_words_or_joined_within_quotes(tmp_path_factory, row):
    directory = tmp_path_factory.getbasetemp() / "none"
    assert run("printf '%s\\001' {}", row, directory) == "".join(f"{value}\x01" for value in row)
    assert run("printf '%s\\001' \"{}\"", row, directory) == " ".join(row) + "\x01"
    assert run("printf '%s\\001' '{}'", row, directory) == " ".join(row) + "\x01"


@pytest.fixture(autouse=True)
def _an_empty_directory(tmp_path_factory):
    (tmp_path_factory.getbasetemp() / "none").mkdir(exist_ok=True)


@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize(
    "text", ["cat <<END\n{}\nEND", 'cat <<END\n"{}"\nEND', ": # {}\n", ": \\{} || :", "x=`: '{}'`"]
)
def test_nothing_is_run_even_where_quotes_do_not_hold(value, text, tmp_path):
    made = script(text, ("1",), (value,), 0)
    subprocess.run(["/bin/sh", "-c", made], capture_output=True, cwd=tmp_path, check=False)
    assert list(tmp_path.iterdir()) == []


def test_harmless_arguments_stand_in_the_command_as_a_person_would_write_them():
    assert script("echo {} > out/{#}.txt", ("1",), ("a/b.c",), 4) == "echo a/b.c > out/5.txt"


def test_arithmetic_works_on_arguments(tmp_path):
    assert run("echo $(({1} * 2 + {#}))", ("20",), tmp_path) == "41\n"
    assert run("echo $(({1} * 2))", (" 20",), tmp_path) == "40\n"


def test_the_legible_form_quotes_only_where_no_quotes_are():
    assert legible("echo {} '{}' \"{}\"", ("1",), ("a b",), 0) == "echo 'a b' 'a b' \"a b\""


@given(st.text(st.sampled_from("ab '\"\\$`()#\n")))
def test_every_letter_has_its_quotes(text):
    assert len(quoting(text)) == len(text)
    assert set(quoting(text)) <= set(" '\"\\")


@pytest.mark.parametrize(
    ("text", "quotes"),
    [
        ("a 'b' c", "...''.."),
        ('a "b" c', '...""..'),
        ("a\\'b", ".\\\\."),
        ('"\\""', '."""'),
        ("'\\'x", ".''."),
        ('"$(a "b")"', '.""...""."'),
        ("$((1))2", '...""".'),
        ("# it's\n'x'", "........''"),
        ("a#'b'", "...''"),
    ],
)
def test_quotes_are_found_as_a_shell_finds_them(text, quotes):
    assert quoting(text).replace(" ", ".") == quotes
