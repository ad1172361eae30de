"""Lines between offers: found, doubted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.beliefs.regression import least_squares, relate
from bursar.model.errors import InputError

TIMES = [100.0, 150.0, 210.0, 260.0, 330.0, 400.0, 480.0]


def points(slope: float, intercept: float, noise: list[float] | None = None):
    wobble = noise or [0.0] * len(TIMES)
    return [(x, intercept + slope * x + e) for x, e in zip(TIMES, wobble, strict=True)]


@given(st.floats(0.05, 20), st.floats(-4, 400))
def test_points_on_a_line_give_that_line(slope, intercept):
    line = least_squares(points(slope, intercept))
    assert line.slope == pytest.approx(slope, rel=1e-6)
    assert line.intercept == pytest.approx(intercept, rel=1e-6, abs=1e-6)
    assert line.r2 == pytest.approx(1)
    assert line.apply(123.0) == pytest.approx(intercept + slope * 123, rel=1e-6, abs=1e-6)


def test_where_points_are_off_the_line_run_times_on_the_other_offer_are_fitted():
    """Squares of residuals in y are least: 4.75 / 5; x fitted to y would say 6.6875 / 4.75."""
    line = least_squares([(1.0, 1.0), (2.0, 3.0), (3.0, 2.0), (4.0, 4.5)])
    assert line.slope == pytest.approx(0.95)
    assert line.intercept == pytest.approx(2.625 - 0.95 * 2.5)
    assert line.r2 == pytest.approx(4.75**2 / (5 * 6.6875))
    assert line.points == 4


def test_noise_lowers_the_fit_but_a_line_stays_a_line():
    relation = relate(points(0.5, 10, [3, -4, 2, -1, 4, -3, 1]))
    assert relation.line.slope == pytest.approx(0.5, abs=0.05)
    assert 0.9 < relation.line.r2 < 1
    assert relation.caution is None


def test_an_outlier_is_left_out_and_named():
    spoilt = points(0.5, 10, [1, -1, 1, 900, -1, 1, -1])
    relation = relate(spoilt, "small", "large")
    assert relation.outliers == (3,)
    assert relation.line.slope == pytest.approx(0.5, abs=0.02)
    assert "1 task was left out of 7" in relation.caution
    assert least_squares(spoilt).slope != pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param([(x, 500 - x) for x in TIMES], id="falling"),
        pytest.param(list(zip(TIMES, [90, 10, 80, 20, 70, 15, 60], strict=True)), id="no relation"),
        pytest.param([(x, 0.0) for x in TIMES], id="no time at all"),
    ],
)
def test_offers_that_do_not_follow_a_line_are_not_converted_and_people_are_told(odd):
    relation = relate(odd, "small", "large")
    assert relation.line is None
    assert "do not follow" in relation.caution


def test_tasks_that_are_all_alike_have_a_common_ratio():
    alike = [(100 + e, 50 - e / 3) for e in (0.0, 1, -1, 2, -2, 0.5, -0.5)]
    relation = relate(alike)
    assert relation.line.intercept == 0
    assert relation.line.slope == pytest.approx(0.5, rel=0.02)
    same = relate([(100.0, 50.0)] * 7)
    assert same.line.slope == pytest.approx(0.5)


def test_a_line_that_would_make_a_timed_task_take_no_time_is_not_believed():
    steep = [(100.0, 1.0), (101.0, 20.0), (102.0, 41.0), (90.0, 1.0), (103.0, 60.0)]
    assert relate(steep).line is None


@pytest.mark.parametrize("count", [0, 1, 2])
def test_two_points_are_too_few_to_doubt_a_line_so_there_is_none(count):
    relation = relate(points(1, 0)[:count], "small", "large")
    assert relation.line is None
    assert f"Only {count} task" in relation.caution


def test_where_there_is_no_line_people_are_told_why():
    with pytest.raises(InputError, match="no line"):
        least_squares([(5, 1), (5, 2)])
    with pytest.raises(InputError, match="two points"):
        least_squares([(1, 1)])
