from __future__ import annotations

import pytest

from bursar.model.text import MOST_LETTERS, counted, cut, printable


@pytest.mark.parametrize(
    ("number", "reported"), [(0, "0 tasks"), (1, "1 task"), (2, "2 tasks"), (1200, "1,200 tasks")]
)
def test_a_noun_agrees_with_its_number(number, reported):
    assert counted(number, "task") == reported


def test_no_control_code_is_printed():
    reported = printable("a\x1b[2Jb\rc\x9bd\u202ee\x07\nsecond \x00")
    assert reported == "a\\x1b[2Jb\\rc\\x9bd\\u202ee\\x07\nsecond \\x00"
    assert printable("Größe 大 ok") == "Größe 大 ok"


def test_a_long_text_keeps_its_begin_and_its_end():
    assert cut("short") == "short"
    reported = cut("a" * 60 + "x" * 99_900 + "b" * 40)
    assert len(reported) <= MOST_LETTERS
    assert reported.startswith("aaaa")
    assert reported.endswith("bbbb")
    assert "(100,000 characters)" in reported
