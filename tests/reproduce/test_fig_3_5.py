"""Figure 3.5 of the BaTS thesis, with a few bags instead of thirty."""

from __future__ import annotations

from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE
from bursar.reproduce.bats_fig_3_5 import (
    LEFT,
    reproduce,
    schedule,
    with_cushion,
    without_cushion,
)
from bursar.reproduce.result import Verdict

BAGS = 3


def test_every_printed_figure_is_near_ours() -> None:
    rows = reproduce("bats-fig-3.5", seeds=BAGS).rows
    printed = [row for row in rows if row.paper is not None]
    assert len(printed) == 14
    assert [row.what for row in printed if row.verdict is not Verdict.YES] == []
    dearest = [row for row in rows if "dearest" in row.what]
    assert len(dearest) == 4
    assert all(row.verdict is Verdict.YES for row in dearest)


def test_the_fastest_schedule_leaves_three_tasks_over() -> None:
    chosen = schedule()
    assert (chosen.risk, chosen.cushion, chosen.cost) == (3, Money.parse(9), Money.parse(1920))


def test_a_cushion_saves_the_reconfiguration_and_half_an_hour() -> None:
    """In nearly all bags: in one of thirty or two the sample is so odd that it does not do."""
    saved = 0
    for seed in range(6):
        calm, hasty = with_cushion(seed), without_cushion(seed)
        assert calm.done == hasty.done == LEFT
        assert [fleet for _, fleet in hasty.fleets[:2]] == [(32, 32), (32, 22)]
        assert hasty.fleets[1][0] < HOUR
        saved += calm.makespan + 20 * MINUTE < hasty.makespan
        assert (len(calm.fleets) == 1) == (calm.makespan + 20 * MINUTE < hasty.makespan)
    assert saved >= 5
