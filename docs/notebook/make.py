"""`python docs/notebook/make.py`: writes tour.ipynb, executed by a Jupyter kernel of this Python.

The cells stand here; what they show is what bursar shows. It needs `bursar[dev]`.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

TARGET: Final = Path(__file__).with_name("tour.ipynb")
PATIENCE_S: Final = 240
"""for a cell: the first simulation of a computer is compiled"""
CELLS: Final = (
    """# bursar in a notebook

Plans, runs, executors, workflows and frontiers show themselves. This page is a notebook that was
executed: [tour.ipynb](notebook/tour.ipynb).

First a market: what can be rented, at which price. These machines are emulated here.""",
    '''from pathlib import Path

Path("market.toml").write_text("""
currency = "USD"
date = "2026-01-01"
[[offer]]
name = "small"
price = "0.01"
billing = "1s"
limit = 3
[[offer]]
name = "large"
price = "0.04"
billing = "1s"
limit = 2
speed = 2
""");''',
    """## A plan

Some tasks run first, on every offer. Then there is a short list, from the cheapest to the fastest
choice; no choice is beaten by another in both time and money.""",
    """from bursar import plan_work

plans = plan_work(["sleep", "{}"], [0.03] * 80, "market.toml", budget="3", name="sweep")
plans""",
    """## A run

A choice is run by its name or its number. No more than its cap is ever committed.""",
    """plans.run("fastest")""",
    """## Python calls

`BudgetExecutor` is a `concurrent.futures.Executor`. With `progress=True`, one output tells how it
stands while the calls run.""",
    """from bursar import BudgetExecutor


def estimate_pi(seed, points=20_000):
    from random import Random

    random = Random(seed)
    return sum(random.random() ** 2 + random.random() ** 2 < 1 for _ in range(points)) * 4 / points


with BudgetExecutor("market.toml", budget="1.00", fleet={"small": 2}, progress=True) as pool:
    found = list(pool.map(estimate_pi, range(60)))
round(sum(found) / len(found), 1)""",
    """The pool shows its run: what was done, and where the money went.""",
    """pool""",
    """## A workflow

Files tell which task needs which.""",
    """from bursar import WorkflowBuilder

flow = WorkflowBuilder("words")
flow.task("split", run="split -n l/3 -d -a 1 words.txt part-",
          reads=["words.txt"], writes=["part-0", "part-1", "part-2"])
for n in range(3):
    flow.task(f"sort-{n}", run=f"sort part-{n} > sorted-{n}",
              reads=[f"part-{n}"], writes=[f"sorted-{n}"])
flow.task("merge", run="sort -m sorted-* > sorted",
          reads=["sorted-0", "sorted-1", "sorted-2"], writes=["sorted"])
flow""",
    """from bursar import run_workflow

Path("words.txt").write_text("pear\\nfig\\nplum\\napple\\nquince\\nlime\\n")
summary = run_workflow(flow)
print(Path("sorted").read_text())
summary""",
    """## A frontier

Spot machines are cheap and may vanish. This asks how to mix 50 of them with reliable ones for the
tail of a bag of 150 tasks, where 8 of 10 attempts return.""",
    """from bursar import find_frontier

find_frontier(
    150, unreliable=50, reliability=0.8, turnaround="35m~10m",
    unreliable_price="0.10/h/s", reliable_price="0.34/h/s", grid="paper", repetitions=20,
)""",
    """Every run has a journal: `bursar report sweep --html sweep.html` writes its page, and
[the page of a run](page.md) explains what is on it.""",
)


def notebook() -> dict[str, Any]:
    """The cells, not executed, as the format of notebooks has them."""
    return {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "cells": [_cell(place, text) for place, text in enumerate(CELLS)],
    }


def _cell(place: int, text: str) -> dict[str, Any]:
    is_text = text.startswith(("#", "The ", "Every "))
    cell: dict[str, Any] = {"id": f"cell-{place}", "metadata": {}, "source": text}
    if is_text:
        return {"cell_type": "markdown", **cell}
    return {"cell_type": "code", **cell, "execution_count": None, "outputs": []}


def executed(directory: Path) -> dict[str, Any]:
    """The notebook with what its cells show, executed in this directory by this Python."""
    import nbformat
    from jupyter_client.kernelspec import KernelSpec
    from jupyter_client.manager import KernelManager
    from nbclient import NotebookClient

    class OfThisPython(KernelManager):
        @property
        def kernel_spec(self) -> KernelSpec:
            words = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
            return KernelSpec(argv=words, display_name="Python 3", language="python")

    document = nbformat.from_dict(notebook())
    client = NotebookClient(
        document,
        timeout=PATIENCE_S,
        km=OfThisPython(),
        resources={"metadata": {"path": str(directory)}},
        record_timing=False,
    )
    client.execute(env={**os.environ, "BURSAR_HOME": str(directory / ".bursar"), "COLUMNS": "80"})
    return dict(json.loads(nbformat.writes(document)))


def main(target: Path) -> None:
    with TemporaryDirectory() as place:
        made = executed(Path(place))
    target.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else TARGET)
