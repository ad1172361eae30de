"""Tables 5.1 to 5.3 of the BaTS thesis, with a few instances instead of thirty."""

from __future__ import annotations

import numpy as np

from bursar.reproduce.bats_tables_5 import (
    INSTANCES,
    KEPT,
    PRINTED,
    STRATEGIES,
    Study,
    figure_rows,
    gain_rows,
    study,
)
from bursar.reproduce.result import Verdict

NORMAL = dict(zip(STRATEGIES, PRINTED["normal", "fastest"], strict=True))


def like_the_paper() -> Study:
    """Instances with the printed mean, least and largest; all strategies vary alike."""
    found: Study = {}
    for strategy, (mean, least, largest) in NORMAL.items():
        rest = (mean * INSTANCES - least - largest) / (INSTANCES - 2)
        found[strategy] = np.array([least, largest, *[rest] * (INSTANCES - 2)])
    return found


def test_every_printed_column_is_judged_and_the_papers_own_figures_come_out() -> None:
    found = like_the_paper()
    rows = [*figure_rows("normal", "fastest", NORMAL, found)]
    assert len(rows) == 3 * len(STRATEGIES)
    rows += gain_rows("normal", "fastest", NORMAL, found, {})
    assert {row.verdict for row in rows} == {Verdict.YES}


def test_a_minimum_far_from_the_printed_one_is_reported() -> None:
    found = like_the_paper()
    found["random"] = found["random"] - 8
    failed = {
        row.what
        for row in (
            *figure_rows("normal", "fastest", NORMAL, found),
            *gain_rows("normal", "fastest", NORMAL, found, {}),
        )
        if row.verdict is Verdict.NO
    }
    assert {f"normal, fastest: random, {what}" for what in ("mean", "min", "max")} <= failed
    assert "normal, fastest: gain of random" in failed
    assert "normal, fastest: pairs of strategies in another order" in failed


def test_replicas_gain_as_much_as_printed_in_a_few_instances() -> None:
    found = study("normal", "fastest", KEPT, instances=4)
    for strategy in STRATEGIES[:-1]:
        gain = float((found["none"] - found[strategy]).mean())
        printed = NORMAL["none"][0] - NORMAL[strategy][0]
        assert abs(gain - printed) < 1
