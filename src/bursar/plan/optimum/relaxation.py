"""What no schedule can be better than: tasks may be cut into parts that run at different times.

A mixed programme, indexed by slots: how much of each task begins where and when; how much of it is
over bounds how much of its children has begun; the fleet of an interval is a mixture of fleets that
the budget pays. Whether a work is over by a slot is yes or no: nothing else is whole, and it makes
the bound a good one. Only schedules better than a known one are looked at, which leaves each task
few slots. Tasks that are alike begin alike, in part: that makes no difference to the bound, as the
mean of them is a solution, too, and leaves fewer of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from math import ceil, inf
from typing import Final

import msgspec

from bursar.plan.optimum.programme import Programme
from bursar.plan.optimum.slotted import Aim, SlottedWorkload, maximal_fleets

ROUNDING: Final = 1e-6
"""Below which a part of a slot is taken for an error of rounding."""
ALONE: Final = 0.05
"""The part of the time in which each work may be looked at alone."""
MOST_FLEETS: Final = 400
"""Beyond which machines may be active in part, whatever fleets there are."""


def relaxed_bound(
    instance: SlottedWorkload,
    aim: Aim,
    *,
    seconds: float,
    left: Callable[[], float] = lambda: inf,
    known: int | None = None,
) -> int | None:
    """What no schedule costs less than. None: there is no schedule.

    With the cost of a known schedule it is that cost, if the known one is the best. First each
    work is looked at as if it were alone; what that tells leaves fewer slots for all together.
    `left` are seconds by a clock that none of it may exceed.
    """
    least = list(instance.ends)
    for work in range(len(least)):
        latest = _latest(instance, aim, least, known)
        briefly = min(ALONE * seconds, left())
        alone = _bounded(instance, "response", least, latest, {work}, briefly)
        if alone is None:
            return known
        least[work] = instance.arrivals[work] + alone
    latest = _latest(instance, aim, least, known)
    bound = _bounded(instance, aim, least, latest, range(len(least)), min(seconds, left()))
    if bound is None or known is None:
        return known if bound is None else bound
    return min(known, bound)


def _latest(
    instance: SlottedWorkload, aim: Aim, least: Sequence[int], known: int | None
) -> list[int]:
    """By work, the slot by which it is over in every schedule that is better than the known one."""
    if known is None:
        return [instance.horizon] * len(least)
    spare = known - 1 - sum(_sure(instance, aim, work, end) for work, end in enumerate(least))
    return [min(instance.horizon, end + spare) for end in least]


def _sure(instance: SlottedWorkload, aim: Aim, work: int, end: int) -> int:
    """What a work costs that ends then."""
    if aim == "response":
        return end - instance.arrivals[work]
    late = end - instance.ends[work]
    return late + 1 if late > 0 else 0


def _bounded(
    instance: SlottedWorkload,
    aim: Aim,
    least: Sequence[int],
    latest: Sequence[int],
    works: Collection[int],
    seconds: float,
) -> int | None:
    """What these works cost at least, if they end within these slots; None: they cannot."""
    counts = Counter(
        first
        for first, task in zip(instance.alike, instance.tasks, strict=True)
        if task.work in works
    )
    tasks = list(counts)
    if any(
        instance.earliest[n] + instance.tails[n] > latest[instance.tasks[n].work] for n in tasks
    ):
        return None
    programme = Programme()
    busy = _Busy.of(instance)
    parts = {n: _parts(programme, instance, n, count, latest, busy) for n, count in counts.items()}
    for number in tasks:
        for parent in sorted({instance.alike[one] for one in instance.tasks[number].parents}):
            _precede(programme, parts[parent].over, parts[number].begun)
    _machines(programme, instance, busy)
    for work in works:
        own = [n for n in tasks if instance.tasks[n].work == work]
        lasts = [parts[n].over for n in own if not instance.children[n]]
        _ends(programme, instance, aim, work, (least[work], latest[work]), lasts)
    sure = sum(_sure(instance, aim, work, least[work]) for work in works)
    more = programme.least(seconds)
    return None if more == inf else sure + max(0, ceil(more - ROUNDING))


# --- tasks ---------------------------------------------------------------------------------------


class _Progress(msgspec.Struct, frozen=True):
    """How much of something is done by a slot: nothing before `first`, all from `last` on."""

    first: int
    last: int
    columns: dict[int, int]
    """by slot between them"""

    def at(self, slot: int) -> tuple[list[tuple[int, float]], float]:
        """A term, and what it is without one."""
        if slot in self.columns:
            return [(self.columns[slot], 1.0)], 0.0
        return [], float(slot >= self.last)

    def later(self, slots: int) -> _Progress:
        moved = {slot + slots: column for slot, column in self.columns.items()}
        return _Progress(self.first + slots, self.last + slots, moved)


class _Parts(msgspec.Struct, frozen=True):
    """A task: how much of it has begun, and how much of it is over."""

    begun: _Progress
    over: _Progress


class _Busy(msgspec.Struct, frozen=True):
    """By slot, the parts of tasks that run in it, each with how many tasks it is a part of."""

    by_offer: list[list[list[tuple[int, float]]]]
    anywhere: list[list[tuple[int, float]]]
    """those that take equally long on all offers: it need not be known where they run"""

    @classmethod
    def of(cls, instance: SlottedWorkload) -> _Busy:
        slots = range(instance.horizon)
        return cls([[[] for _ in slots] for _ in instance.offers], [[] for _ in slots])


def _parts(
    programme: Programme,
    instance: SlottedWorkload,
    number: int,
    count: int,
    latest: Sequence[int],
    busy: _Busy,
) -> _Parts:
    """Columns for each slot in which a part of each of so many tasks may begin, on each offer."""
    task = instance.tasks[number]
    end = latest[task.work] - instance.tails[number] + min(task.takes)
    starts: dict[int, list[int]] = {}
    ends: dict[int, list[int]] = {}
    is_alike = len(set(task.takes)) == 1
    for offer, takes in enumerate(task.takes[:1] if is_alike else task.takes):
        rows = busy.anywhere if is_alike else busy.by_offer[offer]
        for slot in range(instance.earliest[number], end - takes + 1):
            column = programme.column()
            starts.setdefault(slot, []).append(column)
            ends.setdefault(slot + takes, []).append(column)
            for used in range(slot, slot + takes):
                rows[used].append((column, float(count)))
    begun = _progress(programme, starts)
    return _Parts(begun, begun.later(task.takes[0]) if is_alike else _progress(programme, ends))


def _progress(programme: Programme, parts: dict[int, list[int]]) -> _Progress:
    """The sum of all parts up to each slot, which comes to 1."""
    first, last = min(parts), max(parts)
    columns: dict[int, int] = {}
    before: list[tuple[int, float]] = []
    for slot in range(first, last + 1):
        terms = [*before, *((column, 1.0) for column in parts.get(slot, ()))]
        if slot == last:
            programme.row(terms, 1.0, 1.0)
            break
        columns[slot] = programme.column()
        before = [(columns[slot], 1.0)]
        programme.row([*terms, (columns[slot], -1.0)], 0.0, 0.0)
    return _Progress(first, last, columns)


def _precede(programme: Programme, parent: _Progress, child: _Progress) -> None:
    """No more of a child has begun than is over of its parent."""
    for slot in range(child.first, parent.last):
        has, has_sure = child.at(slot)
        may, may_sure = parent.at(slot)
        programme.row([*has, *((c, -v) for c, v in may)], -inf, may_sure - has_sure)


# --- machines and works --------------------------------------------------------------------------


def _machines(programme: Programme, instance: SlottedWorkload, busy: _Busy) -> None:
    """In each interval a mixture of fleets; what runs in a slot fits into it."""
    fleets = maximal_fleets(instance)
    active = [_fleet(programme, instance, fleets) for _ in range(instance.intervals)]
    for slot in range(instance.horizon):
        shared: list[list[tuple[int, float]]] = [[] for _ in instance.offers]
        if busy.anywhere[slot]:
            somewhere = [programme.column(most=inf) for _ in instance.offers]
            shared = [[(column, 1.0)] for column in somewhere]
            there = [(column, -1.0) for column in somewhere]
            programme.row([*busy.anywhere[slot], *there], 0.0, 0.0)
        for offer, machines in enumerate(active[slot // instance.interval]):
            own = busy.by_offer[offer][slot]
            if own or shared[offer]:
                there = [(column, -count) for column, count in machines]
                programme.row([*own, *shared[offer], *there], -inf, 0.0)


def _fleet(
    programme: Programme, instance: SlottedWorkload, fleets: Sequence[tuple[int, ...]]
) -> list[list[tuple[int, float]]]:
    """By offer, how many machines are active in an interval."""
    if len(fleets) <= MOST_FLEETS:
        shares = [programme.column() for _ in fleets]
        programme.row([(share, 1.0) for share in shares], -inf, 1.0)
        return [
            [(share, float(fleet[o])) for share, fleet in zip(shares, fleets, strict=True)]
            for o in range(len(instance.offers))
        ]
    counts = [programme.column(most=float(offer.limit)) for offer in instance.offers]
    prices = [float(offer.price) for offer in instance.offers]
    programme.row(list(zip(counts, prices, strict=True)), -inf, float(instance.budget))
    return [[(count, 1.0)] for count in counts]


def _ends(
    programme: Programme,
    instance: SlottedWorkload,
    aim: Aim,
    work: int,
    between: tuple[int, int],
    lasts: Sequence[_Progress],
) -> None:
    """By slot, whether a work is not yet over: while a part of one of its last tasks is left."""
    before: int | None = None
    for slot in range(*between):
        is_first_late = aim == "lateness" and slot == instance.ends[work]
        missing = programme.column(is_whole=True, cost=2.0 if is_first_late else 1.0)
        for over in lasts:
            done, sure = over.at(slot)
            if done or not sure:
                programme.row([(missing, 1.0), *done], 1.0 - sure, inf)
        if before is not None:
            programme.row([(before, 1.0), (missing, -1.0)], 0.0, inf)
        before = missing
