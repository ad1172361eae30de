"""How the longest of earlier tasks fall off."""

from __future__ import annotations

import numpy as np
import pytest

from bursar.beliefs.past_tail import FEWEST, LEAST_EXCESS, LONGEST, tail_of
from bursar.model.past_runtimes import PastRuntimes
from bursar.model.time import SECOND


def past(seconds):
    return PastRuntimes.of(round(one * SECOND) for one in seconds)


@pytest.mark.parametrize("exponent", [1.5, 2.5, 6.0])
def test_pareto_tasks_have_their_exponent_and_begin_where_few_are_longer(exponent):
    ranks = (np.arange(5_000) + 0.5) / 5_000
    found = tail_of(past(60 * (1 - ranks) ** (-1 / exponent)))
    assert found.exponent == pytest.approx(exponent, rel=0.15)
    assert found.begin == pytest.approx(60 * LONGEST ** (-1 / exponent), rel=0.05)


def test_tasks_that_are_alike_end_nearly_at_once():
    assert tail_of(past([100.0] * 1_000)).exponent == pytest.approx(1 / LEAST_EXCESS)


def test_few_tasks_tell_no_tail():
    few = round(FEWEST / LONGEST)
    assert tail_of(past(np.linspace(50, 100, few))) is not None
    assert tail_of(past(np.linspace(50, 100, few // 2))) is None
