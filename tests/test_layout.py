"""The house: packages that say what they are, names that stand once, files of one idea."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import bursar

ROOT = Path(bursar.__file__).parent
PACKAGES = sorted(file.parent for file in ROOT.rglob("__init__.py"))
MODULES = sorted(ROOT.rglob("*.py"))
LONGEST = 560
"""lines of a file, some of them"""


def test_every_package_says_what_it_is():
    silent = [file for file in MODULES if not ast.get_docstring(ast.parse(file.read_text()))]
    assert not silent


def test_every_package_at_the_top_has_a_readme():
    without = [one for one in PACKAGES if one.parent == ROOT and not (one / "README.md").exists()]
    assert not without


def test_no_class_name_stands_twice():
    homes: dict[str, list[str]] = defaultdict(list)
    for file in MODULES:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(str(file.relative_to(ROOT)))
    assert not {name: files for name, files in homes.items() if len(files) > 1}


def test_no_file_is_so_long_that_it_holds_two_ideas():
    long = {str(file): len(file.read_text().splitlines()) for file in MODULES}
    assert not {file: lines for file, lines in long.items() if lines > LONGEST}
