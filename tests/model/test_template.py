"""Placeholders mean what they mean to GNU parallel."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.model.template import Hole, holes, missing, pieces


def filled(word, row, columns=("1", "2"), index=0):
    return "".join(
        " ".join(piece.values(row, index)) if isinstance(piece, Hole) else piece
        for piece in pieces(word, columns[: len(row)])
    )


# What GNU parallel 20221122 printed for: parallel echo '{.}|{/}|{//}|{/.}' ::: ...
@pytest.mark.parametrize(
    ("argument", "printed"),
    [
        ("a/b.c.d", "a/b.c|b.c.d|a|b.c"),
        ("x", "x|x|.|x"),
        ("a/b.", "a/b|b.|a|b"),
        (".bashrc", "|.bashrc|.|"),
        ("dir.d/file", "dir.d/file|file|dir.d|file"),
        ("a/.hid", "a/|.hid|a|"),
        ("a/", "a/||.|"),
        ("/x", "/x|x|/|x"),
        ("/", "/||/|"),
        ("a//b.c", "a//b|b.c|a|b"),
        ("", "||.|"),
    ],
)
def test_the_forms_of_a_path_are_those_of_gnu_parallel(argument, printed):
    assert filled("{.}|{/}|{//}|{/.}", (argument,)) == printed
    assert filled("{1.}|{1/}|{1//}|{1/.}", (argument,)) == printed
    assert filled("{f.}|{f/}|{f//}|{f/.}", (argument,), ("f",)) == printed


@pytest.mark.parametrize(
    ("word", "printed"),
    [
        ("{}", "a/b.c d/e.f"),
        ("{.}", "a/b d/e"),
        ("{/}", "b.c e.f"),
        ("{2}-{1}", "d/e.f-a/b.c"),
        ("{#}", "7"),
        ("{{1}}", "{a/b.c}"),
        ("no braces", "no braces"),
        ("{name}", "{name}"),
        ("${1} ${HOME} ${}", "${1} ${HOME} ${}"),
        ("{print $1}", "{print $1}"),
        ("{ a; }", "{ a; }"),
        ("{1", "{1"),
        ("{-1} {-2} {-1/}", "d/e.f a/b.c e.f"),
        ("{%}", "{%}"),
        ("{...}", "{...}"),
        ("{1..3} {01..10}", "{1..3} {01..10}"),
        ("{٣}", "{٣}"),
    ],
)
def test_a_placeholder_is_replaced_and_other_braces_stay(word, printed):
    assert filled(word, ("a/b.c", "d/e.f"), index=6) == printed


def test_the_name_of_a_column_comes_before_every_other_meaning():
    columns = ("2", "#", "a.", "learning rate")
    row = ("two", "hash", "dot", "0.1")
    assert filled("{2} {#} {a.} {learning rate}", row, columns) == "two hash dot 0.1"
    assert filled("{1} {3}", row, columns) == "two dot"


def test_a_placeholder_without_an_argument_is_found():
    columns = ("1", "2")
    assert [hole.what for hole in missing("{3} {0.} {1} {}", columns)] == ["3", "0"]
    assert [hole.what for hole in missing("{-2} {-3} {-0}", columns)] == ["-3", "-0"]
    assert [(hole.what, hole.is_name) for hole in missing("{beta.}", ("alpha",))] == [
        ("beta", True)
    ]
    assert [hole.key for hole in missing("{} {#} {/}", ())] == ["", "/"]
    assert missing("{" + "1" * 5000 + "}", columns) == []


@pytest.mark.parametrize(
    "word",
    ["{= s/a/b/ =}", "x{=s/a{2}/{}/;=}", "{2= uc =}", "{=1 $_ =}", "{..}", "{...}", "{/..}", "{+/}",
     "{##}", "{0#}", "{0%}", "{1..}", "{-1/..}", "{+.}"],
)  # fmt: skip
def test_what_only_gnu_parallel_knows_is_found(word):
    assert [hole.is_foreign for hole in missing(word, ("1", "2"))] == [True]


@pytest.mark.parametrize(
    "word", ["{print $1}", "{1..3}", "{a,b}", "{,}", "{2,3}", "{ }", "${#}", "${x%.*}", "{=", "{-}",
             "{a=b}", "{%} {#} {}"],
)  # fmt: skip
def test_other_braces_are_nobodys_placeholders(word):
    assert missing(word, ("1", "2")) == []


arguments = st.text(st.characters(exclude_characters="{}"))


@given(st.text(), st.lists(arguments, min_size=1, max_size=3))
def test_a_word_is_its_pieces(word, row):
    columns = tuple(str(number) for number in range(1, len(row) + 1))
    text = [piece for piece in pieces(word, columns) if isinstance(piece, str)]
    assert len("".join(text)) + sum(2 for _ in holes(word, columns)) <= len(word)
    if not holes(word, columns):
        assert "".join(text) == word


@given(arguments, arguments)
def test_an_argument_is_never_looked_through_for_placeholders(first, second):
    assert filled("{1}{2}", (first + "{2}", second)) == first + "{2}" + second
