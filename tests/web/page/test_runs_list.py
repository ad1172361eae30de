"""The list of runs: a row each, as their journals say."""

from __future__ import annotations

import pytest
from tests.live_run import live_run

from bursar.journal.runs import Home
from bursar.model.goal import Goal
from bursar.model.money import Money
from bursar.model.time import SECOND
from bursar.model.work import Bag, Work
from bursar.state import events as ev
from bursar.web.page.runs_list import run_list


@pytest.fixture
def live(tmp_path):
    with live_run(Home(tmp_path), goal=Goal(Money.parse("5"))) as run:
        run.tell(ev.WorkArrived(0, Work(Bag(4))), ev.ArrivalsEnded(0))
        yield run


def test_a_run_that_goes_on_has_a_chance(tmp_path, live):
    (row,) = run_list(Home(tmp_path)).rows
    assert (row.state, row.chance) == ("running", "–"), "nothing was forecast yet"
    cost = (Money.parse("1"),) * 3
    live.tell(ev.ForecastMade(live.now, (8 * SECOND, 9 * SECOND, 10 * SECOND), cost, 0.75, 16))
    (row,) = run_list(Home(tmp_path)).rows
    assert row.chance == "75\u00a0%"


def test_a_run_that_has_ended_has_no_chance_any_more(tmp_path, live):
    cost = (Money.parse("1"),) * 3
    live.tell(ev.ForecastMade(live.now, (8 * SECOND, 9 * SECOND, 10 * SECOND), cost, 0.75, 16))
    live.tell(ev.RunEnded(live.now, "interrupted", "requested"))
    (row,) = run_list(Home(tmp_path)).rows
    assert (row.state, row.chance) == ("interrupted", "–")
