"""`bursar status` reads a digest, however long a journal is and whatever failed."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from bursar.cli.status import command
from bursar.journal.reader import JournalReader
from bursar.journal.recorder import Recorder
from bursar.journal.writer import JournalWriter
from bursar.model.goal import Goal, Limits
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.options import RunOptions
from bursar.model.time import HOUR
from bursar.model.work import Work, make_bag
from bursar.state import events as ev
from bursar.state.state import RunState

TASKS = 30
MARKET = Market("USD", "undated", (Offer("small", Money.parse("0.10")),))


def events():
    """Every third task fails: most because of a file, some because of memory."""
    options = RunOptions(outputs="/results")
    yield ev.RunCreated(0, "big", MARKET, Goal(), Limits(), 1, {}, {}, 0.0, options=options)
    rows = [[f"a{number}.csv"] for number in range(1, TASKS + 1)]
    yield ev.WorkArrived(0, Work(make_bag(["fit", "{}"], rows)))
    yield ev.ArrivalsEnded(0)
    yield ev.MachineRented(0, 1, "small", 100 * HOUR, "to fill the fleet")
    yield ev.MachineUp(0, 1)
    for task in range(1, TASKS + 1):
        yield ev.AttemptStarted(task, task, task, 1)
        if task % 3:
            yield ev.AttemptEnded(task, task, "success", 1, 0)
        else:
            why = "no memory" if task % 9 == 0 else f"a{task}.csv: no such file"
            yield ev.AttemptEnded(task, task, "failed", 1, 2, why=why)


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("BURSAR_HOME", str(tmp_path))
    (tmp_path / "big").mkdir()
    with JournalWriter.create(tmp_path / "big" / "journal.db", "big") as writer:
        journal = Recorder(writer, state := RunState())
        for event in events():
            journal.append(event)
            state.apply(event)
            journal.commit(safely=False)
    return tmp_path


def test_a_run_with_failures_is_shown_without_reading_its_events(home, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("events were read")

    for method in ("records", "events", "events_of", "event"):
        monkeypatch.setattr(JournalReader, method, refuse)
    shown = CliRunner().invoke(command, ["big"], catch_exceptions=False).output.splitlines()
    assert shown[0].startswith("big: abandoned. 20 of 30 tasks done")
    assert shown[1:8] == [
        "failed: 7 tasks alike, such as task 3 (exit code 2): fit a3.csv",
        "    a3.csv: no such file",
        "failed: 3 tasks alike, such as task 9 (exit code 2): fit a9.csv",
        "    no memory",
        "their output: /results/failed",
        "retry them with: bursar resume big --retry-failed",
        "results: /results",
    ]


def test_a_journal_of_an_earlier_version_tells_of_failures_by_its_events(home, monkeypatch):
    """Their digests had the number of failed tasks only."""
    monkeypatch.setattr("bursar.state.failures.MOST_SHOWN", 0)
    with JournalWriter(home / "big" / "journal.db") as writer:
        journal = Recorder(writer, state := RunState())
        for event in events():
            state.apply(event)
        journal.append(resumed := ev.RunResumed(TASKS + 1))
        state.apply(resumed)
        journal.commit(safely=True)
    monkeypatch.undo()
    monkeypatch.setenv("BURSAR_HOME", str(home))
    shown = CliRunner().invoke(command, ["big"], catch_exceptions=False).output
    assert "failed: 7 tasks alike, such as task 3 (exit code 2): fit a3.csv" in shown
