"""Published figures that are cheap to compute come out as demanded."""

import pytest

from bursar.model.errors import InputError
from bursar.reproduce.result import Verdict, reproduce


@pytest.mark.parametrize("name", ["bats-kohonen", "bats-sarsa", "bats-table-3.1", "bats-table-3.2"])
def test_published_figures_come_out(name):
    found = reproduce(name)
    assert [row.what for row in found.rows if row.verdict is Verdict.NO] == []
    assert len(found.rows) >= 6


def test_an_unknown_reproduction_names_the_nearest():
    with pytest.raises(InputError, match="bats-kohonen"):
        reproduce("bats-kohonnen")
