"""A strategy may be chosen by hand when the tail begins."""

import io
import sys

import numpy as np
import pytest

from bursar.cli.ask import ask_for_strategy
from bursar.model.money import Money
from bursar.model.strategy import Strategy
from bursar.model.time import SECOND
from bursar.plan.pools.estimator import Conditions, Price
from bursar.policies.advise.tail import Advice, Situation

PRICE = Price(Money.parse("0.01"))
CONDITIONS = Conditions(4, 8, 0.8, np.array([SECOND]), SECOND, PRICE, PRICE)
ADVICE = Advice(
    situation=Situation(CONDITIONS, 0.25, None, None, "USD"),
    strategies=[Strategy(n, SECOND, 2 * SECOND, 0.25) for n in (3, 2, 0)],
    points=[(100.0, 1.0), (20.0, 1.1), (19.0, 4.0)],
    tried=350,
)


@pytest.mark.parametrize(
    ("typed", "place"), [("1\n", 0), ("3\n", 2), ("\n", 1), ("", 1), ("9\nno\n3\n", 2)]
)
def test_a_number_chooses_and_nothing_means_the_knee(typed, place, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    assert ask_for_strategy(ADVICE) == place
    reported = capsys.readouterr()
    assert "<- knee" in reported.err
    assert "$16.00" in reported.err
    assert not reported.out
    assert ("is not a number from 1 to 3" in reported.err) == typed.startswith("9")
