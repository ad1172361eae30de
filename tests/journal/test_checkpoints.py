"""A reader that begins at a checkpoint knows what one knows who read every event."""

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.journal.test_replay import conditions, plain

from bursar.journal import checkpoints, recorder
from bursar.journal.checkpoints import newest_checkpoint
from bursar.journal.reader import JournalReader
from bursar.journal.recorder import Recorder
from bursar.journal.replay import Follower, load_state
from bursar.journal.writer import JournalWriter
from bursar.model.errors import JournalError
from bursar.model.time import MINUTE
from bursar.model.work import Bag, Work
from bursar.model.workflow import Workflow
from bursar.state import checkpoint
from bursar.state import events as ev
from bursar.state.state import RunState

FLOW = Workflow(
    name="diamond",
    names=("a", "b", "c", "d"),
    parents=((), (0,), (0,), (1, 2)),
    kind_names=("k",),
    kinds=(0, 0, 0, 0),
    commands=(("true",),) * 4,
    runtimes=(1.0, 1.0, 1.0, 1.0),
)


class Kept:
    """A journal in memory."""

    def __init__(self):
        self.events = []

    def append(self, event):
        self.events.append(event)

    def commit(self, *, safely):
        pass


def folded(events):
    """What all events tell, works that are done forgotten as where there is a journal."""
    state = RunState()
    state.work.recall = lambda number: events[number - 1].work
    for event in events:
        state.apply(event)
    return state


@settings(max_examples=60, deadline=None)
@given(conditions, st.floats(0, 1), st.booleans())
def test_a_checkpoint_and_the_events_after_it_tell_what_all_events_tell(
    play, given_conditions, place, with_flow
):
    outside = list(given_conditions["outside"])
    if with_flow:
        outside.append(ev.WorkArrived(5 * MINUTE, Work(FLOW)))
    journal = Kept()
    play(journal, **{**given_conditions, "outside": outside})
    events = journal.events
    cut = round(place * len(events))
    data = checkpoint.to_bytes(folded(events[:cut]))
    state = checkpoint.from_bytes(data, lambda number: events[number - 1].work)
    state.check()
    assert plain(state) == plain(folded(events[:cut]))
    assert checkpoint.to_bytes(state) == data
    for event in events[cut:]:
        state.apply(event)
    state.check()
    assert plain(state) == plain(folded(events))


# --- in files ------------------------------------------------------------------------------------


@pytest.fixture
def journal(new_engine, tmp_path, monkeypatch):
    """Of a run that wrote several checkpoints; two are kept."""
    monkeypatch.setattr(recorder, "APART", 20)
    monkeypatch.setattr(recorder, "SHARE", 1e9)
    path = tmp_path / "journal.db"
    with JournalWriter.create(path, "r") as writer:
        record = Recorder(writer, state := RunState())
        engine, _ = new_engine(record, state=state, tasks=60)
        engine.run()
    return path


def at(path):
    """The event at which a reader begins, if not at the first."""
    with JournalReader(path) as reader:
        found = newest_checkpoint(reader)
    return None if found is None else found.events


def events_of(path):
    with JournalReader(path) as reader:
        return list(reader.events())


def files(path):
    return [path.with_name(path.name + end) for end in (".checkpoint", ".checkpoint-before")]


def test_readers_begin_at_the_newest_checkpoint(journal, monkeypatch):
    events = events_of(journal)
    assert len(events) - 40 < at(journal) < len(events)
    read = []
    monkeypatch.setattr(JournalReader, "records", lambda _, after=0: read.append(after) or iter(()))
    load_state(journal)
    assert read == [at(journal)]


def test_what_they_know_is_the_same(journal):
    assert plain(load_state(journal)) == plain(folded(events_of(journal)))


def test_observers_see_every_event(journal):
    class Counts:
        seen = 0

        def saw(self, event, state):
            self.seen += 1
            assert state.events == self.seen

    load_state(journal, [counts := Counts()])
    assert counts.seen == len(events_of(journal))


def flipped(data, place):
    return data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :]


