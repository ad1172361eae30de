"""Which plans no other beats, and which of them is the knee. A point is (time, cost)."""

from __future__ import annotations

from collections.abc import Sequence

Point = tuple[float, float]


def beaten_by(points: Sequence[tuple[float, ...]]) -> list[int | None]:
    """For each point, the index of one that is no worse in any figure and better in one.

    None: there is no such point. Of equal points the first beats the others. A point may have more
    figures than time and cost, such as their bounds.
    """
    return [_beater(points, index) for index in range(len(points))]


def _beater(points: Sequence[tuple[float, ...]], index: int) -> int | None:
    point = points[index]
    better = [
        number
        for number, other in enumerate(points)
        if all(its <= own for its, own in zip(other, point, strict=True))
        and (other != point or number < index)
    ]
    return min(better, key=lambda other: points[other], default=None)


def knee(points: Sequence[Point]) -> int:
    """The unbeaten point that saves the most time for its money.

    Time and cost are scaled to the span between the cheapest and the fastest unbeaten point, so
    that neither unit matters; the knee lies farthest from the line between the two. Where none lies
    before it, the end with the smaller product of time and cost.
    """
    beaters = beaten_by(points)
    front = [index for index, beater in enumerate(beaters) if beater is None]
    times = [points[index][0] for index in front]
    costs = [points[index][1] for index in front]
    span_time, span_cost = max(times) - min(times), max(costs) - min(costs)
    if span_time <= 0 or span_cost <= 0:
        return front[0]

    def gain(index: int) -> tuple[float, float]:
        time, cost = points[index]
        saved, paid = (max(times) - time) / span_time, (cost - min(costs)) / span_cost
        return round(saved - paid, 9), -time * cost

    return max(front, key=gain)
