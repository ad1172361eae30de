"""Rankings by many metrics: the published table comes out, cell by cell."""

from __future__ import annotations

import pytest

from bursar.model.errors import InputError
from bursar.report.ranking import RankedFigures, rank
from bursar.reproduce.autoscaling_table_4_7 import PUBLISHED, SCORES, WITHOUT, reproduce

ALIKE = RankedFigures(1, 1, 1, 1, 1, 1, 1, 1, 1)


def test_all_cells_of_the_published_table_come_out():
    found = reproduce("autoscaling-table-4.7")
    assert len(found.rows) == 75
    assert found.failed == ()


@pytest.mark.parametrize("name", SCORES)
def test_each_row_is_the_published_one_to_its_last_digit(name):
    scores = rank(PUBLISHED, WITHOUT)[name]
    ours = (scores.pairwise, scores.fractional, scores.elasticity, scores.user, scores.overall)
    assert tuple(round(one, 2) for one in ours) == SCORES[name]


def test_equal_autoscalers_share_the_points():
    found = rank({"one": ALIKE, "other": ALIKE}, "other")
    assert found["one"] == found["other"]
    assert found["one"].pairwise == 4.5
    assert found["one"].overall == 1


def test_a_better_metric_raises_every_score_that_counts_it():
    cheap = RankedFigures(1, 1, 1, 1, 1, 1, 1, 1, 0.5)
    found = rank({"cheap": cheap, "none": ALIKE}, "none")
    assert found["cheap"].pairwise > found["none"].pairwise
    assert found["cheap"].fractional < found["none"].fractional
    assert found["cheap"].user == pytest.approx(2**0.5)
    assert found["cheap"].elasticity == 1


def test_a_row_to_compare_with_must_be_there():
    with pytest.raises(InputError, match="no row 'none' to compare with"):
        rank({"one": ALIKE}, "none")
