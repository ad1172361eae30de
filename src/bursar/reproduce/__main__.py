"""Write the pages of reproductions: `python -m bursar.reproduce DOCS [NAME ...]`.

Each gets a page DOCS/reproductions/NAME.md and its plots in DOCS/plots; then the index,
DOCS/reproduction.md, is written from all pages that are there. Those whose data is not here keep
the page they have, with a note.
"""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bursar.model.errors import InputError
from bursar.report.plot import svg
from bursar.reproduce.everything import compute
from bursar.reproduce.page import entry_page, index_page, plot_file, summary_in
from bursar.reproduce.result import ENTRIES, Reproduction

DESCRIPTION: Final = "Compute published tables and figures, and write a page of each."


def write(found: Reproduction, docs: Path) -> None:
    """Its page and its plots."""
    for folder in ("reproductions", "plots"):
        (docs / folder).mkdir(parents=True, exist_ok=True)
    for number, plot in enumerate(found.plots):
        (docs / "plots" / plot_file(found, number)).write_text(svg(plot), encoding="utf-8")
    page = docs / "reproductions" / f"{found.name}.md"
    page.write_text(entry_page(found), encoding="utf-8")


def write_index(docs: Path) -> None:
    """From the pages that are there."""
    pages = {name: docs / "reproductions" / f"{name}.md" for name in ENTRIES}
    summaries = [
        summary_in(page.read_text(encoding="utf-8"), str(page))
        for page in pages.values()
        if page.exists()
    ]
    missing = [name for name, page in pages.items() if not page.exists()]
    (docs / "reproduction.md").write_text(index_page(summaries, missing), encoding="utf-8")


def main(docs: Path, names: Sequence[str]) -> None:
    for name, found in compute(names or list(ENTRIES)):
        if isinstance(found, InputError):
            print(f"{name} is left out: {found}", file=sys.stderr)
        else:
            write(found, docs)
    write_index(docs)


def arguments(argv: Sequence[str] | None = None) -> Namespace:
    parser = ArgumentParser(prog="python -m bursar.reproduce", description=DESCRIPTION)
    parser.add_argument("docs", metavar="DOCS", type=Path, help="the directory of the pages")
    parser.add_argument(
        "names", metavar="NAME", nargs="*", help="such as bats-table-2.1; without, all"
    )
    return parser.parse_args(argv)


if __name__ == "__main__":
    given = arguments()
    main(given.docs, given.names)
