"""How long a fleet takes for a bag and what it costs: P50, P90, or any confidence.

The prediction is a list of equally likely outcomes. Each comes from a distribution of run times
that the sample leaves possible (`posterior`) and an execution of the bag with it (`endings`). So
it holds the error of the sample, the chance of tasks longer than any seen, the luck of the
execution, and that tasks cannot be divided: the last one decides. A bound at 90 % is meant to hold
in 90 % of all executions, counted over many samples. That rests on how the tails of run times go on
beyond what was seen (`tail_shapes`); `bursar reproduce plan-bounds` measures it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from math import ceil
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.beliefs.cautions import sample_cautions
from bursar.beliefs.endings import EqualSlots, exact_ends, long_run_ends
from bursar.beliefs.posterior import Floats, possible_runtimes
from bursar.model.errors import InputError
from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import Time

DRAWS: Final = 600
FEWEST_DRAWS: Final = 150
EXACT_TASKS: Final = 1_500
"""Bags up to this size are executed exactly."""
EXACT_TASKS_A_SLOT: Final = 25
"""Beyond that, where slots do no more than this, too ..."""
EXACT_WORK: Final = 900_000
"""... with fewer draws, so that draws times tasks stay below this ..."""
MOST_WORK: Final = 6_000_000
"""... unless even the fewest draws are more work than this."""


class FleetPart(msgspec.Struct, frozen=True):
    """Machines of one offer, and the run times that were seen there or inferred for it."""

    offer: Offer
    machines: int
    runtimes: NDArray[np.int64]
    sample: str = ""
    """parts that name the same sample have the same tasks in the same order, so what is wrong
    with one is wrong with all; an unnamed sample is independent of all others"""


class Prediction(msgspec.Struct, frozen=True):
    """Equally likely outcomes: `makespans[i]` goes with `costs[i]` (billionths)."""

    makespans: tuple[Time, ...]
    costs: tuple[int, ...]
    cautions: tuple[str, ...] = ()
    """why the bounds may not hold, a sentence each"""

    def makespan(self, confidence: float = 0.5) -> Time:
        """The time that is not exceeded with this confidence."""
        return sorted(self.makespans)[_rank(confidence, len(self.makespans))]

    def cost(self, confidence: float = 0.5) -> Money:
        """The cost that is not exceeded with this confidence."""
        return Money(sorted(self.costs)[_rank(confidence, len(self.costs))])

    def chance(self, budget: Money | None = None, deadline: Time | None = None) -> float:
        """How likely it is that both limits are kept."""
        kept = sum(
            (budget is None or cost <= budget.nanos) and (deadline is None or makespan <= deadline)
            for makespan, cost in zip(self.makespans, self.costs, strict=True)
        )
        return kept / len(self.makespans)


def predict(
    parts: Sequence[FleetPart], tasks: int, rng: np.random.Generator, draws: int = DRAWS
) -> Prediction:
    """Predict the execution of so many tasks by a fleet that is rented now.

    Machines stay until their last task is done and are charged for that, from renting on. Where
    there are more slots than tasks, no more machines are rented than the tasks need, one of each
    offer in turn.
    """
    if tasks < 1:
        raise InputError(f"{tasks} tasks need no prediction; ask for one task or more")
    working = _working(parts, tasks)
    if not working:
        raise InputError("a fleet without machines does no task; give it at least one")
    is_exact, draws = _effort(working, tasks, draws)
    working_groups = _groups(working, draws, rng)
    ends = (exact_ends if is_exact else long_run_ends)(working_groups, tasks, rng)
    makespan = np.max([end.last for end in ends], axis=0)
    cost = np.sum([_charges(p, end.slots) for p, end in zip(working, ends, strict=True)], axis=0)
    return Prediction(
        tuple(int(value) for value in makespan),
        tuple(int(value) for value in cost),
        tuple(fleet_cautions(working)),
    )


def fleet_cautions(parts: Sequence[FleetPart]) -> Iterator[str]:
    """What is to be said of each sample that is not sound."""
    seen: set[str] = set()
    for part in parts:
        if not part.sample or part.sample not in seen:
            seen.add(part.sample)
            yield from sample_cautions(part.offer.name, part.runtimes)


def _working(parts: Sequence[FleetPart], tasks: int) -> list[FleetPart]:
    """The machines that will be rented: all, unless there are more slots than tasks."""
    if sum(part.machines * part.offer.slots for part in parts) <= tasks:
        return [part for part in parts if part.machines]

    def rented(turns: int) -> list[int]:
        return [min(part.machines, turns) for part in parts]

    def has_enough(turns: int) -> bool:
        counts = zip(parts, rented(turns), strict=True)
        return sum(count * part.offer.slots for part, count in counts) >= tasks

    last = bisect_left(range(tasks), True, lo=1, key=has_enough)
    counts = rented(last - 1)
    slots = sum(count * part.offer.slots for part, count in zip(parts, counts, strict=True))
    for number, part in enumerate(parts):
        if slots < tasks and part.machines >= last:
            counts[number] += 1
            slots += part.offer.slots
    return [
        msgspec.structs.replace(part, machines=count)
        for part, count in zip(parts, counts, strict=True)
        if count
    ]


def _effort(parts: Sequence[FleetPart], tasks: int, draws: int) -> tuple[bool, int]:
    """Whether to execute the bag exactly, and how many draws that allows."""
    slots = sum(part.machines * part.offer.slots for part in parts)
    if tasks > EXACT_TASKS:
        fewest = min(draws, FEWEST_DRAWS)
        if tasks > EXACT_TASKS_A_SLOT * slots or fewest * tasks > MOST_WORK:
            return False, draws
        return True, max(fewest, min(draws, EXACT_WORK // tasks))
    return True, draws


def _groups(parts: Sequence[FleetPart], draws: int, rng: np.random.Generator) -> list[EqualSlots]:
    """The parts as crews; those that share a sample share its errors."""
    groups: dict[str, list[int]] = {}
    for number, part in enumerate(parts):
        groups.setdefault(part.sample or f"\0{number}", []).append(number)
    working_groups: dict[int, EqualSlots] = {}
    for members in groups.values():
        samples = [parts[number].runtimes for number in members]
        for number, possible in zip(members, possible_runtimes(samples, draws, rng), strict=True):
            offer = parts[number].offer
            working_groups[number] = EqualSlots(
                possible, parts[number].machines * offer.slots, offer.boot
            )
    return [working_groups[number] for number in range(len(parts))]


def _charges(part: FleetPart, ends: Floats) -> NDArray[np.object_]:
    """What the machines of a part cost, in billionths, where their slots end so.

    Python's own numbers: a sum may be more than 64 bits hold.
    """
    offer = part.offer
    modelled = ends.shape[1] // offer.slots
    slots = ends[:, : modelled * offer.slots].reshape(len(ends), modelled, offer.slots)
    stays = np.maximum(slots.max(axis=2), max(offer.boot, offer.minimum, 1)).astype(np.int64)
    units = (-(-stays // offer.billing)).sum(axis=1)
    charged = units * part.machines // modelled
    costs: NDArray[np.object_] = charged.astype(object) * offer.price.nanos
    return costs


def _rank(confidence: float, count: int) -> int:
    if not 0 < confidence < 1:
        raise InputError(f"a confidence of {confidence} is not between 0 and 1; try 0.9")
    return max(0, ceil(confidence * count) - 1)
