"""The house: packages that say what they are, names that stand once, files of one idea."""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

import bursar

ROOT = Path(bursar.__file__).parent
PACKAGES = sorted(file.parent for file in ROOT.rglob("__init__.py"))
MODULES = sorted(ROOT.rglob("*.py"))
LONGEST = 500
"""lines of a file, some of them"""

LONGEST_FUNCTION = 66
"""lines of a function: a screen, some 60"""
LONGEST_KERNEL = 90
"""the same where it is compiled: a search with its stack in local variables is one loop"""


@cache
def tree_of(file: Path) -> ast.Module:
    return ast.parse(file.read_text())


def test_every_package_says_what_it_is():
    silent = [file for file in MODULES if not ast.get_docstring(tree_of(file))]
    assert not silent


def test_no_class_name_stands_twice():
    homes: dict[str, list[str]] = defaultdict(list)
    for file in MODULES:
        for node in ast.walk(tree_of(file)):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(str(file.relative_to(ROOT)))
    assert not {name: files for name, files in homes.items() if len(files) > 1}


def test_no_file_is_so_long_that_it_holds_two_ideas():
    long = {str(file): len(file.read_text().splitlines()) for file in MODULES}
    assert not {file: lines for file, lines in long.items() if lines > LONGEST}


def test_every_function_fits_on_a_screen():
    long = {}
    for file in MODULES:
        most = LONGEST_KERNEL if file.parent.name == "kernels" else LONGEST_FUNCTION
        for node in ast.walk(tree_of(file)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or 0) - node.lineno + 1
                if lines > most:
                    long[f"{file.relative_to(ROOT)}: {node.name}"] = lines
    assert not long


CUTE = {
    *("bench", "book", "counsel", "crew", "deal", "deeds", "desk", "forsaken", "fortune"),
    *("insured", "misfortune", "shop", "staff", "trouble", "workshop"),
}
"""words that nobody would search for; no name has one of them"""


def test_no_name_is_cute():
    found = set()
    for file in MODULES:
        for node in ast.walk(tree_of(file)):
            match node:
                case ast.arg(arg=name) | ast.Name(id=name) | ast.Attribute(attr=name):
                    pass
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                    pass
                case _:
                    continue
            if CUTE & set(name.lower().split("_")):
                found.add(f"{file.relative_to(ROOT)}: {name}")
    assert not found
