"""Messages, pages and code use plain words, those of the field."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
QUAINT = re.compile(
    r"\b(to be had|are had|whoever|anew|mend|mended|mends|dearer|reckons?|reckoned|likewise|lest|"
    r"in the midst|the money cannot do|of like standing|beside what|goes on with|"
    r"(?:is|are|was|were|be) told(?! apart)|nobody executes|"
    r"stands (?:here|there) (?:twice|a second))\b",
    re.IGNORECASE,
)
"""in no text at all"""
STIFF = re.compile(
    r"\b(goes (?:with|without) --|say (?:how|which|what|where)\b.*--|stops gently|"
    r"is no (?:amount|duration|price|size|strategy|preference|address|whole number|number of|time|"
    r"task|job|file|journal|name))",
    re.IGNORECASE,
)
"""in no text that users see"""
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "src" / "bursar").rglob("README.md")),
]
SOURCES = sorted((ROOT / "src" / "bursar").rglob("*.py"))
SHOWN_TO_DEVELOPERS = ("reproduce", "testing")


def strings(path):
    """Text in a file that is not a docstring or a comment, with its line."""
    tree = ast.parse(path.read_text())
    skipped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in skipped
        ):
            yield node.lineno, node.value


def help_texts(path):
    """Docstrings of commands, which `--help` prints."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef) and node.name == "command":
            yield node.lineno, ast.get_docstring(node) or ""


def one_line(text):
    """A phrase is found also where it goes over the end of a line."""
    return re.sub(r"\s*\n[\s#>]*", " ", text)


def test_no_message_is_stiff():
    found = [
        f"{path.relative_to(ROOT)}:{line}: {match[0]}"
        for path in SOURCES
        if path.relative_to(ROOT).parts[2] not in SHOWN_TO_DEVELOPERS
        for line, text in (*strings(path), *help_texts(path))
        for match in STIFF.finditer(text)
    ]
    assert found == []


def test_no_code_has_a_quaint_word():
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in SOURCES
        for match in QUAINT.finditer(one_line(path.read_text()))
    ]
    assert found == []


@pytest.mark.parametrize("path", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_page_has_a_quaint_word(path):
    assert [match[0] for match in QUAINT.finditer(one_line(path.read_text()))] == []


def test_a_docstring_stands_on_its_own():
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in SOURCES
        if path.relative_to(ROOT).parts[2] != "reproduce"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and str(node.value.value).startswith(("Of ", "of the same"))
    ]
    assert found == []
