"""A bounded knapsack in exact integers of any size, searched compiled wherever that is safe.

Compiled code counts in 64 bits. Where values are larger, it searches with values divided by a
power of two and rounded up: every choice then looks at least as valuable as it is, so nothing is
missed, and what is found is judged by its exact value. Where that leaves a doubt, the same search
runs on Python's integers. Thus an answer is never approximate, only later.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import suppress
from operator import mul
from typing import Final

import msgspec

from bursar.kernels.knapsack import is_loaded
from bursar.plan.bag.knapsack_form import SAFE, Direct, Form, GaveUpError, KnapsackGoal

TIE_NODES: Final = 20_000
DIRECT_NODES: Final = 50_000
"""that a direct search may look at; four times as many whenever they did not suffice, ..."""
MOST_DIRECT_NODES: Final = 2_000_000
"""... up to as many as the walk that is taken instead."""
FLOATS: Final = 1 << 500
"""Numbers whose products with others surely are floats."""
GLANCE: Final = 4
"""Nodes for each kind that make a glance."""


class NodeLimit:
    """How many nodes plain Python may look at before compiled code is loaded.

    Small problems never need it, and so never pay for the import.
    """

    def __init__(self, nodes: int = 4_000) -> None:
        self._nodes = nodes

    @property
    def nodes(self) -> int:
        return 0 if is_loaded() else self._nodes

    def use(self, nodes: int) -> None:
        self._nodes = max(0, self._nodes - nodes)


class Least(msgspec.Struct, frozen=True):
    """The lightest choice that has a value: its weight, its size, how many of each item."""

    weight: int
    size: int
    counts: list[int]


class Bounded:
    """Items with value, weight and limit (all above zero), of which a choice is to be made.

    Items of equal value and weight are one kind here; a choice takes the earlier ones first.
    """

    def __init__(
        self,
        value: Sequence[int],
        weight: Sequence[int],
        limit: Sequence[int],
        node_limit: NodeLimit | None = None,
    ) -> None:
        self.value = value
        self.weight = weight
        self.limit = limit
        self.node_limit = node_limit or NodeLimit()
        members: dict[tuple[int, int], list[int]] = {}
        for item, pair in enumerate(zip(value, weight, strict=True)):
            members.setdefault(pair, []).append(item)
        self._members = list(members.values())
        self._kinds = (
            [pair[0] for pair in members],
            [pair[1] for pair in members],
            [sum(limit[item] for item in items) for items in self._members],
        )
        """value, weight and limit of each kind"""
        self._exact = Form(*self._kinds)
        self._compact: Form | None = None
        self._walker: Form | None = None
        self._direct_nodes = DIRECT_NODES
        self.all_weight = self._exact.all_weight[-1]
        """of everything there is"""

    def ratio(self, room: int) -> tuple[int, int]:
        """The most value within a weight if everything were divisible, as a fraction."""
        form = self._exact
        here = bisect_right(form.all_weight, room) - 1
        if here == len(form.value):
            return form.all_value[here], 1
        rest, weight = room - form.all_weight[here], form.weight[here]
        return form.all_value[here] * weight + rest * form.value[here], weight

    def bound(self, room: int) -> int:
        """At least the most value within a weight; never more within less."""
        above, below = self.ratio(room)
        return above // below

    def most(self, room: int, needed: int, hint: int) -> int:
        """The most value within a weight, if that is what is needed or more.

        Otherwise a number below what is needed that no choice exceeds: the least such number, if
        it is easily found and above the hint.
        """
        bound = self.bound(room)
        if bound < needed or bound == 0 or room >= self.all_weight:
            return bound
        for form, nodes in self._forms():
            try:
                if hint < needed:
                    reached = self._glance(form, room, hint)
                    if reached is not None and reached < needed:
                        return reached
                margin = sum(form.limit) if form.shift else 0
                best = form.most(room, _rounded(needed, form), margin, nodes)
            except GaveUpError:
                continue
            finally:
                self._account(form)
            return max(needed - 1, *map(self._value_of, best.choices), 0)
        raise AssertionError("the last form never gives up")

    def _glance(self, form: Form, room: int, hint: int) -> int | None:
        """At least the most value within a weight, if found at a glance and above the hint."""
        try:
            reached = form.most(room, _rounded(hint, form), 0, GLANCE * len(form.value)).value
        except GaveUpError:
            return None
        return reached << form.shift

    def first_step(self, goal: KnapsackGoal) -> int:
        """No choice reaches the goal at a step before this; beyond the last if none does."""
        found = self._direct(goal, cheapest=False)
        if found is None:
            form = self._form_for_steps(goal)
            return goal.step if form is None else form.first_step(goal.rounded(form.shift))
        return goal.last + 1 if found.answer is None else found.answer

    def cheapest(self, goal: KnapsackGoal) -> tuple[int, list[int]]:
        """No choice that reaches the goal costs less, weight times step; and one that may do so.

        If there is none, the cost is more than the money. If nothing is known, it is zero.
        """
        found = self._direct(goal, cheapest=True)
        if found is None or found.answer is None:
            return 0 if found is None else goal.money + 1, [0] * len(self.limit)
        return found.answer, self._items(found.choice)

    def _direct(self, goal: KnapsackGoal, *, cheapest: bool) -> Direct | None:
        """The answer of a direct search, with rounded values; None where it is too laborious."""
        if self.node_limit.nodes and self._exact.value and max(self.value) < FLOATS:
            try:
                with suppress(GaveUpError):  # then the values are rounded
                    return self._exact.direct(goal, self.node_limit.nodes, cheapest=cheapest)
            finally:
                self._account(self._exact)
        form = self._form_for_steps(goal)
        if form is None:
            return None
        try:
            return form.direct(goal.rounded(form.shift), self._direct_nodes, cheapest=cheapest)
        except GaveUpError:
            self._direct_nodes = min(4 * self._direct_nodes, MOST_DIRECT_NODES)
            return None

    def _form_for_steps(self, goal: KnapsackGoal) -> Form | None:
        """A form for compiled code that can also hold the goal."""
        if self._walker is None and self.all_weight:
            self._walker = Form.compact(*self._kinds, largest=goal.work)
        return self._walker if max(goal.money, goal.last) < SAFE else None

    def least(
        self, wanted: int, below: tuple[int, int], size: int = 0, favourite: int | None = None
    ) -> Least | None:
        """The least weight that has a value above zero, then the least size of such a choice.

        Every piece is of one size; those of the kind of a favourite item are smaller by one. None
        where no choice has a weight and size that undercut the pair `below`.
        """
        if wanted > self._exact.all_value[-1]:
            return None
        kind = -1
        if favourite is not None:
            kind = next(k for k, items in enumerate(self._members) if favourite in items)
        for form, nodes in self._forms():
            if not form.can_add(size):
                continue
            try:
                found = form.least(_rounded(wanted, form), below, size, kind, nodes)
            except GaveUpError:
                continue
            finally:
                self._account(form)
            if found is None:
                return None
            if self._value_of(found) >= wanted:
                total = size * sum(found) - (found[kind] if kind >= 0 else 0)
                return Least(_total(found, self._kinds[1]), total, self._items(found))
        raise AssertionError("the last form never gives up")

    def choices(self, wanted: int, room: int, pieces: int) -> list[list[int]] | None:
        """Every choice with a value, within a weight and a number of pieces; None: too many.

        Choices that differ only within a kind count as one, which takes the earlier items first.
        """
        for form, nodes in self._forms():
            try:
                found = form.choices(_rounded(wanted, form), room, pieces, nodes or TIE_NODES)
            except GaveUpError:
                if nodes is None:
                    return None
                continue
            return [self._items(counts) for counts in found if self._value_of(counts) >= wanted]
        raise AssertionError("the last form never gives up")

    def _forms(self) -> Iterator[tuple[Form, int | None]]:
        """In which form to try, and for how many nodes: the last is exact and never gives up."""
        if self.node_limit.nodes:
            yield self._exact, self.node_limit.nodes
        if self._compact is None:
            self._compact = Form.compact(*self._kinds)
        if self._compact is not None:
            yield self._compact, None
        yield self._exact, None

    def _account(self, form: Form) -> None:
        if form is self._exact:
            self.node_limit.use(form.nodes_used)

    def _value_of(self, counts: Sequence[int]) -> int:
        return _total(counts, self._kinds[0])

    def _items(self, counts: Sequence[int]) -> list[int]:
        """From kinds to items, the earlier ones first."""
        taken = [0] * len(self.limit)
        for items, count in zip(self._members, counts, strict=True):
            left = count
            for item in items:
                taken[item] = min(left, self.limit[item])
                left -= taken[item]
        return taken


def _rounded(value: int, form: Form) -> int:
    """What a value looks like in this form: rounded up, as the values of the kinds are."""
    return -(-value >> form.shift)


def _total(counts: Sequence[int], each: Sequence[int]) -> int:
    return sum(map(mul, counts, each))
