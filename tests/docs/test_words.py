"""Messages, pages and code use plain words, those of the field."""

import ast
import re
from functools import cache
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


@cache
def tree_of(path):
    return ast.parse(path.read_text())


def strings(path):
    """Text in a file that is not a docstring or a comment, with its line."""
    tree = tree_of(path)
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
    for node in ast.walk(tree_of(path)):
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
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and str(node.value.value).startswith(("Of ", "of the same"))
    ]
    assert found == []


FLAG = re.compile(r"(?<![\w-])--[a-z]")
COMMAND = re.compile(r"bursar (run|plan|resume|calibrate|frontier|simulate|serve)\b")
FOR_THE_COMMAND_LINE = (
    "src/bursar/cli/",
    "src/bursar/formats/commands.py",  # words after `bursar run`
    "src/bursar/formats/job.py",
    "src/bursar/model/option_words.py",
    "src/bursar/runs/calibrate/",  # bursar calibrate alone
    "src/bursar/runs/frontier_input.py",  # the options of bursar frontier
    "src/bursar/rent/slurm.py",  # the options of Slurm's commands
    "src/bursar/report/summary.py",  # the ends of commands to type
    "src/bursar/reproduce/",
    "src/bursar/web/listening.py",  # the options of verbs that listen
)


def messages(path):
    """Each text of a file with its line; of an f-string, all that is written in it together."""
    tree = tree_of(path)
    joined = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    parts = {id(part) for node in joined for part in node.values}
    for node in joined:
        written = (p.value if isinstance(p, ast.Constant) else "{}" for p in node.values)
        yield node.lineno, "".join(written)
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if is_text and id(node) not in parts | docstrings:
            yield node.lineno, node.value


def test_no_message_names_a_flag_to_those_who_asked_in_other_words():
    """A whole command to type is advice for everybody; else the words are those of the asker."""
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in SOURCES
        if not str(path.relative_to(ROOT)).startswith(FOR_THE_COMMAND_LINE)
        for line, text in messages(path)
        if FLAG.search(text) and not COMMAND.search(text)
    ]
    assert found == []
