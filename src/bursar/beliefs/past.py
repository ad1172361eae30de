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
LOST: Final = OUTCOMES.index("lost")
CANCELLED: Final = OUTCOMES.index("cancelled")


class PastSuccesses(msgspec.Struct, frozen=True):
    """Attempts on one offer that succeeded, in the order of their ends; all arrays are as long."""

    offer: str
    machines: Integers
    runtimes: Integers
    are_results: NDArray[np.bool_]
    """whether each was the first success of its task"""


class PastAttempts(msgspec.Struct, frozen=True):
    """Attempts that have ended, in the order of their ends; all arrays are as long."""

    attempts: Integers
    tasks: Integers
    machines: Integers
    started: Integers
    ended: Integers
    runtimes: Integers
    outcomes: Integers
    offers: Integers
    """places in the market"""

    def among(self, chosen: NDArray[np.bool_]) -> PastAttempts:
        columns = (getattr(self, name)[chosen] for name in self.__struct_fields__)
        return PastAttempts(*columns)


def past_attempts(view: View) -> PastAttempts:
    log = view.log
    ended = column(log.ended)
    found = np.flatnonzero(ended[1:] >= 0) + 1
    found = found[np.lexsort((found, ended[found]))]
    machines = column(log.machine)[found]
    return PastAttempts(
        attempts=found,
        tasks=column(log.task)[found],
        machines=machines,
        started=column(log.started)[found],
        ended=ended[found],
        runtimes=column(log.runtime)[found],
        outcomes=column(log.outcome)[found],
        offers=_places_of(machines, view),
    )


def lost_machines(view: View) -> dict[int, str]:
    """Unreliable machines that were taken away, with their offers."""
    return {
        charge.machine: charge.offer.name
        for charge in view.ledger.charges()
        if charge.was_lost and charge.offer.pool == "unreliable"
    }


def past_given_up(view: View) -> list[int]:
    """The tasks of attempts that were cancelled before their task had a result."""
    past = past_attempts(view)
    past = past.among(past.outcomes == CANCELLED)
    winners = column(view.winners)[past.tasks]
    is_first = (winners == 0) | (column(view.log.ended)[winners] > past.ended)
    live = [one.task for one in view.attempts.values() if one.cancelling]
    return [*past.tasks[is_first].tolist(), *(task for task in live if not view.winners[task])]


def _places_of(machines: Integers, view: View) -> Integers:
    """The place in the market of the offer of each machine."""
    places = {offer.name: place for place, offer in enumerate(view.market.offers)}
    numbers, of_each = np.unique(machines, return_inverse=True)
    known = [places[view.offer_of(number)] for number in numbers.tolist()]
    return np.array(known, dtype=np.int64)[of_each]


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
