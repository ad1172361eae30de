from __future__ import annotations

import time

from bursar.journal.replay import load_state
from bursar.journal.runs import Home
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import SECOND
from bursar.model.work import make_bag
from bursar.runs.forecaster import ForecastsBeside
from bursar.runs.request import Request
from bursar.runs.session import Session

MARKET = Market("USD", "undated", (Offer("small", Money.parse("0.001"), SECOND, limit=2),))


def test_forecasts_are_made_beside_a_run_whatever_modules_lie_in_its_directory(
    tmp_path, monkeypatch
):
    """The last task waits until a forecast has arrived, so that a busy computer does no harm."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "numpy.py").write_text("raise SystemExit(7)")
    wait = "until [ -e seen ]; do sleep 0.05; done"
    scripts = [["sleep 0.1"]] * 40 + [[wait]]
    bag = make_bag(["/bin/sh", "-c", "{}"], scripts)
    request = Request(market=MARKET, goal=Goal(Money.parse("10")), bag=bag)

    class Listener:
        """Lets the last task end when a forecast is there, or none will come."""

        end = time.monotonic() + 60

        def saw(self, event, state):
            if state.forecasts or beside.fault or time.monotonic() > self.end:
                (tmp_path / "seen").touch()

    with Session.begin(Home(tmp_path / "home"), request) as session:
        beside = ForecastsBeside(session, after=0.0)
        with beside:
            session.execute([Listener()])
        journal = session.run_dir.journal
    assert beside.fault == ""
    assert load_state(journal).forecasts
