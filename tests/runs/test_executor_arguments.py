"""Arguments as people write them; what cannot be used is told in one line, and leaves nothing."""

from __future__ import annotations

import math
from datetime import timedelta

import pytest

from bursar import BudgetExecutor
from bursar.journal.runs import Home
from bursar.model.errors import InputError
from bursar.model.time import HOUR, MINUTE, SECOND


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("BURSAR_HOME", str(tmp_path / "home"))
    return Home(tmp_path / "home")


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (30, 30 * SECOND),
        (0.25, SECOND // 4),
        ("90s", 90 * SECOND),
        ("2h", 2 * HOUR),
        (timedelta(minutes=1.5), MINUTE + 30 * SECOND),
    ],
)
def test_durations_are_texts_seconds_or_timedeltas(given, meant):
    with BudgetExecutor(deadline=given, timeout=given) as pool:
        state = pool._run.session.state
        assert (state.goal.deadline, state.limits.timeout) == (meant, meant)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        *(
            ({name: value}, rf"{name}=: .* duration")
            for name in ("deadline", "timeout")
            for value in (0, -1, math.nan, math.inf, True, [], "soon", timedelta(0), 10**400, "0s")
        ),
        ({"retries": -1}, "retries= is at least 0, not -1"),
        ({"retries": 1.5}, "retries= is a whole number, not '1.5'"),
        ({"retries": "2"}, "retries= is a whole number"),
        ({"retries": True}, "retries= is a whole number"),
        ({"retries": 70_000}, "retries= is at most 65,534"),
        ({"max_workers": "2"}, "max_workers= is a whole number"),
        ({"max_workers": 10**9}, "max_workers= is at most 10,000"),
        ({"max_workers": 2, "fleet": {"local": 1}}, "max_workers= is for calls on this computer"),
        ({"market": 5}, r"market= is a market file or a Market, .* did you mean max_workers=5\?"),
        ({"market": {}}, "market= is a market file or a Market"),
        ({"budget": [2]}, "budget= is an amount"),
        ({"budget": True}, "budget= is an amount"),
        ({"fleet": ["local"]}, "fleet= is a table such as"),
        ({"fleet": {"local": "1"}}, "fleet= is a table such as"),
        ({"policies": "bats"}, "policies= is a table such as"),
        ({"policies": {"placer": 5}}, "policies= is a table such as"),
        ({"name": 5}, "name= is a text"),
        ({"seed": "x"}, "seed= is a whole number"),
        ({"seed": 2**70}, "seed= is at most"),
    ],
)
def test_what_cannot_be_used_is_reported_in_one_line(home, options, complaint):
    with pytest.raises(InputError, match=complaint) as reported:
        BudgetExecutor(**options)
    assert isinstance(reported.value, ValueError)
    assert "\n" not in str(reported.value)
    assert home.list() == []


def test_a_name_is_used_once_and_no_advice_is_given_that_does_not_work():
    with BudgetExecutor(name="amber") as pool:
        pool.submit(abs, -1).result(30)
    with pytest.raises(ValueError, match=r"^there is a run amber already: choose another name=$"):
        BudgetExecutor(name="amber")
