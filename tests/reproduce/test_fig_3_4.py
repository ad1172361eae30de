"""Figure 3.4 of the BaTS thesis, with a few bags instead of thirty."""

from __future__ import annotations

from bursar.reproduce.bats_fig_3_4 import PRINTED, execute, reproduce
from bursar.reproduce.result import Verdict

BAGS = 3


def test_executions_of_the_proposed_schedules_come_out() -> None:
    found = reproduce("bats-fig-3.4", seeds=BAGS)
    assert len([row for row in found.rows if row.paper is not None]) == 5 * len(PRINTED) + 1
    assert not [row for row in found.rows if row.verdict is Verdict.NOT_JUDGED]
    assert [row.what for row in found.failed] == ["S4-1 Sched2: shorter than Sched1, %"]
    assert len(found.plots[0].categories) == len(PRINTED)


def test_a_schedule_is_followed_as_it_was_selected() -> None:
    for printed in PRINTED:
        assert execute(printed, seed=0).fleets[0][1] == printed.fleet
