"""The choice to prefer among equally valuable ones, the same for every way to compute it."""

from __future__ import annotations

from collections.abc import Sequence
from operator import mul

from bursar.plan.bag.knapsack_bounded import Bounded


def preferred(bounded: Bounded, value: int, room: int) -> list[int]:
    """The choice that is lightest, then of fewest pieces, then with more of the earlier items.

    `value` is the most there is within `room`.
    """
    if value == 0:
        return [0] * len(bounded.value)
    choice = bounded.least(value, (room + 1, 0))
    if choice is None:
        raise ValueError("there is no choice of this value")
    weight, pieces = choice.weight, sum(choice.counts)
    fewer = bounded.least(value, (weight, pieces), size=1)
    if fewer is not None:
        choice, pieces = fewer, fewer.size
    choices = bounded.choices(value, weight, pieces)
    return _item_by_item(bounded, choice.counts) if choices is None else max(choices)


def _item_by_item(bounded: Bounded, choice: list[int]) -> list[int]:
    """Give the first item as many pieces as any choice as good has, then the next, and so on."""
    each = list(zip(bounded.value, bounded.weight, strict=True))
    limit, choice = list(bounded.limit), list(choice)
    for item, kind in enumerate(each):
        live = [other for other, left in enumerate(limit) if left]
        if not limit[item] or not any(choice[other] for other in live):
            continue
        rest = Bounded(
            [bounded.value[other] for other in live],
            [bounded.weight[other] for other in live],
            [limit[other] for other in live],
            bounded.node_limit,
        )
        # With the number of pieces as small as it can be, a smaller total has more of this kind.
        size = 1 + sum(limit[other] for other in live if each[other] == kind)
        counts = [choice[other] for other in live]
        favoured = sum(choice[other] for other in live if each[other] == kind)
        known = _total(counts, rest.weight), size * sum(counts) - favoured
        better = rest.least(_total(counts, rest.value), known, size, live.index(item))
        if better is not None:
            for other, count in zip(live, better.counts, strict=True):
                choice[other] = count
        limit[item] = 0
    return choice


def _total(counts: list[int], each: Sequence[int]) -> int:
    return sum(map(mul, counts, each))
