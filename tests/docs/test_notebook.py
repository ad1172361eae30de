"""The notebook of the documentation does what it shows."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAKE = ROOT / "docs" / "notebook" / "make.py"
KEPT = ROOT / "docs" / "notebook" / "tour.ipynb"
SHOWN = {
    "plans = plan_work": "<circle",
    'plans.run("fastest")': "80 of 80 tasks done",
    "with BudgetExecutor": 'value="60" max="60"',
    "pool": "60 of 60 tasks done",
    "flow = WorkflowBuilder": "<svg",
    "summary = run_workflow": "5 of 5 tasks done",
    "find_frontier(": "<circle",
}
"""what begins or is in a cell, and what is in the HTML that it shows"""


def cells_of(path):
    """Of each cell that is code: its text, and all that it showed."""
    for cell in json.loads(path.read_text())["cells"]:
        if cell["cell_type"] == "code":
            shown = "".join(
                "".join(output.get("data", {}).get("text/html", "")) for output in cell["outputs"]
            )
            kinds = {output["output_type"] for output in cell["outputs"]}
            yield "".join(cell["source"]), shown, kinds


def check(path):
    found = {text: shown for text, shown, kinds in cells_of(path) if "error" not in kinds}
    assert len(found) == 8, "no cell failed"
    for begin, wanted in SHOWN.items():
        text = next(one for one in found if begin == one or (begin in one and begin != "pool"))
        assert wanted in found[text], begin


def test_the_kept_notebook_has_the_cells_of_its_script_and_what_they_show():
    spec = spec_from_file_location("make_notebook", MAKE)
    make = module_from_spec(spec)
    spec.loader.exec_module(make)
    kept = json.loads(KEPT.read_text())["cells"]
    assert ["".join(cell["source"]) for cell in kept] == list(make.CELLS)
    check(KEPT)


def test_a_kernel_executes_the_notebook_and_everything_shows_itself(tmp_path):
    if find_spec("nbclient") is None or find_spec("ipykernel") is None:
        pytest.skip("needs nbclient and ipykernel: bursar[dev]")
    made = tmp_path / "made.ipynb"
    environment = {**os.environ, "JUPYTER_PLATFORM_DIRS": "1", "IPYTHONDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, str(MAKE), str(made)],
        env=environment, cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    check(made)
