"""The walks in CONTRIBUTING.md name functions of the code as it is."""

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = sorted(path.parent.name for path in (ROOT / "src" / "bursar").glob("*/__init__.py"))
WALKS = re.compile(r"^## Five walks\n(.*?)^## ", re.MULTILINE | re.DOTALL)
NAME = re.compile(rf"\b(?:{'|'.join(PACKAGES)})(?:\.\w+)+")


def walks():
    """Each walk, by the command that it begins with."""
    section = WALKS.search((ROOT / "CONTRIBUTING.md").read_text())[1]
    parts = re.split(r"^(bursar .*)$", section, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def exists(name):
    """Whether `package.module.Class.function` can be imported."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found = import_module("bursar." + ".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


def test_there_are_five_walks():
    assert [walk.split()[1] for walk in walks()] == ["run", "plan", "run", "simulate", "serve,"]


@pytest.mark.parametrize("walk", walks())
def test_every_step_of_a_walk_exists(walk):
    steps = NAME.findall(walks()[walk])
    assert len(steps) >= 5
    assert [step for step in steps if not exists(step)] == []


def test_a_step_that_does_not_exist_is_found():
    assert exists("engine.loop.Engine.run")
    assert not exists("engine.loop.Engine.walk")
    assert not exists("engine.no_such_module.Engine")
