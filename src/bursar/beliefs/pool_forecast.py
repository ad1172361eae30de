"""What is to be expected of the unreliable pool for the rest of a run, from the run itself.

The rest differs from what has been. Hosts that fail at everything fail first, and are left out or
replaced: gamma rises. So it is counted by the standing of machines, that is by what became of the
last attempt on each when the next one was sent there. Turnaround times may have a trend: those so
far are brought to the present by it. What is silent at an age at which most results have returned
is likely to be lost, but less so if all takes longer than before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from bursar.beliefs.incidence import Incidence
from bursar.beliefs.reliability import History, InstanceEnd, LastEnding, Reliability, share_within
from bursar.beliefs.trend import slope_of
from bursar.model.time import LONGEST, Time

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

HALVINGS: Final = 40
UNKNOWN: Final = 0.5
"""A chance of which nothing is known."""


class PoolForecast(msgspec.Struct, frozen=True):
    """The unreliable pool as a simulation of what remains takes it to be."""

    turnarounds: Integers
    """of results, ascending: a sample of F_s"""
    losses: Integers
    """how long after their sending losses are known, ascending; none where all are silent"""
    gamma: Reliability


class Awaited(msgspec.Struct, frozen=True):
    """Instances under way, by what could have been heard of them at their age."""

    late: Floats
    """the share of results that take longer"""
    quiet: Floats
    """the share of losses that are known later, or never"""

    @classmethod
    def of(cls, ages: Integers, turnarounds: Integers, losses: Integers) -> Awaited:
        return cls(1.0 - share_within(turnarounds, ages), 1.0 - share_within(losses, ages))

    def hopes(self, gamma: float) -> Floats:
        """The chance of each that it returns, if gamma was the chance when it was sent."""
        import numpy as np

        late, quiet = gamma * self.late, (1.0 - gamma) * self.quiet
        silent = late + quiet
        return np.divide(late, silent, out=np.zeros_like(late), where=silent > 0)

    def among(self, chosen: NDArray[np.bool_]) -> Awaited:
        return Awaited(self.late[chosen], self.quiet[chosen])


def foresee(history: History, now: Time) -> PoolForecast:
    """By what is known now of a history that has a result.

    Gamma of an instance under way is that of its machine's standing. Of what is sent from now on it
    is the mean over the instances of the latest mean turnaround time.
    """
    import numpy as np

    seen = history.seen_at(now).counted()
    ages, is_silent = now - seen.sent, seen.fates == InstanceEnd.SILENT
    so_far = Incidence.of(seen, now)
    losses, pace = so_far.losses(), _pace(seen, ages, so_far)
    spans = np.where(is_silent, ages, seen.ended - seen.sent)
    times = Incidence.of_spans(_scaled(spans, pace), seen.fates).turnarounds()
    awaited = Awaited.of(_scaled(ages, pace), times, losses)
    by_standing = _gammas(seen, awaited)
    each = by_standing[seen.standings]
    recent = ages <= float(times.mean())
    after = float(each[recent].mean() if recent.any() else each.mean())
    return PoolForecast(times, losses, _under_way(seen.sent[is_silent], each[is_silent], after))


def most_likely(results: int, instances: int, awaited: Awaited, guess: float) -> float:
    """The share that returns, by what is known of instances, as many silent ones among them.

    The guess counts as much as one instance: after n results and no loss a guess of 1/2 leaves
    (n + 1/2) / (n + 1). What is sought is the share that equals the one which it lets expect.
    """
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        share = (low + high) / 2
        expected = (results + float(awaited.hopes(share).sum()) + guess) / (instances + 1)
        low, high = (share, high) if expected > share else (low, share)
    return (low + high) / 2


def _gammas(seen: History, awaited: Awaited) -> Floats:
    """By standing; that of all is the guess where little is known of one."""
    import numpy as np

    is_silent, has_result = seen.fates == InstanceEnd.SILENT, seen.fates == InstanceEnd.RESULT

    def gamma(chosen: NDArray[np.bool_], guess: float) -> float:
        results = int((chosen & has_result).sum())
        silent = awaited.among(chosen & is_silent)
        return most_likely(results, int(chosen.sum()), silent, guess)

    whole = gamma(np.ones(len(seen), dtype=np.bool_), UNKNOWN)
    return np.array([gamma(seen.standings == standing, whole) for standing in LastEnding])


def _pace(seen: History, ages: Integers, so_far: Incidence) -> Floats:
    """By how much longer than then each instance would take if it were sent now."""
    import numpy as np

    is_silent, has_result = seen.fates == InstanceEnd.SILENT, seen.fates == InstanceEnd.RESULT
    awaited = Awaited.of(ages, so_far.turnarounds(), so_far.losses())
    whole = most_likely(int(has_result.sum()), len(seen), awaited.among(is_silent), UNKNOWN)
    weights = np.where(is_silent, awaited.hopes(whole), 1.0)
    spans = np.where(is_silent, ages, seen.ended - seen.sent).astype(np.float64)
    ago = ages / ages.max()
    kept = is_silent | has_result
    slope = slope_of(-ago[kept], spans[kept], has_result[kept].astype(np.float64), weights[kept])
    return np.asarray(np.exp(slope * ago))


def _scaled(spans: Integers, pace: Floats) -> Integers:
    import numpy as np

    return np.clip(np.rint(spans * pace), 1, LONGEST).astype(np.int64)


def _under_way(sent: Integers, gammas: Floats, after: float) -> Reliability:
    """Gamma by when an instance was sent; of those that were sent together, the mean."""
    import numpy as np

    moments, place, count = np.unique(sent, return_inverse=True, return_counts=True)
    means = np.bincount(place, weights=gammas, minlength=len(moments)) / count
    boundaries = tuple(int(moment) + 1 for moment in moments)
    return Reliability(boundaries, tuple(map(float, means)), after)
