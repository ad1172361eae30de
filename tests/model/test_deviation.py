"""A standard deviation of run times is written as a share of their mean, or as a time."""

import pytest

from bursar.model.deviation import Deviation, read_any_deviation, read_deviation
from bursar.model.errors import InputError
from bursar.model.time import MINUTE, SECOND


@pytest.mark.parametrize(
    ("text", "found"),
    [("30%", 54 * SECOND), (0.3, 54 * SECOND), ("40s", 40 * SECOND), ("0s", 0), (0, 0)],
)
def test_a_share_is_one_of_the_mean_and_a_time_is_a_time(text, found):
    assert read_any_deviation(text).of(3 * MINUTE) == found


def test_what_was_written_is_kept():
    assert read_any_deviation("30%") == Deviation(share=0.3)
    assert read_any_deviation("40s") == Deviation(time=40 * SECOND)


@pytest.mark.parametrize("text", ["much", "30 apples", "-1", "2000%", "", True, None])
def test_anything_else_is_refused_with_an_example(text):
    with pytest.raises(InputError, match="must be a share of a run time, such as 30%"):
        read_any_deviation(text)


def test_where_only_a_share_makes_sense_a_time_is_refused():
    with pytest.raises(InputError, match="must be a share"):
        read_deviation("40s")
