"""When each slot of a fleet finishes its last task, for many possible bags at once.

Tasks are taken in order by whichever slot is free (list scheduling, as BaTS does). Until the bag
is empty the slots do not influence each other: each starts a task when it is up and at each of its
completions. So with `N` tasks, the bag is empty at the N-th earliest of all these instants, and
nothing needs to be simulated step by step. That is `exact_ends`.

Where every slot does many tasks the law of renewals says when the bag is empty and what is left
then of the tasks under way, at a cost that does not depend on `N`. That is `long_run_ends`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bursar.beliefs.posterior import Floats, PossibleRuntimes
from bursar.model.time import Time

CHUNK: Final = 1_500_000
"""Numbers held at once."""
MOST_MODELLED: Final = 250
"""Slots of one group that are modelled one by one in the long run; they stand for all, but for the
last of the others to end, which is drawn by itself."""


class EqualSlots:
    """Slots that are alike: what run times are possible there, how many, and when they are up."""

    def __init__(self, possible: PossibleRuntimes, slots: int, boot: Time) -> None:
        self.possible = possible
        self.slots = slots
        self.boot = boot


class Ends(NamedTuple):
    """When the slots of a group end, for each draw."""

    slots: Floats
    """by draw and slot; a slot that got no task ends at zero"""
    last: Floats
    """the last of all slots, also of those that are not modelled one by one"""


def exact_ends(groups: Sequence[EqualSlots], tasks: int, rng: np.random.Generator) -> list[Ends]:
    """For each group, when its slots end.

    There are at least as many tasks as slots.
    """
    draws = len(groups[0].possible.unusual)
    steps = _steps(groups, tasks)
    width = sum(group.slots * (count + 1) for group, count in zip(groups, steps, strict=True))
    size = max(1, CHUNK // width)
    parts = [
        _ends_of(groups, slice(begin, min(begin + size, draws)), tasks, steps, rng)
        for begin in range(0, draws, size)
    ]
    by_slot = [np.concatenate(ends) for ends in zip(*parts, strict=True)]
    return [Ends(ends, ends.max(axis=1)) for ends in by_slot]


def _steps(groups: Sequence[EqualSlots], tasks: int) -> list[int]:
    """How many tasks a slot of each group does at the most, almost surely."""
    means = [group.possible.mean() for group in groups]
    rate = sum(group.slots / mean for group, mean in zip(groups, means, strict=True))
    steps = []
    for group, mean in zip(groups, means, strict=True):
        usual = tasks / (rate * mean)
        spread = np.sqrt(group.possible.variance()) / mean
        steps.append(min(tasks, int(np.max(usual + 5 * np.sqrt(usual) * spread)) + 3))
    return steps


def _ends_of(
    groups: Sequence[EqualSlots],
    rows: slice,
    tasks: int,
    steps: list[int],
    rng: np.random.Generator,
) -> list[Floats]:
    """The ends for some of the draws; where the steps do not suffice, with more of them."""
    while True:
        starts = [
            _starts(group, rows, count, rng) for group, count in zip(groups, steps, strict=True)
        ]
        ends = cut_short(starts, tasks)
        if ends is not None:
            return ends
        steps = [min(tasks, 2 * count) for count in steps]


def _starts(group: EqualSlots, rows: slice, count: int, rng: np.random.Generator) -> Floats:
    """When a slot would start its first, second, ... task if the bag were never empty."""
    runtimes = group.possible.draw(rng, rows, group.slots * count)
    starts = np.empty((len(runtimes), group.slots, count + 1))
    starts[:, :, 0] = group.boot
    np.cumsum(runtimes.reshape(-1, group.slots, count), axis=2, out=starts[:, :, 1:])
    starts[:, :, 1:] += group.boot
    return starts


def cut_short(starts: list[Floats], tasks: int) -> list[Floats] | None:
    """End each slot where the bag is empty; None: some slot would start more than is known."""
    draws = len(starts[0])
    together = np.concatenate([start.reshape(draws, -1) for start in starts], axis=1)
    empty = np.partition(together, tasks - 1, axis=1)[:, tasks - 1]
    taken = [(start <= empty[:, None, None]).sum(axis=2) for start in starts]
    if any((count >= start.shape[2]).any() for count, start in zip(taken, starts, strict=True)):
        return None
    _undo_ties(starts, taken, empty, tasks)
    return [
        np.where(count > 0, np.take_along_axis(start, count[:, :, None], axis=2)[:, :, 0], 0.0)
        for count, start in zip(taken, starts, strict=True)
    ]


def _undo_ties(
    starts: list[Floats], taken: list[NDArray[np.int64]], empty: Floats, tasks: int
) -> None:
    """Where several slots want the last task at the same instant, only as many as are left get one.

    The slots of the last group stand back first.
    """
    excess = np.array(sum(count.sum(axis=1) for count in taken)) - tasks
    if not excess.any():
        return
    for start, count in zip(reversed(starts), reversed(taken), strict=True):
        last = np.take_along_axis(start, np.maximum(count - 1, 0)[:, :, None], axis=2)[:, :, 0]
        is_last = (count > 0) & (last == empty[:, None])
        rank = np.cumsum(is_last[:, ::-1], axis=1)[:, ::-1]
        undone = is_last & (rank <= excess[:, None])
        np.subtract(count, undone, out=count)
        excess = excess - undone.sum(axis=1)


def long_run_ends(groups: Sequence[EqualSlots], tasks: int, rng: np.random.Generator) -> list[Ends]:
    """The same where each slot does many tasks; large groups are represented by some slots.

    By time t a slot has started t/m + (v/m^2 + 1)/2 tasks on average, with variance t v/m^3, for
    run times of mean m and variance v.
    """
    means = [group.possible.mean() for group in groups]
    variances = [group.possible.variance() for group in groups]
    rate = sum(group.slots / mean for group, mean in zip(groups, means, strict=True))
    ahead = sum(
        group.slots * ((variance / mean**2 + 1) / 2 - group.boot / mean)
        for group, mean, variance in zip(groups, means, variances, strict=True)
    )
    expected = np.maximum((tasks - ahead) / rate, 0.0)
    spread = sum(
        group.slots * expected * variance / mean**3
        for group, mean, variance in zip(groups, means, variances, strict=True)
    )
    empty = expected + rng.standard_normal(len(expected)) * np.sqrt(spread) / rate
    return [_ends_after(empty, group, rng) for group in groups]


def _ends_after(empty: Floats, group: EqualSlots, rng: np.random.Generator) -> Ends:
    """The ends of slots that are met at work when the bag becomes empty."""
    since = np.maximum(empty, group.boot)
    modelled = min(group.slots, MOST_MODELLED)
    slots = np.rint(since[:, None] + group.possible.draw_residuals(rng, modelled))
    last = slots.max(axis=1)
    if group.slots > modelled:
        longest = group.possible.draw_longest_residual(rng, group.slots - modelled)
        last = np.maximum(last, np.rint(since + longest))
    return Ends(slots, last)
