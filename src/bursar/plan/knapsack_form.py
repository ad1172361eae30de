"""A bounded knapsack laid out for the searches: in Python's integers, or in 64 bits if compiled.

Both forms answer the same three questions. The exact form is always right. The compact form may
hold rounded values; `knapsack_bounded` knows what its answers are then worth.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from operator import mul
from typing import Any, Final

import msgspec

from bursar.plan.knapsack_compiled import PLAIN, Searches, compiled

SAFE: Final = 1 << 62
"""No number in compiled code reaches this."""
FIRST_NODES: Final = 20_000
"""Nodes that are looked at before a search gets a large table of nodes seen."""
MORE_NODES: Final = 2_000_000
"""Nodes between two chances to interrupt a search."""
FEW_PLACES: Final = 1 << 8
MANY_PLACES: Final = 1 << 20
MOST_CHOICES: Final = 256


class GaveUpError(Exception):
    """The nodes allowed did not suffice."""


class Form:
    """Kinds in order of falling value per weight, the heavier first among equals.

    Choices are told in the order in which the kinds were given.
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

    def can_add(self, sizes: Sequence[int]) -> bool:
        """Whether sums of these sizes are safe, and products with a value."""
        factor = max(sum(self.limit), *self.value)
        return self._searches is PLAIN or factor * max(sizes) < SAFE

    # --- questions; each raises GaveUpError when `nodes` (None: any number) do not suffice -------

    def most(self, room: int, wanted: int, nodes: int | None) -> tuple[int, list[int]]:
        """The most value within a weight, and its choice; a number less than wanted if it is so."""
        kinds = self._tables()
        room = min(room, self.all_weight[-1])
        plan, grain, count, best = self._workspace()
        self._searches.arrange(
            room, kinds.all_weight, kinds.worth, kinds.weight, kinds.weight, plan, grain
        )
        state = self._numbers([0, 0, 0, room, wanted - 1, 0])

        def go_on(seen: Any) -> bool:
            return self._searches.most_value(*kinds.basic, plan, grain, seen, count, best, state)

        self._complete(go_on, state, nodes)
        return int(state[4]), best

    def first_step(self, money: int, work: int, given: int, step: int, last: int) -> int:
        """The first step at which money // step may yield work / step - given; see the search."""
        kinds = self._tables()
        seen, state = self._zeros(4 * FEW_PLACES), self._zeros(6)
        return self._searches.first_step(
            *kinds.basic, kinds.worth, *self._workspace()[:2], seen, *self._workspace()[2:], state,
            money, work, given, step, last, FIRST_NODES,
        )  # fmt: skip

    def least(
        self, wanted: int, below: tuple[int, int], sizes: list[int], nodes: int | None
    ) -> list[int] | None:
        """The choice of least weight, then least size, that has a value; None if not below.

        Sizes are all above zero, or all zero.
        """
        kinds = self._tables()
        ordered = [sizes[i] for i in self._order]
        size, by_size = self._numbers(ordered), self._numbers(self._by_size(ordered))
        plan, grain, count, best = self._workspace()
        self._searches.arrange(
            wanted, kinds.all_value, kinds.worth, kinds.weight, kinds.value, plan, grain
        )
        heaviest, largest = self.all_weight[-1], sum(self.limit) * max(sizes)
        beaten = min(below[0], heaviest + 1), min(below[1], largest + 1)
        state = self._numbers([0, 0, wanted, 0, 0, *beaten])

        def go_on(seen: Any) -> bool:
            return self._searches.least_weight(
                *kinds.basic, size, by_size, plan, grain, seen, count, best, state
            )

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
            if nodes is not None and self.nodes_used >= nodes:
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
            self._ready = _Tables(*map(self._numbers, numbers), self._floats(worth))
        return self._ready

    def _workspace(self) -> tuple[Any, Any, Any, Any]:
        """Room for a search's plan, grain, count and best."""
        kinds = len(self.value)
        return (
            self._zeros(3 * kinds + 3),
            self._zeros(kinds + 1),
            self._zeros(kinds),
            self._zeros(kinds),
        )

    def _by_size(self, sizes: list[int]) -> list[int]:
        """The kinds in order of falling value per size; none where all sizes are zero."""
        if not any(sizes):
            return []
        scale = 2 * max(sizes).bit_length() + 1
        worth = [(v << scale) // s for v, s in zip(self.value, sizes, strict=True)]
        return sorted(range(len(sizes)), key=lambda i: worth[i], reverse=True)

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

    value: Any
    weight: Any
    limit: Any
    all_value: Any
    all_weight: Any
    worth: Any

    @property
    def basic(self) -> tuple[Any, ...]:
        return self.value, self.weight, self.limit, self.all_value, self.all_weight
