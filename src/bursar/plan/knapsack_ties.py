"""Of equally valuable choices the one to prefer, the same whoever computes it and how."""

from __future__ import annotations

from bursar.plan.knapsack_bounded import Bounded


def preferred(bounded: Bounded, value: int, room: int) -> list[int]:
    """The choice that is lightest, then of fewest pieces, then with more of the earlier items.

    `value` is the most there is within `room`.
    """
    if value == 0:
        return [0] * len(bounded.value)
    items = len(bounded.value)
    lightest = bounded.least(value, (room + 1, 0), [0] * items)
    if lightest is None:
        raise ValueError("there is no choice of this value")
    fewest = bounded.least(value, (lightest.weight, sum(lightest.counts)), [1] * items)
    pieces = sum((fewest or lightest).counts)
    choices = bounded.choices(value, lightest.weight, pieces)
    if choices is not None:
        return max(choices)
    return _item_by_item(bounded, value, lightest.weight, pieces)


def _item_by_item(bounded: Bounded, value: int, weight: int, pieces: int) -> list[int]:
    """Give the first item as many pieces as any such choice has, then the next, and so on."""
    each = list(zip(bounded.value, bounded.weight, strict=True))
    limit = list(bounded.limit)
    taken = [0] * len(limit)
    for item, kind in enumerate(each):
        if not limit[item] or not pieces:
            continue
        live = [other for other, left in enumerate(limit) if left]
        rest = Bounded(
            [bounded.value[other] for other in live],
            [bounded.weight[other] for other in live],
            [limit[other] for other in live],
            bounded.patience,
        )
        # With the number of pieces as small as it can be, the smallest total has most of this kind.
        size = 1 + sum(limit[other] for other in live if each[other] == kind)
        sizes = [size - (each[other] == kind) for other in live]
        best = rest.least(value, (weight + 1, 0), sizes)
        if best is None:
            raise ValueError("there is no choice of this value")
        taken[item] = best.counts[live.index(item)]
        if taken[item] < limit[item]:
            limit = [0 if each[other] == kind else left for other, left in enumerate(limit)]
        limit[item] = 0
        value -= taken[item] * kind[0]
        weight -= taken[item] * kind[1]
        pieces -= taken[item]
    return taken
