"""How reliable and how fast a pool is, by what was sent to it (ExPERT, section 4.3).

An instance is one attempt on the unreliable pool. One that is sent at t' returns a result within t
with probability F(t, t') = F_s(t) gamma(t'): F_s is the distribution of the turnaround times of
results, gamma the share of instances that return one at all. Gamma is counted in sets of instances
that were sent one after another.

What is known of gamma at a moment differs by when an instance was sent. Before that moment less the
deadline D, all that will return has returned: full knowledge. Since then some may still come: what
came is compared with what could have come by then, F_s(age) of each instance (equation 2). Of what
is sent from that moment on nothing is known: gamma is taken as halfway between the means of both.

The paper leaves open, and here is chosen:
- A set may hold instances of different ages: its results are divided by the sum of their F_s(age).
- Gamma of a set is never above what is still possible: instances known to be lost are not awaited.
  Where all losses are silent this is the paper's limit of 1; where none is unknown, it is exact.
- A set of which nothing can be known yet has gamma of the time to come.
- The mean over the recent sets weighs each by what is known of it, the sum of its F_s(age).
- Where no loss was seen, gamma of the time to come is (n + 1/2) / (n + 1) for n results: the mean
  of Jeffreys' posterior. A history without losses does not show that there are none. In the same
  way (1/2) / (n + 1) after n losses and no result, and 1/2 where nothing is known.
- A result later than D is a result. D only says from when on a silent instance is taken as lost.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from enum import IntEnum
from typing import TYPE_CHECKING, Final

import msgspec

from bursar.model.errors import InputError
from bursar.model.time import LONGEST, Time

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

DEADLINE_IN_MEANS: Final = 4
"""The default deadline of an instance, in mean turnaround times of results (section 5.3)."""
SET_SIZE: Final = 20
"""Instances in a set; gamma of a set is then known to about a tenth."""


class LastEnding(IntEnum):
    """How the last instance on a machine ended, when the next one is sent to it."""

    UNTRIED = 0
    RETURNED = 1
    FAILED = 2


class Instance(msgspec.Struct, frozen=True, gc=False):
    """An attempt on the unreliable pool: a result, a loss, or nothing that is known yet."""

    sent: Time
    turnaround: Time | None = None
    """from sending to the result; None: there is none"""
    until: Time | None = None
    """when it was known that no result will come; None: nobody knows, or there is a result"""
    is_withdrawn: bool = False
    """called back at `until` by our own choice: it tells nothing of the pool's reliability"""
    standing: LastEnding = LastEnding.UNTRIED


class InstanceEnd(IntEnum):
    SILENT = 0
    RESULT = 1
    LOST = 2
    WITHDRAWN = 3


class History(msgspec.Struct, frozen=True):
    """Instances in columns, in the order in which they were sent."""

    sent: Integers
    ended: Integers
    """when the result came, or it was known that none will; of no meaning for silent ones"""
    fates: NDArray[np.uint8]
    standings: NDArray[np.uint8]
    """of the machine that each was sent to"""

    @classmethod
    def of(cls, instances: Iterable[Instance]) -> History:
        import numpy as np  # late: a run that is not predicted does without it

        rows = sorted(map(_row, instances))
        sent, ended, fates, standings = np.array(rows, dtype=np.int64).reshape(-1, 4).T
        return cls(sent, ended, fates.astype(np.uint8), standings.astype(np.uint8))

    def __len__(self) -> int:
        return len(self.sent)

    def seen_at(self, moment: Time) -> History:
        """What was known then of what had been sent before."""
        import numpy as np

        sent = self.among(self.sent < moment)
        fates = np.where(sent.ended <= moment, sent.fates, np.uint8(InstanceEnd.SILENT))
        return History(sent.sent, sent.ended, fates, sent.standings)

    def counted(self) -> History:
        """Without those that were withdrawn."""
        return self.among(self.fates != InstanceEnd.WITHDRAWN)

    def among(self, chosen: NDArray[np.bool_]) -> History:
        return History(
            self.sent[chosen], self.ended[chosen], self.fates[chosen], self.standings[chosen]
        )

    def turnarounds(self) -> Integers:
        """Turnaround times of results, ascending: a sample of F_s."""
        import numpy as np

        has_result = self.fates == InstanceEnd.RESULT
        return np.sort(np.maximum(1, self.ended[has_result] - self.sent[has_result]))

    @property
    def end(self) -> Time:
        """Just after all observations."""
        known = self.ended[self.fates != InstanceEnd.SILENT]
        latest = max(int(self.sent.max(initial=0)), int(known.max(initial=0)))
        return latest + 1


def _row(one: Instance) -> tuple[Time, Time, int, int]:
    ended = one.until
    fate = InstanceEnd.SILENT if one.until is None else InstanceEnd.LOST
    if one.is_withdrawn:
        fate = InstanceEnd.WITHDRAWN
    elif one.turnaround is not None:
        fate, ended = InstanceEnd.RESULT, one.sent + one.turnaround
    ended = one.sent if ended is None else ended
    if not 0 <= one.sent <= ended <= LONGEST:
        raise InputError(
            "an attempt ends before it begins, or after more than 100 years; check its times"
        )
    return one.sent, ended, int(fate), int(one.standing)


class Reliability(msgspec.Struct, frozen=True):
    """Gamma over time: `values[i]` before `boundaries[i]`, and `after` from the last one on."""

    boundaries: tuple[Time, ...]
    """ascending, one for each value"""
    values: tuple[float, ...]
    after: float

    def at(self, moment: Time) -> float:
        """The probability that an instance sent at that moment returns a result."""
        place = bisect_right(self.boundaries, moment)
        return self.values[place] if place < len(self.values) else self.after

    def since(self, moment: Time) -> Reliability:
        """The same, with times counted from that moment."""
        return Reliability(tuple(one - moment for one in self.boundaries), self.values, self.after)

    def at_least(self, chance: float) -> Reliability:
        """The same, nowhere below that chance."""
        values = tuple(max(chance, value) for value in self.values)
        return Reliability(self.boundaries, values, max(chance, self.after))


