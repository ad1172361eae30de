"""The documentation is a site whose links work, with every command in it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mkdocs", reason="mkdocs is not installed: bursar[docs]")
pytest.importorskip("mkdocstrings", reason="mkdocstrings is not installed: bursar[docs]")

from bursar.cli.main import VERBS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    place = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", place],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, f"a page is not in the index, or a link is dead:\n{built.stderr}"
    return place


def test_every_page_and_every_reproduction_is_in_it(site):
    for page in (ROOT / "docs").rglob("*.md"):
        assert (site / page.relative_to(ROOT / "docs")).with_suffix(".html").exists(), page


def test_the_reference_has_every_command_with_its_options(site):
    text = (site / "reference/cli.html").read_text()
    for verb in VERBS:
        assert f"bursar {verb}</" in text or f"bursar {verb}<a" in text, verb
    assert "--best-effort" in text


def test_the_reference_has_what_python_programs_use(site):
    text = (site / "reference/python.html").read_text()
    for name in ("BudgetExecutor", "Service", "WorkflowBuilder", "run_workflow", "read_market"):
        assert f'id="bursar.runs.{name}"' in text or f".{name}" in text, name
    assert "submit" in text


def test_the_notebook_is_a_page_with_what_its_cells_showed(site):
    text = (site / "notebook.html").read_text()
    for shown in ("find_frontier", "<circle", "60 of 60 tasks done", "<svg"):
        assert shown in text
    assert (site / "notebook" / "tour.ipynb").exists()


def test_nothing_is_loaded_from_elsewhere(site):
    for page in ("index.html", "start-bag.html", "reference/cli.html"):
        text = (site / page).read_text()
        assert 'src="http' not in text
        assert 'rel="stylesheet" href="http' not in text
