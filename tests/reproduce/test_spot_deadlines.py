"""Deadlines on spot traces: the least cost is right where it can be seen, and rules are run."""

from __future__ import annotations

import json

import pytest

from bursar.model.time import HOUR, MINUTE
from bursar.reproduce import spot_deadlines
from bursar.reproduce.spot_deadlines import (
    HINDSIGHT,
    SETTINGS,
    UNIFORM,
    WORK,
    Setting,
    least_cost,
    outcomes,
)
from bursar.simulate.spot_trace import SpotTrace

ALWAYS = SpotTrace(10 * MINUTE, (1, 1))
NEVER = SpotTrace(10 * MINUTE, (0,) * 999 + (1,))
"""so late that no run sees it"""
EASY = Setting(slack=4 * HOUR, overhead=3 * MINUTE)


def test_with_spot_all_the_time_the_least_cost_is_that_of_spot():
    assert EASY.score(least_cost(EASY, ALWAYS, 0)) == pytest.approx(1.0)


def test_without_spot_nothing_can_be_saved():
    assert EASY.score(least_cost(EASY, NEVER, 0)) == pytest.approx(0.0)


def test_half_of_the_time_on_spot_saves_half_or_all_if_there_is_time_to_wait():
    half = SpotTrace(HOUR, (1, 0))
    hurried = Setting(slack=HOUR, overhead=MINUTE)
    assert hurried.score(least_cost(hurried, half, 0)) == pytest.approx(0.5, abs=0.05)
    patient = Setting(slack=WORK + 2 * HOUR, overhead=MINUTE)
    assert patient.score(least_cost(patient, half, 0)) == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda one: one.name)
def test_uniform_progress_meets_every_deadline_and_does_not_beat_hindsight(setting):
    gone_at_times = SpotTrace(10 * MINUTE, (1,) * 40 + (0,) * 17 + (1,) * 5 + (0,) * 30)
    found = outcomes(setting, {"t": gone_at_times, "never": NEVER}, range(2))
    assert found[UNIFORM].missed == 0
    assert found[UNIFORM].score <= found[HINDSIGHT].score


def test_only_traces_of_single_machines_are_read(tmp_path):
    trace = {"metadata": {"gap_seconds": 600}, "data": [1, 0, 1]}
    for name in ("availability_1-node_aws-x_z_v100_1", "availability_4-node_aws-x_z_v100_1"):
        (tmp_path / f"{name}.json").write_text(json.dumps(trace))
    assert list(spot_deadlines.read_traces(tmp_path)) == ["aws-x_z_v100_1"]
