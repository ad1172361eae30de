"""Reliability and turnaround times as well as they can be known while instances are under way.

The paper counts F_s from what has returned, though slow results are missing among what was sent of
late, and its equation 2 then tells too low a gamma (`bursar.beliefs.reliability` has it so). Here
shares count only instances that were under way for long enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from bursar.beliefs.reliability import (
    History,
    InstanceEnd,
    Reliability,
    prudent,
    share_within,
    summed_sets,
)
from bursar.model.time import LONGEST, Time

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

FINENESS: Final = 500
"""Fewest times that a distribution is learned from."""


class Incidence(msgspec.Struct, frozen=True):
    """Which share of instances has returned, or is known to be lost, after a time.

    Results that are slow are missing among what was sent of late; to count what came so far would
    make all look faster than it is. So each step of the shares counts only those that were under
    way for that long (the estimator of Aalen and Johansen for competing risks).
    """

    times: Integers
    """ascending, since sending, at which something happened"""
    returned: Floats
    """the step at each of them in the share that has returned"""
    lost: Floats

    @classmethod
    def of(cls, history: History, now: Time) -> Incidence:
        import numpy as np

        seen = history.counted()
        is_known = seen.fates != InstanceEnd.SILENT
        spans = np.maximum(1, np.where(is_known, seen.ended, now) - seen.sent)
        return cls.of_spans(spans, seen.fates)

    @classmethod
    def of_spans(cls, spans: Integers, fates: NDArray[np.uint8]) -> Incidence:
        """By how long each instance was under way, or is."""
        import numpy as np

        order = np.argsort(spans, kind="stable")
        times, first = np.unique(spans[order], return_index=True)

        def counts(fate: InstanceEnd) -> Floats:
            is_one = (fates[order] == fate).astype(np.float64)
            return np.add.reduceat(is_one, first) if len(first) else np.zeros(0)

        results, losses = counts(InstanceEnd.RESULT), counts(InstanceEnd.LOST)
        at_risk = len(spans) - first
        left = np.cumprod(1.0 - (results + losses) / at_risk)
        before = np.concatenate(([1.0], left[:-1]))[: len(times)]
        returned, lost = before * results / at_risk, before * losses / at_risk
        happened = (returned > 0) | (lost > 0)
        return cls(times[happened], returned[happened], lost[happened])

    @property
    def reliability(self) -> float:
        """The share that has returned in the end, as far as instances were watched."""
        return float(self.returned.sum())

    def turnarounds(self) -> Integers:
        """A sample of F_s, ascending."""
        return _sample(self.times, self.returned)

    def losses(self) -> Integers:
        """A sample of how long after its sending a loss is known, ascending; none: never.

        Of those that are not known they say that it takes ages.
        """
        import numpy as np

        lost, silent = float(self.lost.sum()), 1.0 - float((self.returned + self.lost).sum())
        if lost <= 0:
            return np.zeros(0, dtype=np.int64)
        times = np.append(self.times, LONGEST)
        return _sample(times, np.append(self.lost, max(0.0, silent)))


def _sample(times: Integers, weights: Floats) -> Integers:
    """As many of the times as there are, or enough, each as often as its weight says."""
    import numpy as np

    total = float(weights.sum())
    if total <= 0:
        return np.zeros(0, dtype=np.int64)
    has_weight = weights > 0
    times, shares = times[has_weight], np.cumsum(weights[has_weight]) / total
    if np.allclose(weights[has_weight], weights[has_weight][0]):
        return times
    size = max(len(times), FINENESS)
    places = np.searchsorted(shares, (np.arange(size) + 0.5) / size)
    return times[np.minimum(places, len(times) - 1)]


def current_reliability(history: History, now: Time, deadline: Time) -> Reliability:
    """Gamma as it can be known now.

    Of what is sent from now on it is halfway between the instances that were sent a deadline ago
    and the recent ones, as published. Of a set it is the share that has returned, and of those
    under way the share that will: what has not returned at its age will with probability
    gamma (1 - F_s(age)) / (1 - gamma F_s(age)).
    """
    import numpy as np

    seen = history.seen_at(now).counted()
    if not len(seen):
        return Reliability((), (), prudent(0.0, 0, 0))
    ages = now - seen.sent
    is_old, is_silent = ages > deadline, seen.fates == InstanceEnd.SILENT
    has_result = seen.fates == InstanceEnd.RESULT
    lost = int(((seen.fates == InstanceEnd.LOST) | (is_silent & is_old)).sum())
    after = prudent(_expected(seen, is_old, now), int(has_result.sum()), lost)
    within = share_within(Incidence.of(seen, now).turnarounds(), ages)
    hope = after * (1.0 - within) / np.maximum(1e-9, 1.0 - after * within)
    is_awaited = is_silent & ~is_old
    expected = has_result + np.where(is_awaited, hope, 0.0)
    return summed_sets(seen.sent, expected, now, after)


def _expected(seen: History, is_old: NDArray[np.bool_], now: Time) -> float:
    """Gamma of what is sent from now on: halfway between the old instances and the recent ones."""
    means = [
        Incidence.of(seen.among(epoch), now).reliability
        for epoch in (is_old, ~is_old)
        if epoch.any()
    ]
    return sum(means) / len(means)
