"""Let somebody choose the strategy of the tail, while the run goes on."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from bursar.cli.common import print_table, say
from bursar.model.errors import shown
from bursar.model.money import Money, format_money
from bursar.model.numbers import is_position
from bursar.model.time import format_duration, seconds

if TYPE_CHECKING:
    from bursar.policies.advise.tail import Advice

MOST_SHOWN = 12
"""Strategies that are offered, evenly spread, with the cheapest, the fastest and the knee."""


def ask_for_strategy(advice: Advice) -> int:
    """The place on the frontier that is chosen; the knee, if nobody answers with a number."""
    from bursar.policies.advise.tail import knee_place

    knee = knee_place(advice)
    places = _offered(len(advice.points), knee)
    say("The last tasks are running. Which strategy for them? (the run continues meanwhile)")
    columns = ("#", "N", "T", "D", "reliable", "time", "cost", "")
    rows = [_row(number, place, advice, knee) for number, place in enumerate(places, 1)]
    print_table(columns, rows, right="# N T D reliable time cost", err=True)
    while True:
        say(f"number (Enter for {places.index(knee) + 1}): ", end=False)
        answer = sys.stdin.readline().strip()
        if not answer:
            return knee
        if is_position(answer, len(places)):
            return places[int(answer) - 1]
        say(f"{shown(answer)} is not a number from 1 to {len(places)}")


def _offered(count: int, knee: int) -> list[int]:
    spread = min(count, MOST_SHOWN)
    return sorted({(count - 1) * step // max(1, spread - 1) for step in range(spread)} | {knee})


def _row(number: int, place: int, advice: Advice, knee: int) -> tuple[str, ...]:
    strategy, (makespan, cost) = advice.strategies[place], advice.points[place]
    conditions = advice.situation.conditions
    return (
        str(number),
        "inf" if strategy.copies is None else str(strategy.copies),
        format_duration(strategy.timeout) if strategy.timeout else "0",
        format_duration(strategy.deadline),
        str(strategy.reliable_machines(conditions.unreliable)),
        format_duration(seconds(makespan)),
        format_money(Money.nearest(cost * conditions.tasks), advice.situation.currency),
        "<- knee" if place == knee else "",
    )
