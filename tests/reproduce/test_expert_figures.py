"""Figures 7 to 11 of the ExPERT paper, with fewer repetitions than in the full reproductions."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

from bursar.cli.reproduce import command
from bursar.model.errors import InputError
from bursar.reproduce import expert_fig_8, expert_fig_9, expert_fig_10, expert_fig_11
from bursar.reproduce.expert_fig_7 import rows as rows_of_7
from bursar.reproduce.expert_setting import LONGEST, MEAN, SHORTEST, Studied, pert, study_grid
from bursar.reproduce.plot import svg
from bursar.reproduce.result import Verdict

FEW = 40


@pytest.fixture(scope="module")
def grid() -> Studied:
    return study_grid(repetitions=FEW)


def test_turnaround_times_have_the_mean_and_the_range_that_are_assumed() -> None:
    times = pert(SHORTEST, MEAN, LONGEST)
    assert float(times.mean()) == pytest.approx(MEAN, rel=0.001)
    assert times[0] >= SHORTEST
    assert times[-1] <= LONGEST
    assert np.all(np.diff(times) >= 0)


def test_replication_is_several_times_cheaper_than_none(grid: Studied) -> None:
    rows = {row.what: row.ours for row in rows_of_7(grid)}
    ratio = rows["cost of N = 0 by that of the recommended"]
    slower = rows["longest tail of N = 1 by that of the recommended"]
    assert isinstance(ratio, float)
    assert isinstance(slower, float)
    assert ratio > 4
    assert slower > 2


def test_preferred_strategies_keep_their_limits(grid: Studied) -> None:
    points = grid.tails
    best = [points[index] for index in expert_fig_8.best_points(grid).values()]
    product, budget, deadline, cheapest, fastest = best
    assert product[0] * product[1] <= min(span * cost for span, cost in points)
    assert budget[1] <= expert_fig_8.BUDGET
    assert deadline[0] <= expert_fig_8.DEADLINE
    assert cheapest[1] == min(cost for _, cost in points)
    assert fastest[0] == min(span for span, _ in points)


def test_few_reliable_machines_are_cheaper_and_slower(grid: Studied) -> None:
    fronts = expert_fig_10.frontiers(grid)
    assert len(fronts) == 7
    least, most = fronts[min(fronts)], fronts[max(fronts)]
    assert 1.15 < least[-1][0] / most[-1][0] < 2
    for span, cost in least:
        assert expert_fig_10.cost_within(most, span) >= cost * 0.98


def test_efficient_strategies_never_use_more_reliable_machines_than_allowed(grid: Studied) -> None:
    uses = expert_fig_11.efficient_uses(grid)
    assert [use.tail for use in uses] == sorted(use.tail for use in uses)
    assert all(0 <= use.used <= use.ratio + 1e-9 for use in uses)
    assert uses[-1].used < uses[-1].ratio / 2
    assert any(use.is_exhausted for use in uses)


@pytest.mark.parametrize("name", ["expert-fig-9a", "expert-fig-9b"])
def test_what_the_paper_says_of_static_strategies_comes_out(name: str) -> None:
    found = expert_fig_9.reproduce(name)
    assert [row.what for row in found.rows if row.verdict is Verdict.NO] == []
    assert len([row for row in found.rows if row.low is not None]) >= 8
    assert svg(found.plots[0]).startswith("<svg")


def test_the_command_line_refuses_to_draw_a_table() -> None:
    with pytest.raises(InputError, match="bats-kohonen is a table"):
        CliRunner().invoke(command, ["bats-kohonen", "--plot", "x.svg"], catch_exceptions=False)
