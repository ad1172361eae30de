import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.formats.plain_yaml import read_yaml
from bursar.model.errors import InputError

marks = [
    "- ",
    ": ",
    "? ",
    "[",
    "]",
    "{",
    "}",
    ",",
    "\n",
    "  ",
    "'",
    '"',
    "#",
    "|",
    ">",
    "&a ",
    "*a",
]
atoms = ["a", "1", "~", "!!str ", "!x ", "---", "...", "<<: ", "%YAML 1.1", "\t", "é", "\0"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("a: 1\nb: [x, '2', 3.5, -4]", {"a": 1, "b": ["x", "2", 3.5, -4]}),
        ("no: yes\non: 12:30", {"no": "yes", "on": "12:30"}),
        ("1: true\n~: null\nx:", {"1": True, "~": None, "x": None}),
        ("run: |\n  a\n  b\n", {"run": "a\nb\n"}),
        ("- {a: {b: [1]}}\n- []", [{"a": {"b": [1]}}, []]),
        ("d: 2026-13-45", {"d": "2026-13-45"}),
        ("n: " + "9" * 5000, {"n": "9" * 5000}),
    ],
)
def test_values_are_what_they_look_like(text, value):
    assert read_yaml(text, "f") == value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\nb: 2\na: 3", "f, line 3: 'a' appears a second time"),
        ("a: &x 1\nb: *x", "f, line 1: anchors"),
        ("a: !!python/object:os.system x", "f, line 1: the tag"),
        ("a: 1\n---\nb: 2", "f, line 2: a second document"),
        ("? [a]\n: 1", "f, line 1: a key must be text"),
        ("a: [1", "f, line 2: not valid YAML"),
        ("[" * 100_000, "f, line 1: nested too deeply"),
        ("- " * 100_000, "f, line 1: nested too deeply"),
        ("\0", "not valid YAML"),
        ("a: \ud800", "not Unicode"),
    ],
)
def test_what_is_not_read_is_reported_with_its_line(text, words):
    with pytest.raises(InputError) as refusal:
        read_yaml(text, "f")
    assert words in str(refusal.value)
    assert str(refusal.value).isprintable()


@given(st.lists(st.sampled_from([*marks, *atoms]), max_size=25).map("".join) | st.text())
def test_any_text_is_a_value_or_refused(text):
    try:
        read_yaml(text, "f")
    except InputError as refusal:
        assert str(refusal).isprintable()
