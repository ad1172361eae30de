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
def test_offers_that_do_not_follow_a_line_are_not_converted_and_people_are_reported(odd):
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


def test_where_there_is_no_line_people_are_reported_why():
    with pytest.raises(InputError, match="no line"):
        least_squares([(5, 1), (5, 2)])
    with pytest.raises(InputError, match="two points"):
        least_squares([(1, 1)])


def test_a_flat_line_explains_all_there_is():
    line = least_squares([(1.0, 5.0), (2.0, 5.0), (4.0, 5.0)])
    assert (line.slope, line.r2) == (0, 1)


@pytest.mark.parametrize(("noise", "is_believed"), [(8, True), (20, False)])
def test_a_line_is_believed_only_if_it_explains_four_fifths(noise, is_believed):
    """Ratios lie far apart, so that there is no common one either."""
    wobble = [noise, -noise, noise, -noise, noise, -noise, noise]
    spoilt = points(0.2, 200, wobble)
    assert (least_squares(spoilt).r2 >= 0.8) == is_believed
    assert (relate(spoilt).line is not None) == is_believed


@pytest.mark.parametrize(("apart", "is_believed"), [(0.14, True), (0.17, False), (0.3, False)])
def test_a_common_ratio_is_believed_if_ratios_deviate_by_less_than_their_sixth(apart, is_believed):
    """Three equal tasks: the deviation of the ratios is `apart`, with one degree lost."""
    alike = [(100.0, 100 * (1 - apart)), (100.0, 100.0), (100.0, 100 * (1 + apart))]
    relation = relate(alike)
    assert (relation.line is not None) == is_believed


def test_a_common_ratio_counts_long_tasks_for_more():
    odd = [(90.0, 47.0), (100.0, 48.0), (110.0, 54.0), (120.0, 55.0), (95.0, 51.0), (105.0, 49.0)]
    line = relate(odd).line
    assert line.intercept == 0
    assert line.slope == pytest.approx(304 / 620, rel=1e-12)
    assert line.slope != pytest.approx(sum(y / x for x, y in odd) / 6, rel=1e-4)


def test_a_point_is_an_outlier_only_if_it_is_far_from_all_and_far_for_its_length():
    usual = [1.0, -1.0, 1.0, 0.0, -1.0, 1.0, -1.0]
    assert relate(points(0.5, 10, [*usual[:3], 5.0, *usual[4:]])).outliers == ()
    near_for_its_length = points(0.5, 1000, [*usual[:3], 20.0, *usual[4:]])
    assert relate(near_for_its_length).outliers == ()
    all_are_noisy = points(0.5, 10, [12, -12, 12, 100, -12, 12, -12])
    assert relate(all_are_noisy).outliers == ()
    far = points(0.5, 10, [*usual[:3], 60.0, *usual[4:]])
    assert relate(far).outliers == (3,)


def test_where_more_than_a_quarter_are_far_off_none_is_an_outlier():
    spoilt = points(0.5, 10, [1, -1, 900, 900, -1, 1, -1])
    assert relate(spoilt).outliers == ()
    eight = [*points(0.5, 10, [1, -1, 900, 900, -1, 1, -1]), (550.0, 286.0)]
    assert relate(eight).outliers == (2, 3)
