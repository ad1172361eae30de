"""Figures 7 to 11 of the ExPERT paper, with fewer repetitions than in the full reproductions."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

from bursar.cli.reproduce import command
from bursar.model.errors import InputError
from bursar.report.plot import svg
from bursar.reproduce import (
    expert_ar,
    expert_fig_7,
    expert_fig_8,
    expert_fig_9,
    expert_fig_10,
    expert_fig_11,
    expert_runtime,
)
from bursar.reproduce.expert_fig_7 import rows as rows_of_7
from bursar.reproduce.expert_setting import (
    LONGEST,
    MEAN,
    SHORTEST,
    Studied,
    cost_band,
    pert,
    saving,
    study_grid,
)
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


def test_a_strategy_that_the_frontier_does_not_dominate_says_no() -> None:
    found = expert_fig_9.reproduce("expert-fig-9a", FEW)
    rows = {row.what: row for row in found.rows}
    static = [row for what, row in rows.items() if "by the frontier" in what]
    assert [row.what for row in static if row.verdict is Verdict.NO] == ["CN1T0 by the frontier"]
    assert len(static) == 7
    assert rows["AUR by the frontier"].ours == "not dominated"
    assert rows["recommended costs less than CN-inf, %"].verdict is Verdict.YES
    assert svg(found.plots[0]).startswith("<svg")


def test_savings_beyond_the_range_of_the_paper_say_no_and_why() -> None:
    found = expert_fig_9.reproduce("expert-fig-9b", FEW)
    published = [row for row in found.rows if row.paper is not None]
    assert len(published) == 18
    beyond = [row for row in published if isinstance(row.ours, float) and row.ours > 80]
    assert len(beyond) >= 12
    assert all(row.verdict is Verdict.NO and row.why for row in beyond)
    assert svg(found.plots[0]).startswith("<svg")


def test_what_is_left_after_a_saving_has_the_band() -> None:
    band = saving(72, cost_band)
    assert (band.low, band.high) == pytest.approx((100 - 28 * 1.07, 100 - 28 * 0.93))


def test_the_figures_of_all_reliable_machines_imply_another_mean_than_the_table() -> None:
    found = expert_ar.reproduce("expert-ar", FEW)
    rows = {row.what: row for row in found.rows}
    makespan, cost = rows["Mr 0.1: AR, makespan, s"], rows["Mr 0.1: AR, cost, cent/task"]
    assert (makespan.ours, makespan.verdict) == (61_980, Verdict.NO)
    assert cost.ours == pytest.approx(2_066 * 34 / 3600, abs=0.01)
    assert "2,333 s" in makespan.why
    assert "2,329 s" in cost.why
    assert rows["mean of 2,331 s: AR, makespan, s"].ours == pytest.approx(70_000, rel=0.01)
    recommended = rows["mean of 2,331 s: recommended, cost, cent/task"]
    assert recommended.ours == pytest.approx(0.78, rel=0.05)
    assert rows["section 1, grid: makespan, h"].verdict is Verdict.YES
    assert rows["Mr 0.5: the recommended is better than AR by a factor of"].verdict is Verdict.NO


def test_fewer_repetitions_are_quicker_and_less_accurate() -> None:
    found = expert_runtime.reproduce("expert-runtime", repetitions=30, seeds=2)
    rows = {row.what: row for row in found.rows}
    assert rows["deviation of estimates with 1 repetition by that with 10"].verdict is Verdict.YES
    assert (
        rows["low resolution: cost of the cheapest by that of the paper's"].verdict is Verdict.YES
    )
    dozens = rows["strategies that are simulated"]
    assert (dozens.ours, dozens.verdict) == (490, Verdict.NO)


def test_a_figure_of_which_no_number_is_printed_is_not_judged() -> None:
    found = expert_fig_8.reproduce("expert-fig-8", repetitions=5)
    assert found.counts.published == 0
    assert {row.verdict for row in found.rows} == {Verdict.NOT_JUDGED}
    assert svg(found.plots[0]).startswith("<svg")


@pytest.mark.parametrize("entry", [expert_fig_7, expert_fig_10, expert_fig_11])
def test_every_band_has_a_reason_and_every_no_a_cause(entry) -> None:
    found = entry.reproduce("expert", repetitions=5)
    judged = [row for row in found.rows if row.verdict is not Verdict.NOT_JUDGED]
    assert len(judged) >= 3
    assert all(row.reason for row in judged)
    assert all(row.why for row in found.failed)


def test_the_command_line_refuses_to_draw_a_table() -> None:
    with pytest.raises(InputError, match="bats-kohonen is a table"):
        CliRunner().invoke(command, ["bats-kohonen", "--plot", "x.svg"], catch_exceptions=False)


def test_a_reproduction_is_written_as_a_page(tmp_path) -> None:
    path = tmp_path / "page.html"
    CliRunner().invoke(command, ["bats-kohonen", "--html", str(path)], catch_exceptions=False)
    page = path.read_text()
    for text in ("paper", "ours", "verdict", "Band of", "<table"):
        assert text in page
