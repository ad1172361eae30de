"""Samples completed by a base offer (BaTS thesis, section 3.1.3)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.beliefs.regression import Line
from bursar.reproduce.bats_base_offer import complete_samples, line_between, lines_from_base

REPLICATED = (1, 2, 3)
MEASURED = {
    "small": {1: 100.0, 2: 200.0, 3: 400.0, 4: 300.0},
    "medium": {1: 60.0, 2: 110.0, 3: 210.0, 5: 160.0},
    "large": {1: 35.0, 2: 60.0, 3: 110.0, 6: 135.0},
}
"""On medium a task takes half as long and 10 more, on large a quarter and 10 more."""

slopes = st.floats(0.05, 20)
intercepts = st.floats(-50, 50)


def test_lines_go_from_the_base_to_every_offer():
    lines = lines_from_base(MEASURED, REPLICATED, "small")
    assert (lines["medium"].slope, lines["medium"].intercept) == pytest.approx((0.5, 10))
    assert (lines["large"].slope, lines["large"].intercept) == pytest.approx((0.25, 10))
    assert lines["small"].apply(123.0) == 123.0


def test_between_two_offers_the_line_is_composed_by_the_base():
    """Slope b1k / b1j, intercept b0k - b1k b0j / b1j."""
    lines = lines_from_base(MEASURED, REPLICATED, "small")
    line = line_between(lines, "medium", "large")
    assert line.slope == pytest.approx(0.25 / 0.5)
    assert line.intercept == pytest.approx(10 - 0.25 * 10 / 0.5)
    assert line_between(lines, "large", "small").apply(135.0) == pytest.approx(500)


@pytest.mark.parametrize("base", MEASURED)
def test_a_sample_is_complete_on_every_offer_whichever_is_the_base(base):
    found = complete_samples(MEASURED, REPLICATED, base)
    small = {1: 100.0, 2: 200.0, 3: 400.0, 4: 300.0, 5: 300.0, 6: 500.0}
    assert found["small"] == pytest.approx(small)
    assert found["medium"] == pytest.approx({task: 10 + time / 2 for task, time in small.items()})
    assert found["large"] == pytest.approx({task: 10 + time / 4 for task, time in small.items()})


def test_what_ran_on_the_base_stays_as_it_was_measured():
    """Elsewhere it may be off the line."""
    measured = {**MEASURED, "medium": {**MEASURED["medium"], 4: 999.0}}
    found = complete_samples(measured, REPLICATED, "small")
    assert found["small"][4] == 300.0
    assert found["medium"][4] == pytest.approx(160)


@given(slopes, intercepts, slopes, intercepts, st.floats(1, 1e6))
def test_an_inverse_goes_back_and_a_composition_goes_on(slope, intercept, second, more, runtime):
    first, then = Line(slope, intercept), Line(second, more)
    near = pytest.approx(runtime, rel=1e-6, abs=1e-3)
    assert first.inverse().apply(first.apply(runtime)) == near
    assert then.after(first).apply(runtime) == pytest.approx(
        then.apply(first.apply(runtime)), rel=1e-6, abs=1e-3
    )
