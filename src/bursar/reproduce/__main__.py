"""Print the page of all reproductions: `python -m bursar.reproduce [DIRECTORY]`.

Their plots are written into the directory, where one is given. Those whose data is not here are
left out, with a note.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from bursar.model.errors import InputError
from bursar.report.plot import svg
from bursar.reproduce.everything import compute
from bursar.reproduce.page import page, plot_file
from bursar.reproduce.result import Reproduction


def computed(plots: Path | None) -> Iterator[Reproduction]:
    for name, found in compute():
        if isinstance(found, InputError):
            print(f"{name} is left out: {found}", file=sys.stderr)
            continue
        if plots is not None:
            plots.mkdir(parents=True, exist_ok=True)
            for number, plot in enumerate(found.plots):
                (plots / plot_file(found, number)).write_text(svg(plot), encoding="utf-8")
        yield found


if __name__ == "__main__":
    print(page(computed(Path(sys.argv[1]) if sys.argv[1:] else None)), end="")
