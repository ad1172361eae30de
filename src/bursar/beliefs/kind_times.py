"""Finished tasks of a running workflow tell about those to come (Prob, section 5: piggyback).

A prediction is wrong in ways that tasks share: all of one kind do more than was thought, or all on
one offer are slowed down. What a task took, by what was predicted, is a factor; its mean over tasks
of the same kind on the same offer corrects the prediction for the next one. Few observations say
little, so they are mixed with what is said without them: a kind's mean with that of all tasks on
the offer, and the offer's with 1, the prediction as it was.

Means are those of the factors themselves, not of their logarithms: a prediction that is right on
average has a mean factor of 1, however skewed the times are, and so expected costs stay right.
"""

from __future__ import annotations

import math
from typing import Final

import msgspec

from bursar.beliefs.histogram import Histogram
from bursar.beliefs.lognormal import lognormal
from bursar.model.errors import InputError

PRIOR: Final = 3.0
"""What is said without a kind's own tasks counts as so many of them."""


class Factor(msgspec.Struct, frozen=True):
    """What a coming task will take, by what was predicted as its mean."""

    mean: float = 1.0
    spread: float = 0.0
    """standard deviation; of a prediction without error it is the task's own variation"""
    seen: int = 0
    """finished tasks of the kind on the offer"""

    def corrected(self, times: Histogram) -> Histogram:
        """The prediction with this mean; its shape stays."""
        return times.scaled(self.mean)

    def distribution(self) -> Histogram:
        """The factor itself, for a task of which no more than a mean was predicted."""
        return lognormal(self.spread / self.mean).scaled(self.mean)


class _Tally:
    """Count, mean and sum of squared deviations of factors, added one at a time (Welford)."""

    __slots__ = ("count", "mean", "squares")

    def __init__(self) -> None:
        self.count, self.mean, self.squares = 0, 0.0, 0.0

    def add(self, factor: float) -> None:
        self.count += 1
        step = factor - self.mean
        self.mean += step / self.count
        self.squares += step * (factor - self.mean)

    def mixed(self, prior: Factor) -> Factor:
        """With PRIOR tasks such as the prior has them, at their mean and with their variance."""
        weight = self.count + PRIOR
        mean = (self.count * self.mean + PRIOR * prior.mean) / weight
        between = PRIOR * self.count / weight * (self.mean - prior.mean) ** 2
        variance = (self.squares + PRIOR * prior.spread**2 + between) / weight
        return Factor(mean, math.sqrt(variance), self.count)


class Piggyback:
    """Factors by kind and offer, from the tasks that have finished."""

    def __init__(self) -> None:
        self._by_kind: dict[tuple[str, str], _Tally] = {}
        self._by_offer: dict[str, _Tally] = {}

    def saw(self, kind: str, offer: str, predicted: float, actual: float) -> None:
        """A task has finished: its mean as it was predicted before any correction, and its time.

        A task that was predicted to take no time has no factor, and teaches nothing.
        """
        if not (0 <= predicted < math.inf and 0 <= actual < math.inf):
            raise InputError(
                f"a task predicted to take {predicted:g} s that took {actual:g} s; both must be"
                " finite and not negative"
            )
        if predicted == 0:
            return
        factor = actual / predicted
        self._by_kind.setdefault((kind, offer), _Tally()).add(factor)
        self._by_offer.setdefault(offer, _Tally()).add(factor)

    def factor(self, kind: str, offer: str) -> Factor:
        """For the next task of this kind on this offer; 1 where nothing was seen."""
        of_offer = self._by_offer.get(offer, _NOTHING).mixed(Factor())
        return self._by_kind.get((kind, offer), _NOTHING).mixed(of_offer)


_NOTHING: Final = _Tally()
"""never added to"""
