"""Writes the page of the notebook when the site is built: its cells, and what they showed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

PAGE = "notebook.md"
NOTEBOOK = Path(__file__).parents[1] / "notebook" / "tour.ipynb"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    files.append(File.generated(config, PAGE, content=page(json.loads(NOTEBOOK.read_text()))))
    return files


def page(notebook: dict[str, Any]) -> str:
    """Markdown of a notebook."""
    return "\n\n".join(part for cell in notebook["cells"] for part in of_cell(cell)) + "\n"


def of_cell(cell: dict[str, Any]) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield source
        return
    yield f"```python\n{source}\n```"
    for output in cell["outputs"]:
        shown = output.get("data", {})
        if "text/html" in shown:
            yield f'<div class="output">{"".join(shown["text/html"])}</div>'
        else:
            text = "".join(output.get("text") or shown.get("text/plain", ""))
            yield f"```text\n{text.rstrip()}\n```"
