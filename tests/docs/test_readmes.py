"""Each package has a README of a screen, and what it names exists."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "bursar"
PACKAGES = sorted(path.parent for path in SOURCE.glob("*/**/__init__.py"))
SCREEN = 60
"""lines"""
CODE = re.compile(r"`([^`\n]+)`")
BLOCK = re.compile(r"^```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"[A-Za-z_][\w./*-]*\*?")
CLASS = re.compile(r"\b[A-Z][a-z]+(?:[A-Z][a-z]+)+\b")


@cache
def defined():
    """Every name that a file of the product defines: classes, functions, fields and constants."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                    found.add(name)
                case ast.AnnAssign(target=ast.Name(id=name)) | ast.Name(id=name, ctx=ast.Store()):
                    found.add(name)
                case ast.AnnAssign(target=ast.Attribute(attr=name)):
                    found.add(name)
    return found


def is_known(word, package):
    """Whether it is a file or directory, or a name that the product defines."""
    word = word.rstrip("/")
    for place in (package, SOURCE, ROOT):
        if list(place.glob(word)) or list(place.glob(f"{word}.py")):
            return True
    parts = word.split(".")
    if parts[0] == "bursar":
        module = SOURCE.joinpath(*parts[1:])
        return module.is_dir() or module.with_suffix(".py").is_file() or parts[-1] in defined()
    return all(part in defined() or (package / f"{part}.py").is_file() for part in parts)


def names(text):
    """What a README calls by name: single words between backquotes, and classes in its picture."""
    plain = BLOCK.sub("", text)
    words = (word.removesuffix("()") for word in CODE.findall(plain))
    yield from (word for word in words if NAME.fullmatch(word))
    for block in BLOCK.findall(text):
        yield from CLASS.findall(block)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_a_package_has_a_readme_of_one_screen(package):
    text = (package / "README.md").read_text()
    assert text.startswith(f"# {package.name}: ")
    assert len(text.splitlines()) <= SCREEN
    assert "**What may be touched.**" in text


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_what_a_readme_names_exists(package):
    text = (package / "README.md").read_text()
    assert [word for word in names(text) if not is_known(word, package)] == []
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (package / target).exists()


def test_a_name_that_does_not_exist_is_found():
    text = "`loop` has `NoSuchClass`, `no_such_file.py` and `loop.NoSuchThing`.\n"
    engine = SOURCE / "engine"
    found = [word for word in names(text) if not is_known(word, engine)]
    assert found == ["NoSuchClass", "no_such_file.py", "loop.NoSuchThing"]
