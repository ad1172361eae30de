"""A journal is read once; what is added is followed, and a checkpoint spares the beginning."""

from __future__ import annotations

from fractions import Fraction

import msgspec
import pytest

from bursar.journal import recorder
from bursar.journal.recorder import Recorder
from bursar.journal.writer import JournalWriter
from bursar.model.market import Offer
from bursar.model.money import NANOS, Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.report.page.watch import RunWatch
from bursar.state import events as ev
from bursar.state.state import RunState
from bursar.testing import Scene

SPOT = Offer("spot", Money.parse("0.10"), MINUTE, pool="unreliable", slots=2)


def story():
    """Machines that are lost and replaced, replicas with reasons, failures, cancelled attempts."""
    scene = Scene(SPOT, tasks=60, budget="90")
    scene.events[0] = msgspec.structs.replace(scene.events[0], policies={"provisioner": "mixed"})
    for number in range(1, 25):
        machine = scene.machine(stay=HOUR)
        first = scene.start(2 * number - 1, machine)
        scene.pass_time(20 * SECOND)
        attempt = len(scene.state.log) + 1
        scene.tell(
            ev.AttemptStarted(scene.at, attempt, 2 * number - 1, machine, "no result so far")
        )
        scene.pass_time(20 * SECOND)
        scene.end(first, "failed" if number % 6 == 0 else "success", 1, "bad luck")
        scene.cancel(attempt)
        scene.end(attempt, "cancelled")
        scene.down(machine, "lost" if number % 2 else "released")
        scene.pass_time(SECOND)
    scene.tell(ev.RunEnded(scene.at, "budget", "enough"))
    return scene.events


def written(path, events, state=None):
    with JournalWriter.create(path, "scene") as writer:
        state = RunState()
        journal = Recorder(writer, state)
        for number, event in enumerate(events):
            journal.append(event)
            state.apply(event)
            if number % 10 == 0:
                journal.commit(safely=False)
        journal.commit(safely=False)
        journal.close()
    return path


def test_a_watch_that_follows_sees_what_one_that_comes_late_sees(tmp_path):
    events, path = story(), tmp_path / "journal.db"
    with JournalWriter.create(path, "scene") as writer:
        state, watch = RunState(), None
        journal = Recorder(writer, state)
        for number, event in enumerate(events):
            journal.append(event)
            state.apply(event)
            if number % 17 == 0:
                journal.commit(safely=False)
                watch = RunWatch(path) if watch is None else watch
                watch.catch_up()
        journal.commit(safely=False)
    assert watch.catch_up() > 0
    assert watch.catch_up() == 0
    with watch, RunWatch(path) as late:
        late.catch_up()
        assert watch.snapshot(0, is_live=False) == late.snapshot(0, is_live=False)


def test_a_watch_may_begin_at_a_checkpoint(tmp_path, monkeypatch):
    events = story()
    plain = written(tmp_path / "plain.db", events)
    monkeypatch.setattr(recorder, "APART", 50)
    kept = written(tmp_path / "kept.db", events)
    with RunWatch(plain) as one, RunWatch(kept) as other:
        assert one.state.events == 0
        assert other.state.events > 50, "it began at the checkpoint"
        for watch in (one, other):
            watch.catch_up()
        assert one.snapshot(0, is_live=False) == other.snapshot(0, is_live=False)


def test_the_money_on_the_page_is_that_of_the_ledger(tmp_path):
    with RunWatch(written(tmp_path / "journal.db", story())) as watch:
        watch.catch_up()
        found, committed = watch.snapshot(0, is_live=False), watch.state.ledger.committed
    assert found.money.exact == str(committed)
    assert sum(Fraction(part.exact) for part in found.money.parts) == Fraction(
        committed.nanos, NANOS
    )


@pytest.mark.parametrize("name", ["verdict", "tiles", "charts", "machines", "money", "why"])
def test_a_snapshot_can_be_written_as_json(tmp_path, name):
    with RunWatch(written(tmp_path / "journal.db", story())) as watch:
        watch.catch_up()
        text = msgspec.json.encode(watch.snapshot(0, is_live=False))
    assert name in msgspec.json.decode(text)
    assert len(text) < 100_000
