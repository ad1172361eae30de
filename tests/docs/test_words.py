"""Messages and pages use plain words: those of the field, none that a reader has to look up."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
QUAINT = re.compile(
    r"\b(to be had|whoever|anew|mend|mended|dearer|the money cannot do|(?:is|are|was|were) told|"
    r"nobody executes|stands (?:here|there) (?:twice|a second)|"
    r"is no (?:amount|duration|price|size|strategy|preference|address|whole number|number of|time|"
    r"task|job|file|journal|name))\b",
    re.IGNORECASE,
)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
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


def test_no_message_has_a_quaint_word():
    found = [
        f"{path.relative_to(ROOT)}:{line}: {match[0]}"
        for path in SOURCES
        if path.relative_to(ROOT).parts[2] not in SHOWN_TO_DEVELOPERS
        for line, text in (*strings(path), *help_texts(path))
        for match in QUAINT.finditer(text)
    ]
    assert found == []


@pytest.mark.parametrize(
    "path", [page for page in PAGES if page.stem != "reproduction"], ids=lambda page: page.stem
)
def test_no_page_has_a_quaint_word(path):
    assert [match[0] for match in QUAINT.finditer(path.read_text())] == []
