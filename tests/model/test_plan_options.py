from __future__ import annotations

import pytest

from bursar.model.plan_options import PlanOptions


@pytest.mark.parametrize(
    ("settings", "planning"),
    [
        ({}, PlanOptions()),
        (
            {
                "plan_confidence": "0.99",
                "plan_on_average": "True",
                "plan_deviation": "0.3",
                "plan_performance": "/some/file",
                "plan_seed": "7",
            },
            PlanOptions(
                confidence=0.99, on_average=True, deviation=0.3, performance="/some/file", seed=7
            ),
        ),
    ],
)
def test_a_run_of_an_earlier_version_tells_what_was_wanted_of_its_plan(settings, planning):
    assert PlanOptions.of({"fleet": "small=3", **settings}) == planning