@pytest.mark.parametrize("place", [0, 5, 40, 500, -1])
def test_a_damaged_checkpoint_gives_way_to_the_one_before_and_to_all_events(journal, place):
    expected, newest = plain(load_state(journal)), at(journal)
    one, other = files(journal)
    one.write_bytes(flipped(one.read_bytes(), place % len(one.read_bytes())))
    assert at(journal) < newest
    assert plain(load_state(journal)) == expected
    other.write_bytes(other.read_bytes()[: -len(other.read_bytes()) // 2])
    assert at(journal) is None
    assert plain(load_state(journal)) == expected
    for file in files(journal):
        file.unlink()
    assert plain(load_state(journal)) == expected


def test_a_checkpoint_of_another_version_is_passed_over(journal, monkeypatch):
    expected = plain(load_state(journal))
    monkeypatch.setattr(checkpoints.value, "VERSION", "another")
    assert at(journal) is None
    assert plain(load_state(journal)) == expected


def test_a_checkpoint_of_another_journal_is_passed_over(journal, tmp_path, play):
    other = tmp_path / "other.db"
    with JournalWriter.create(other, "r") as writer:
        play(writer, tasks=60, seed=5)
    for file in files(journal):
        (tmp_path / file.name.replace("journal", "other")).write_bytes(file.read_bytes())
    assert at(other) is None
    assert load_state(other).done


def test_a_checkpoint_beyond_what_a_power_failure_left_is_passed_over(journal, tmp_path):
    events = events_of(journal)
    short = tmp_path / "short.db"
    with JournalWriter.create(short, "r") as writer:
        for event in events[: at(journal) - 3]:
            writer.append(event)
        writer.commit(safely=True)
    for file in files(journal):
        (tmp_path / file.name.replace("journal", "short")).write_bytes(file.read_bytes())
    assert at(short) != at(journal)
    assert plain(load_state(short)) == plain(folded(events[: at(journal) - 3]))


def test_who_goes_on_with_a_run_checks_also_what_was_before_the_checkpoint(journal):
    data = journal.read_bytes()
    journal.write_bytes(data.replace(b'"RunCreated"', b'"RunCreates"'))
    load_state(journal)
    with pytest.raises(JournalError, match="event 1 is damaged"):
        load_state(journal, verified=True)


def test_a_run_goes_on_from_a_checkpoint_as_from_all_its_events(journal, play_on, tmp_path):
    states = []
    for name in ("with", "without"):
        copy = tmp_path / f"{name}.db"
        copy.write_bytes(journal.read_bytes())
        if name == "with":
            for file in files(journal):
                (tmp_path / file.name.replace("journal", name)).write_bytes(file.read_bytes())
        state = load_state(copy)
        with JournalWriter(copy) as writer:
            more = ev.WorkArrived(state.now, Work(Bag(30, ("true",))))
            writer.append(more)
            state.apply(more)
            play_on(state, writer, seed=3)
        states.append(plain(state))
    assert states[0] == states[1]


def test_a_follower_goes_on_from_a_checkpoint(journal):
    with Follower(journal) as follower:
        begun = follower.seen
        assert follower.catch_up() == len(events_of(journal)) - begun
        assert follower.catch_up() == 0


def test_without_room_for_a_checkpoint_the_run_goes_on(new_engine, tmp_path, monkeypatch):
    monkeypatch.setattr(recorder, "APART", 20)
    path = tmp_path / "journal.db"
    path.with_name("journal.db.checkpoint-new").mkdir()
    with JournalWriter.create(path, "r") as writer:
        record = Recorder(writer, state := RunState())
        engine, _ = new_engine(record, state=state)
        assert engine.run().status
    assert at(path) is None


def test_checkpoints_may_be_read_by_the_owner_only(journal):
    assert {file.stat().st_mode & 0o777 for file in files(journal)} == {0o600}


def test_checkpoints_take_a_small_share_of_the_time(new_engine, tmp_path, monkeypatch):
    monkeypatch.setattr(recorder, "APART", 1)
    written, clock = [], [0.0]
    monkeypatch.setattr(recorder.time, "monotonic", lambda: clock[0])

    def write(path, made):
        written.append(clock[0])
        clock[0] += 3.0

    monkeypatch.setattr(recorder, "write_checkpoint", write)
    with JournalWriter.create(tmp_path / "journal.db", "r") as writer:
        record = Recorder(writer, state := RunState())
        engine, _ = new_engine(record, state=state, tasks=300)
        commit = record.commit

        def later(*, safely):
            clock[0] += 1.0
            commit(safely=safely)

        monkeypatch.setattr(record, "commit", later)
        engine.run()
    assert len(written) > 2
    assert 3.0 * len(written) <= recorder.SHARE * clock[0] + 3.0


def test_a_run_goes_on_while_a_large_checkpoint_is_written(new_engine, tmp_path, monkeypatch):
    monkeypatch.setattr(recorder, "APART", 20)
    monkeypatch.setattr(recorder, "SHARE", 1e9)
    monkeypatch.setattr(recorder, "LARGE", 0)
    begun, ended, run_ended = [], [], threading.Event()

    def write(path, made):
        begun.append(made.event)
        assert run_ended.wait(60)
        checkpoints.write_checkpoint(path, made)
        ended.append(made.event)

    monkeypatch.setattr(recorder, "write_checkpoint", write)
    path = tmp_path / "journal.db"
    with JournalWriter.create(path, "r") as writer:
        record = Recorder(writer, state := RunState())
        engine, _ = new_engine(record, state=state, tasks=60)
        engine.run()
        assert len(begun) == 1, "no other is begun before it is written"
        assert not ended
        run_ended.set()
        record.close()
    assert ended == begun
    assert len(begun) == 2
    assert at(path) == len(events_of(path))
    assert plain(load_state(path)) == plain(folded(events_of(path)))
