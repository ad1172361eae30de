"""Published figures that are cheap to compute come out as demanded."""

import pytest

from bursar.model.errors import InputError
from bursar.reproduce.result import Verdict, reproduce


@pytest.mark.parametrize(
    ("name", "failed"),
    [
        ("bats-kohonen", []),
        ("bats-sarsa", ["cheapest"]),  # an exact solver finds a faster fleet for the same money
        ("bats-table-3.1", []),
        ("bats-table-3.2", []),
    ],
)
def test_published_figures_come_out(name, failed):
    found = reproduce(name)
    assert [row.what for row in found.failed] == failed
    assert [row.what for row in found.rows if row.verdict is Verdict.NOT_JUDGED] == []
    assert len(found.rows) >= 6


def test_an_unknown_reproduction_names_the_nearest():
    with pytest.raises(InputError, match="bats-kohonen"):
        reproduce("bats-kohonnen")
