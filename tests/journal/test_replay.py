from array import array
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bursar.journal.replay import Follower, load_state
from bursar.journal.writer import JournalWriter
from bursar.model.collection import IndexedSet
from bursar.model.errors import JournalError
from bursar.model.goal import Goal, Limits
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE
from bursar.model.work import Bag, Work
from bursar.state import events as ev
from bursar.state.state import RunState
from bursar.state.view import Attempt, Machine
from bursar.state.works import Works

CREATED = ev.RunCreated(
    0, "r", Market("USD", "d", (Offer("s", Money(1)),)), Goal(), Limits(), 1, {}, {}, 0.0
)

UNTOLD = ("changes", "runtimes")
"""What is of one process only, and not of the run."""


def plain(value):
    """A value that can be compared: every field of everything it holds."""
    if isinstance(value, dict | MappingProxyType):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | array | IndexedSet | bytearray | Works):
        return [plain(item) for item in value]
    if isinstance(value, set):
        return sorted(value)
    if isinstance(value, Machine | Attempt | RunState):
        fields = msgspec.structs.asdict(value)
        return plain({name: fields[name] for name in fields if name not in UNTOLD})
    if isinstance(value, msgspec.Struct | Money | int | float | str | None):
        return value
    names = getattr(value, "__slots__", None) or vars(value)
    return {name: plain(getattr(value, name)) for name in names}


times = st.integers(0, 6 * HOUR)
outside_events = st.one_of(
    st.builds(ev.WorkArrived, times, st.integers(1, 8).map(Bag).map(Work)),
    st.builds(ev.GoalChanged, times, st.integers(10, 99).map(lambda n: Goal(Money.parse(n)))),
    st.builds(ev.StopRequested, times, st.just("interrupted"), st.just("asked"), st.booleans()),
)
conditions = st.fixed_dictionaries(
    {
        "tasks": st.integers(1, 40),
        "faults": st.sampled_from([0.0, 0.1, 0.5]),
        "retries": st.integers(0, 2),
        "budget": st.sampled_from(["0.05", "0.50", "5.00"]),
        "outside": st.lists(outside_events, max_size=3),
        "seed": st.integers(0, 10**6),
    }
)


@settings(max_examples=60, deadline=None)
@given(conditions)
def test_the_journal_of_any_run_folds_to_the_state_that_the_engine_had(play, given_conditions):
    with TemporaryDirectory() as directory:
        path = Path(directory) / "journal.db"
        with JournalWriter.create(path, "r") as writer:
            live = play(writer, **given_conditions)
        loaded = load_state(path)
        loaded.check()
        assert loaded.ended is not None
        assert plain(loaded) == plain(live)


@pytest.mark.parametrize("seed", range(5))
def test_a_run_goes_on_from_its_journal(play, play_on, tmp_path, seed):
    path = tmp_path / "journal.db"
    stop = ev.StopRequested(15 * MINUTE, "interrupted", "asked", now=True)
    with JournalWriter.create(path, "r") as writer:
        play(writer, outside=[stop], seed=seed)
    state = load_state(path)
    assert state.ended.status == "interrupted"
    done_before = state.done

    with JournalWriter(path) as writer:
        play_on(state, writer, seed=seed + 100, faults=0.0)
    assert done_before < state.done
    assert state.settled == state.total
    assert plain(load_state(path)) == plain(state)


class Listener:
    def __init__(self):
        self.heard = []

    def saw(self, event, state):
        assert state.now == event.at
        self.heard.append(event)


def test_observers_of_a_journal_hear_every_event_once_and_in_order(play, tmp_path):
    listener = Listener()
    with JournalWriter.create(tmp_path / "journal.db", "r") as writer:
        play(writer)
    with Follower(tmp_path / "journal.db", [listener]) as follower:
        follower.catch_up()
        follower.catch_up()
        assert listener.heard == list(follower.reader.events())
        assert len(listener.heard) == follower.seen > 50


def test_a_follower_keeps_up_with_a_run_step_by_step(new_engine, tmp_path):
    with JournalWriter.create(tmp_path / "journal.db", "r") as writer:
        engine, world = new_engine(writer)
        with Follower(tmp_path / "journal.db") as follower:
            assert follower.catch_up() == 0
            engine.step(())
            while engine.state.ended is None:
                engine.step(world.wait(engine.next_look()))
                before = follower.seen
                assert follower.catch_up() == writer.seq - before
                assert plain(follower.state) == plain(engine.state)
    assert engine.state.done > 0


@pytest.mark.parametrize(
    ("events", "complaint"),
    [
        ([], "has no events, so the run never began"),
        ([ev.MachineUp(0, 1)], r"event 1 \(MachineUp\) contradicts those before it"),
        ([CREATED, CREATED], r"event 2 \(RunCreated\) contradicts"),
        ([CREATED, ev.MachineUp(5, 1)], r"event 2 \(MachineUp\) contradicts.*restore the file"),
        ([CREATED, ev.RunResumed(9), ev.RunResumed(5)], r"event 3 .*time ran back"),
        ([CREATED, ev.MachineRented(0, 1, "x", 9)], r"event 2 .*no offer 'x'"),
        ([CREATED, ev.WorkArrived(0, Work(Bag(-4)))], r"event 2 \(WorkArrived\) contradicts"),
        (
            [CREATED, ev.MachineRented(0, 1, "s", 9), ev.AttemptStarted(0, 1, 7, 1)],
            r"event 3 \(AttemptStarted\) contradicts",
        ),
    ],
)
def test_events_that_do_not_fold_are_reported_in_one_line(tmp_path, events, complaint):
    path = tmp_path / "journal.db"
    with JournalWriter.create(path, "r") as writer:
        for event in events:
            writer.append(event)
        writer.commit(safely=False)
    with pytest.raises(JournalError, match=complaint) as caught:
        load_state(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)
