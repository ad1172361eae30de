"""A listener hears of events before they are applied, and of commits; what it wants safe is."""

import pytest

from bursar.journal.recorder import Recorder
from bursar.journal.writer import JournalWriter
from bursar.model.goal import Goal, Limits
from bursar.model.market import Market
from bursar.model.work import Work, repeated_bag
from bursar.state import events as ev
from bursar.state.state import RunState


class Heard:
    def __init__(self, state):
        self.state, self.seen, self.commits = state, [], 0

    def appended(self, event):
        self.seen.append((type(event).__name__, self.state.events))
        return isinstance(event, ev.WorkArrived)

    def committed(self):
        self.commits += 1


@pytest.fixture
def journal(tmp_path):
    with JournalWriter.create(tmp_path / "journal.db", "r") as writer:
        yield writer


def test_what_a_listener_wants_survives_a_power_failure(journal, monkeypatch):
    state = RunState()
    recorder, heard, safe = Recorder(journal, state), Heard(state), []
    recorder.tell(heard)
    commit = journal.commit
    monkeypatch.setattr(
        journal, "commit", lambda safely, digest: (safe.append(safely), commit(safely=safely))
    )
    for event in (
        ev.RunCreated(0, "r", Market("USD", "", ()), Goal(), Limits(), 0, {}, {}, 1.0),
        ev.WorkArrived(1, Work(repeated_bag(["true"], 1))),
        ev.ArrivalsEnded(2),
    ):
        recorder.append(event)
        state.apply(event)
        recorder.commit(safely=False)
    assert safe == [False, True, False]
    assert heard.seen == [("RunCreated", 0), ("WorkArrived", 1), ("ArrivalsEnded", 2)]
    assert heard.commits == 3
