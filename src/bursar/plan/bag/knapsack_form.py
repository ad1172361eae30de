"""A bounded knapsack laid out for the searches: in Python's integers, or in 64 bits if compiled.

Both forms answer the same three questions. The exact form is always right. The compact form may
hold rounded values; `knapsack_bounded` knows what its answers are then worth.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate
from operator import mul
from typing import Any, Final

import msgspec

from bursar.kernels.knapsack import PLAIN, Searches, compiled

SAFE: Final = 1 << 62
"""No number in compiled code reaches this."""
FIRST_NODES: Final = 20_000
"""Nodes that are looked at before a search gets a large table of nodes seen."""
MORE_NODES: Final = 2_000_000
"""Nodes between two chances to interrupt a search."""
FEW_PLACES: Final = 1 << 8
MANY_PLACES: Final = 1 << 20
MOST_CHOICES: Final = 256
MOST_RIVALS: Final = 64


class GaveUpError(Exception):
    """The nodes allowed did not suffice."""


class Most(msgspec.Struct, frozen=True):
    """The most value that a form knows of, and choices."""

    value: int
    choices: list[list[int]]


class KnapsackGoal(msgspec.Struct, frozen=True):
    """Value and weight that belong together, whatever the step: speed and money, in units."""

    money: int
    """weight times step is within this"""
    work: int
    """value times step is at least this"""
    given: int
    """value that is there without weight"""
    step: int
    """the first step of interest, above zero"""
    slowest: int
    """the least value of interest, above zero"""

    @property
    def last(self) -> int:
        """The last step of interest."""
        return -(-self.work // self.slowest)

    def rounded(self, shift: int) -> KnapsackGoal:
        """For values that have lost so many bits, and were rounded up."""
        return KnapsackGoal(
            self.money,
            -(-self.work >> shift),
            -(-min(self.given, self.work) >> shift),
            self.step,
            -(-self.slowest >> shift),
        )


class Direct(msgspec.Struct, frozen=True):
    """Units or cost of the best choice, and the choice; None: there is none."""

    answer: int | None
    choice: list[int]


class Form:
    """Kinds in order of falling value per weight, the heavier first among equals.

    Choices are returned in the order in which the kinds were given.
    """

    def __init__(self, value: list[int], weight: list[int], limit: list[int]) -> None:
        # Two different ratios differ by more than one part in this power of two.
        scale = 2 * max(weight, default=0).bit_length() + 1
        worth = [(v << scale) // w for v, w in zip(value, weight, strict=True)]
        self._order = sorted(range(len(value)), key=lambda i: (worth[i], weight[i]), reverse=True)
        self.value = [value[i] for i in self._order]
        self.weight = [weight[i] for i in self._order]
        self.limit = [limit[i] for i in self._order]
        self.all_value: list[int] = [0, *accumulate(map(mul, self.value, self.limit))]
        self.all_weight: list[int] = [0, *accumulate(map(mul, self.weight, self.limit))]
        self.shift = 0
        """bits that the values have lost"""
        self.nodes_used = 0
        """by the last search"""
        self._searches: Searches = PLAIN
        self._ready: _Tables | None = None

    @classmethod
    def compact(
        cls, value: list[int], weight: list[int], limit: list[int], largest: int = 0
    ) -> Form | None:
        """A form for compiled code: values rounded up after a shift; None: weights too large.

        No sum or product that a search forms reaches `SAFE`, nor does the value `largest`.
        """
        pieces = sum(limit)
        factor = max(pieces, *weight)
        shift = max(0, max(max(value) * factor, largest).bit_length() - 61)
        form = cls([-(-each >> shift) for each in value], weight, limit)
        if factor * max(form.value) >= SAFE or pieces * max(weight) >= SAFE:
            return None
        form.shift = shift
        form._searches = compiled()
        return form

    def can_add(self, size: int) -> bool:
        """Whether sums of this size are safe."""
        return self._searches is PLAIN or sum(self.limit) * size < SAFE

    # --- questions; each raises GaveUpError when `nodes` (None: any number) do not suffice -------

    def most(self, room: int, wanted: int, margin: int, nodes: int | None) -> Most:
        """The most value within a weight, and the choices that are within a margin of it.

        With a margin of zero, one of the best. If the most is less than wanted, no choice.
        """
        kinds = self._tables()
        room = min(room, self.all_weight[-1])
        plan, grains, count = self._arranged(bisect_right(self.all_weight, room) - 1)
        width = len(self.value) + 1
        found = self._zeros(width * (MOST_RIVALS if margin else 1))
        state = self._numbers([0, 0, 0, room, wanted, margin, 0, 0])

        def go_on(seen: Any) -> bool:
            return self._searches.most_value(*kinds.basic, plan, *grains, seen, count, found, state)

        self._complete(go_on, state, nodes)
        rows = [found[i * width : (i + 1) * width] for i in range(int(state[6]))]
        value = max((int(row[0]) for row in rows), default=wanted - 1)
        return Most(value, [self.as_given(row[1:]) for row in rows])

    def first_step(self, goal: KnapsackGoal) -> int:
        """The first step at which money // step may yield work / step - given; see the search."""
        kinds = self._tables()
        plan, grains, count = self._arranged(0)
        seen, state = self._zeros(4 * FEW_PLACES), self._zeros(8)
        found = self._zeros(len(self.value) + 1)
        return self._searches.first_step(
            *kinds.basic, kinds.worth, plan, *grains, seen, count, found, state,
            goal.money, goal.work, goal.given, goal.step, goal.last, FIRST_NODES,
        )  # fmt: skip

    def direct(self, goal: KnapsackGoal, nodes: int, *, cheapest: bool) -> Direct:
        """The fewest units, or the least cost, of a choice that reaches a goal."""
        kinds, number = self._tables(), len(self.value)
        # Around the kind whose machines are just worth their price.
        pairs = zip(self.value, self.weight, strict=True)
        worthy = sum(goal.money * value >= goal.work * weight for value, weight in pairs)
        plan, _, count = self._arranged(max(0, worthy - 1))
        burden, falling, best = (
            self._floats([0.0] * number),
            self._zeros(number),
            self._zeros(number),
        )
        answer, left = self._searches.search_direct(
            *kinds.basic[:3], plan, burden, falling, count, best, goal.given, goal.work,
            goal.money, goal.step, goal.slowest, nodes, cheapest,
        )  # fmt: skip
        self.nodes_used = nodes - int(left)
        if answer == -2:
            raise GaveUpError
        return Direct(None if answer < 0 else int(answer), self.as_given(best))

    def least(
        self, wanted: int, below: tuple[int, int], size: int, favourite: int, nodes: int | None
    ) -> list[int] | None:
        """The choice of least weight, then least size, that has a value; None if not below.

        Every piece is of one size, zero perhaps, those of the favourite kind (-1: none) one less.
        """
        plan, grains, count = self._arranged(bisect_right(self.all_value, wanted) - 1)
        best = self._zeros(len(self.value))
        by_value = sorted(range(len(self.value)), key=self.value.__getitem__, reverse=True)
        preferred = -1 if favourite < 0 else self._order.index(favourite)
        heaviest, largest = self.all_weight[-1], sum(self.limit) * size
        beaten = min(below[0], heaviest + 1), min(below[1], largest + 1)
        state = self._numbers([0, 0, wanted, 0, 0, *beaten])
        tables = (*self._tables().basic, self._numbers(by_value), size, preferred, plan, *grains)

        def go_on(seen: Any) -> bool:
            return self._searches.least_weight(*tables, seen, count, best, state)

        self._complete(go_on, state, nodes)
        return self.as_given(best) if any(best) else None

    def choices(self, wanted: int, room: int, pieces: int, nodes: int) -> list[list[int]]:
        """Every choice that has a value, within a weight and a number of pieces."""
        kinds = len(self.value)
        found, count = self._zeros(MOST_CHOICES * kinds), self._zeros(kinds)
        ahead = self._numbers([*list(accumulate(reversed(self.value), max))[::-1], 0])
        number = self._searches.all_choices(
            *self._tables().basic, ahead, count, found, wanted,
            min(room, self.all_weight[-1]), min(pieces, sum(self.limit)), nodes,
        )  # fmt: skip
        if number < 0:
            raise GaveUpError
        return [self.as_given(found[i * kinds : (i + 1) * kinds]) for i in range(number)]

    # --- how -------------------------------------------------------------------------------------

    def _complete(self, go_on: Callable[[Any], bool], state: Any, nodes: int | None) -> None:
        """Run a search to its end, first with a small table of nodes seen, then a large one."""
        slice_, places = FIRST_NODES, FEW_PLACES
        self.nodes_used = 0
        seen = self._zeros(4 * places)
        while True:
            state[0] = slice_ if nodes is None else min(slice_, nodes - self.nodes_used)
            before = int(state[0])
            finished = go_on(seen)
            self.nodes_used += before - int(state[0])
            if finished:
                return
            if state[0] > 0 or (nodes is not None and self.nodes_used >= nodes):
                raise GaveUpError
            if places == FEW_PLACES:
                slice_, places = MORE_NODES, MANY_PLACES
                seen = self._zeros(4 * places)

    def _tables(self) -> _Tables:
        """What every search reads, in the form it reads it."""
        if self._ready is None:
            largest = max(self.value)
            worth = [v / largest / w for v, w in zip(self.value, self.weight, strict=True)]
            numbers = (self.value, self.weight, self.limit, self.all_value, self.all_weight)
            self._ready = _Tables(tuple(map(self._numbers, numbers)), self._floats(worth))
        return self._ready

    def _arranged(self, middle: int) -> tuple[Any, tuple[Any, Any], Any]:
        """The plan, the grains and the counts with which a search around a kind begins."""
        kinds = self._tables()
        number = len(self.value)
        plan, grains = self._zeros(3 * number + 3), (self._zeros(number), self._zeros(number))
        middle = min(middle, number - 1)
        self._searches.arrange(middle, kinds.worth, kinds.value, kinds.weight, plan, *grains)
        return plan, grains, self._zeros(number)

    def as_given(self, counts: Any) -> list[int]:
        """From the order of the searches to that in which the kinds were given."""
        named = [0] * len(self._order)
        for kind, count in zip(self._order, counts, strict=True):
            named[kind] = int(count)
        return named

    def _numbers(self, numbers: list[int]) -> Any:
        if self._searches is PLAIN:
            return numbers
        import numpy as np

        return np.array(numbers, dtype=np.int64)

    def _floats(self, numbers: list[float]) -> Any:
        if self._searches is PLAIN:
            return numbers
        import numpy as np

        return np.array(numbers, dtype=np.float64)

    def _zeros(self, length: int) -> Any:
        if self._searches is PLAIN:
            return [0] * length
        import numpy as np

        return np.zeros(length, dtype=np.int64)


class _Tables(msgspec.Struct, frozen=True):
    """Lists of numbers, or arrays."""

    basic: tuple[Any, ...]
    """value, weight, limit, all_value, all_weight"""
    worth: Any

    @property
    def value(self) -> Any:
        return self.basic[0]

    @property
    def weight(self) -> Any:
        return self.basic[1]
