from __future__ import annotations

import pytest

from bursar.model.wish import Wish


@pytest.mark.parametrize(
    "wish",
    [
        Wish(),
        Wish(confidence=0.99, on_average=True, deviation=0.3, performance="/some/file", seed=7),
    ],
)
def test_a_run_remembers_what_was_wanted_of_its_plan(wish):
    settings = {"fleet": "small=3", **wish.settings()}
    assert all(isinstance(value, str) for value in settings.values())
    assert Wish.of(settings) == wish
