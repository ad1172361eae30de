"""What a run has shown before anybody watched it: its log of attempts, in arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.state.attempts import OUTCOMES
from bursar.state.view import Column, View

Integers = NDArray[np.int64]

SUCCESS: Final = OUTCOMES.index("success")


class PastSuccesses(msgspec.Struct, frozen=True):
    """Attempts on one offer that succeeded, in the order of their ends; all arrays are as long."""

    offer: str
    machines: Integers
    runtimes: Integers
    are_results: NDArray[np.bool_]
    """whether each was the first success of its task"""


def past_successes(view: View) -> Iterator[PastSuccesses]:
    """By offer; the first is the one where a task first succeeded."""
    log = view.log
    outcomes, ended = column(log.outcome), column(log.ended)
    found = np.flatnonzero(outcomes[1:] == SUCCESS) + 1
    if not len(found):
        return
    found = found[np.lexsort((found, ended[found]))]
    machines, runtimes = column(log.machine)[found], column(log.runtime)[found]
    results = column(view.winners)[column(log.task)[found]] == found
    offers = offers_of(machines, view)
    names, first = np.unique(offers, return_index=True)
    for name in names[np.argsort(first)]:
        here = offers == name
        yield PastSuccesses(str(name), machines[here], runtimes[here], results[here])


def offers_of(machines: Integers, view: View) -> NDArray[np.str_]:
    """The offer of each machine."""
    numbers, places = np.unique(machines, return_inverse=True)
    return np.array([view.offer_of(number) for number in numbers.tolist()])[places]


def column(values: Column) -> Integers:
    """A column of a view as an array."""
    return np.fromiter(iter(values), dtype=np.int64, count=len(values))