def offline_reliability(history: History, size: int = SET_SIZE) -> Reliability:
    """Gamma where all is known; silent instances are lost. After the end, the mean of all."""
    import numpy as np

    known = history.counted()
    if not len(known):
        return Reliability((), (), prudent(0.0, 0, 0))
    has_result = (known.fates == InstanceEnd.RESULT).astype(np.float64)
    results = int(has_result.sum())
    after = prudent(results / len(known), results, len(known) - results)
    return summed_sets(known.sent, has_result, int(known.sent[-1]) + 1, after, size)


def online_reliability(
    history: History, tail: Time, deadline: Time, size: int = SET_SIZE
) -> Reliability:
    """Gamma as it can be known at `tail`, the moment of a decision, with an instances' deadline."""
    import numpy as np

    seen = history.seen_at(tail).counted()
    if not len(seen):
        return Reliability((), (), prudent(0.0, 0, 0))
    starts = _sets(len(seen), size)
    ages = tail - seen.sent
    is_old, is_silent = ages > deadline, seen.fates == InstanceEnd.SILENT
    expected = np.where(is_old, 1.0, share_within(seen.turnarounds(), ages))
    is_lost = (seen.fates == InstanceEnd.LOST) | (is_silent & is_old)

    def summed(of_each: NDArray[np.bool_] | Floats) -> Floats:
        return np.add.reduceat(of_each.astype(np.float64), starts)

    counts = summed(np.ones(len(seen)))
    results, lost = summed(seen.fates == InstanceEnd.RESULT), summed(is_lost)
    is_exact = summed(is_silent & ~is_old) == 0
    knowledge = np.where(is_exact, counts, summed(expected))
    is_first_epoch = summed(is_old) == counts
    least = (results[is_first_epoch] / counts[is_first_epoch]).min(initial=1.0)
    floor = least if is_first_epoch.any() else 0.0
    guessed = np.divide(results, knowledge, out=np.zeros_like(results), where=knowledge > 0)
    possible = (counts - lost) / counts
    values = np.minimum(np.maximum(guessed, floor), possible)
    means = [
        float(np.average(values[epoch], weights=knowledge[epoch]))
        for epoch in (is_first_epoch, ~is_first_epoch)
        if knowledge[epoch].sum() > 0
    ]
    after = sum(means) / len(means) if means else 0.0
    after = prudent(after, int(results.sum()), int(lost.sum()))
    values = np.where(knowledge > 0, values, np.minimum(after, possible))
    return _pieces(seen.sent, starts, values, tail, after)


def share_within(turnarounds: Integers, ages: Integers) -> Floats:
    """F_s at each age; 0 where no turnaround time is known."""
    import numpy as np

    within = np.searchsorted(turnarounds, ages, side="right")
    return within / max(1, len(turnarounds))


def prudent(share: float, results: int, lost: int) -> float:
    """The share, unless it is nothing or all for want of data."""
    if lost == 0:
        whole = (results + 0.5) / (results + 1)
        return min(share, whole) if results else whole
    return share if results else 0.5 / (lost + 1)


def summed_sets(
    sent: Integers, expected: Floats, end: Time, after: float, size: int = SET_SIZE
) -> Reliability:
    """Gamma of sets of instances by how many of each set are expected to return."""
    import numpy as np

    starts = _sets(len(sent), size)
    values = np.add.reduceat(expected, starts) / np.diff([*starts, len(sent)])
    return _pieces(sent, starts, values, end, after)


def _sets(instances: int, size: int) -> Integers:
    """Where each set begins; what is left over at the end belongs to the last whole set."""
    import numpy as np

    return np.arange(max(1, instances // size), dtype=np.int64) * size


def _pieces(
    sent: Integers, starts: Integers, values: Floats, end: Time, after: float
) -> Reliability:
    boundaries = (*map(int, sent[starts[1:]]), end)
    return Reliability(boundaries, tuple(map(float, values)), after)


# --- the size of the pool, and the tail ----------------------------------------------------------


def effective_size(
    history: History, deadline: Time, end: Time, requested: int | None = None
) -> int:
    """Instances under way at a time, on average from the first one's sending to `end`.

    By Little's law that is their rate times their stay. A silent instance stays until its deadline.
    A pool has not more machines than were requested, and at least one.
    """
    import numpy as np

    if not len(history):
        raise InputError("nothing was sent to unreliable machines; give their number")
    begin = int(history.sent[0])
    stays = np.where(history.fates == InstanceEnd.SILENT, history.sent + deadline, history.ended)
    if end > begin:
        stay = np.maximum(0, np.minimum(stays, end) - history.sent).astype(np.float64)
        size = round(float(stay.sum()) / (end - begin))
    else:
        size = int((history.sent == begin).sum())
    return max(1, size if requested is None else min(size, requested))


def is_tail(remaining: int, machines: int) -> bool:
    """Fewer tasks remain than there are unreliable machines available (section 2.1)."""
    return remaining < machines


def tail_start(completions: Iterable[Time], tasks: int, machines: int) -> Time | None:
    """When the tail began, by the times of the tasks' first results; None: it has not."""
    if is_tail(tasks, machines):
        return 0
    ends = sorted(completions)
    last = tasks - machines
    return ends[last] if last < len(ends) else None
