"""Published figures that are cheap to compute come out as demanded."""

import pytest

from bursar.model.errors import InputError
from bursar.reproduce.page import page
from bursar.reproduce.result import reproduce, within


@pytest.mark.parametrize("name", ["bats-kohonen", "bats-sarsa", "bats-table-3.1", "bats-table-3.2"])
def test_published_figures_come_out(name):
    found = reproduce(name)
    assert [row.what for row in found.rows if not row.ok] == []
    assert len(found.rows) >= 6


def test_a_figure_out_of_its_range_is_told():
    assert not within("x", 5.0, 7.0, 4.0, 6.0).ok


def test_an_unknown_reproduction_names_the_nearest():
    with pytest.raises(InputError, match="bats-kohonen"):
        reproduce("bats-kohonnen")


def test_the_page_has_a_table_for_each_reproduction():
    text = page([reproduce("bats-kohonen")])
    assert "## bats-kohonen" in text
    assert "| cheapest +10 % |" in text
