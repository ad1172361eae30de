"""Reproductions of the workflow thesis: the pages that simulate most, on two processors.

Each is computed once, whatever the number of rounds: that takes minutes. What counts is processor
time by two, as both processors are busy all the time, and others may use them as well.
"""

from __future__ import annotations

from functools import partial

from benchmarks.measure import Goal, Line, Result, Taken, least_of, timed
from bursar.model.errors import InputError
from bursar.reproduce.everything import AT_ONCE, compute

PAGES = {
    "table 2.1": ("workflows-table-2.1",),
    "figures 3.3 to 3.6": tuple(f"workflows-fig-3.{number}" for number in (3, 4, 5, 6)),
}
MOST_SECONDS = 300.0


def measure(rounds: int) -> Result:
    best = least_of({page: partial(seconds_of, *names) for page, names in PAGES.items()}, 1)
    seconds = {page: taken.processor / AT_ONCE for page, taken in best.items()}
    return Result(
        "Reproductions of the workflow thesis, on two processors",
        [Line(page, seconds[page], "s", f"{best[page].clock:.0f} s by the clock") for page in best],
        [Goal(page, seconds[page], "<=", MOST_SECONDS, "s") for page in best],
    )


def seconds_of(*names: str) -> Taken:
    """What it takes to compute some reproductions; all have the data that they need."""
    with timed() as taken:
        for _, found in compute(names):
            if isinstance(found, InputError):
                raise found
    return taken
