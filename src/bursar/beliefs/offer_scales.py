"""How many times as long tasks take on one offer as on another, where no task ran on both.

Offers are believed to differ by a factor. What a sample on an offer shows of it is partly luck: the
offers that look best are those whose sample came out short, and they are the ones that a planner
picks. So each offer is pulled towards the others, or towards what the market tells of its speed, by
as much as luck explains the differences between them (empirical Bayes; Efron and Morris 1975).

A market that tells no speeds has prices: dear slots may be fast ones. Both are thought possible,
that prices tell the speed and that they tell nothing, by how well either explains the samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.beliefs.posterior import PossibleRuntimes, possible_runtimes

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

GIVEN_SPREADS: Final = np.array([0.01, 0.03, 0.1, 0.3])
"""Deviations of the logarithm of an offer's speed from a given one that are thought possible ..."""
PRICED_SPREADS: Final = np.array([0.05, 0.1, 0.2, 0.3])
"""... from the price of a slot, where nobody tells the speed, ..."""
UNKNOWN_SPREADS: Final = np.array([0.1, 0.2, 0.3, 0.5, 0.8])
"""... and from those of other offers."""
POWERS: Final = (0.5, 1.0)
"""of run times whose mean may tell a factor best, if not that of their logarithms"""


class OfferScales(msgspec.Struct, frozen=True):
    """Logarithms of the time that the same work takes on each offer."""

    usual: Floats
    """[offer]"""
    drawn: Floats
    """[draw, offer]: what else is possible, beside the usual"""


def possible_of_one_bag(
    samples: Sequence[Integers],
    speeds: Sequence[float],
    draws: int,
    rng: np.random.Generator,
    prices: Sequence[float] = (),
) -> list[PossibleRuntimes]:
    """For samples of other tasks of a bag on each offer: what all of them leave possible there.

    `prices` are those of a slot, for the same time.
    """
    if len(samples) == 1:
        return possible_runtimes(samples, draws, rng)
    scales = draw_scales(samples, speeds, draws, rng, prices)
    center = float(scales.usual.mean())
    work = [
        sample * np.exp(center - scale) for sample, scale in zip(samples, scales.usual, strict=True)
    ]
    whole = np.maximum(1, np.rint(np.concatenate(work))).astype(np.int64)
    [bag] = possible_runtimes([whole], draws, rng)
    factors = np.exp(scales.usual - center + scales.drawn)
    return [bag.scaled(factor) for factor in factors.T]


def draw_scales(
    samples: Sequence[Integers],
    speeds: Sequence[float],
    draws: int,
    rng: np.random.Generator,
    prices: Sequence[float] = (),
) -> OfferScales:
    """A normal model of two levels; offers deviate from what is given by an unknown spread."""
    place, noise = _locations(samples)
    given, spreads = _given(speeds, prices)  # [model, offer], [model]
    seen = place + given
    total = noise[None, :] + np.square(spreads)[:, None]
    weight = 1 / total
    middle = (weight * seen).sum(axis=1) / weight.sum(axis=1)
    misfit = (weight * np.square(seen - middle[:, None])).sum(axis=1)
    chance = -0.5 * (misfit + np.log(total).sum(axis=1) + np.log(weight.sum(axis=1)))
    chance = np.exp(chance - chance.max())
    which = rng.choice(len(spreads), draws, p=chance / chance.sum())
    common = middle + rng.standard_normal((draws, len(spreads))) / np.sqrt(weight.sum(axis=1))
    common = common[np.arange(draws), which]
    trust = (np.square(spreads)[:, None] / total)[which]  # in the sample, not in the others
    scales = trust * seen[which] + (1 - trust) * common[:, None] - given[which]
    scales += rng.standard_normal(scales.shape) * np.sqrt(trust * noise)
    usual = scales.mean(axis=0)
    share = np.array([len(sample) for sample in samples], dtype=np.float64)
    drawn = scales - usual
    # what all have in common is left to the posterior of the bag
    drawn -= (drawn @ share / share.sum())[:, None]
    return OfferScales(usual, drawn)


def _given(speeds: Sequence[float], prices: Sequence[float]) -> tuple[Floats, Floats]:
    """Logarithms of what the speeds may be in proportion to, and how far they may deviate."""
    logs = np.log(np.asarray(speeds, dtype=np.float64))
    if np.ptp(logs) > 0:
        return np.tile(logs, (len(GIVEN_SPREADS), 1)), GIVEN_SPREADS
    models = [(logs, spread) for spread in UNKNOWN_SPREADS]
    if len(prices) and min(prices) > 0:
        models += [(np.log(prices), spread) for spread in PRICED_SPREADS]
    return np.array([one for one, _ in models]), np.array([spread for _, spread in models])


def _locations(samples: Sequence[Integers]) -> tuple[Floats, Floats]:
    """The logarithm of a mean of each sample, and its variance: of the mean that errs least."""
    sizes = np.array([len(sample) for sample in samples], dtype=np.float64)
    logs = [np.log(np.maximum(sample, 1)) for sample in samples]
    places = [np.array([float(one.mean()) for one in logs])]
    spread = [_pooled([one.var(ddof=1) if len(one) > 1 else 0.0 for one in logs], sizes)]
    for power in POWERS:
        raised = [sample.astype(np.float64) ** power for sample in samples]
        means = np.array([float(one.mean()) for one in raised])
        places.append(np.log(means) / power)
        ratios = [
            (one.var(ddof=1) if len(one) > 1 else 0.0) / mean**2 / power**2
            for one, mean in zip(raised, means, strict=True)
        ]
        spread.append(_pooled(ratios, sizes))
    best = int(np.argmin(spread))
    return places[best], np.maximum(spread[best], 1e-9) / sizes


def _pooled(variances: Sequence[float], sizes: Floats) -> float:
    """By degrees of freedom."""
    free = np.maximum(sizes - 1, 1e-9)
    return float(np.dot(variances, free) / free.sum())
