import pytest

from bursar.journal.export import EndedAttempt, ended_attempts, json_lines
from bursar.journal.reader import JournalReader
from bursar.journal.records import decode_event
from bursar.journal.replay import load_state
from bursar.journal.writer import JournalWriter
from bursar.model.goal import Goal, Limits
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, SECOND
from bursar.model.work import Work, make_bag
from bursar.state import events as ev
from bursar.state.attempts import OUTCOMES
from bursar.state.state import fold

BEGAN = 1_700_000_000.0
OPENING = (
    ev.RunCreated(
        0,
        "r",
        Market("USD", "d", (Offer("small", Money(1), slots=2),)),
        Goal(),
        Limits(retries=9),
        1,
        {},
        {},
        BEGAN,
    ),
    ev.WorkArrived(0, Work(make_bag(["echo", "{}"], [["a b"], ["c"]]))),
    ev.MachineRented(0, 1, "small", HOUR),
    ev.MachineUp(0, 1),
    ev.AttemptStarted(10 * SECOND, 1, 2, 1),
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.db"


def write(path, events):
    with JournalWriter.create(path, "r") as writer:
        for event in events:
            writer.append(event)
        writer.commit(safely=False)


def row_of(path, ending):
    write(path, (*OPENING, ending))
    (row,) = ended_attempts(path)
    return row


def test_a_row_tells_task_machine_times_and_command(path):
    row = row_of(path, ev.AttemptEnded(15 * SECOND, 1, "success", 4 * SECOND, 0))
    assert row == EndedAttempt(2, "small-1", BEGAN + 11, 4.0, 0, 0, "echo c")
    assert row == (2, "small-1", BEGAN + 11, 4.0, 0, 0, "echo c")


@pytest.mark.parametrize(
    ("outcome", "exit_code", "verdict"),
    [
        ("success", 0, (0, 0)),
        ("success", None, (0, 0)),
        ("failed", 3, (3, 0)),
        ("failed", -9, (0, 9)),
        ("failed", None, (1, 0)),
        ("failed", 0, (1, 0)),
        ("timeout", None, (-1, 15)),
        ("timeout", -9, (-1, 9)),
        ("timeout", 7, (-1, 15)),
        ("cancelled", -15, (-1, 0)),
        ("cancelled", None, (-1, 0)),
        ("lost", None, (-1, 0)),
        ("released", None, (-1, 1)),
    ],
)
def test_exit_value_and_signal_tell_how_an_attempt_ended(path, outcome, exit_code, verdict):
    row = row_of(path, ev.AttemptEnded(15 * SECOND, 1, outcome, SECOND, exit_code))
    assert (row.exitval, row.signal) == verdict


def test_attempts_lost_with_their_machine_have_rows_too(path):
    second = ev.AttemptStarted(12 * SECOND, 2, 1, 1)
    write(path, (*OPENING, second, ev.MachineDown(20 * SECOND, 1, "lost")))
    assert list(ended_attempts(path)) == [
        EndedAttempt(2, "small-1", BEGAN + 10, 10.0, -1, 0, "echo c"),
        EndedAttempt(1, "small-1", BEGAN + 12, 8.0, -1, 0, "echo 'a b'"),
    ]


def test_attempts_that_run_have_no_rows(path):
    write(path, OPENING)
    assert list(ended_attempts(path)) == []


@pytest.mark.parametrize("seed", range(5))
def test_every_ended_attempt_of_a_run_has_one_row(play, path, seed):
    with JournalWriter.create(path, "r") as writer:
        state = play(writer, tasks=60, faults=0.3, seed=seed)
    rows = list(ended_attempts(path))
    log = state.log
    assert len(rows) == len(log)
    assert sorted(row.seq for row in rows) == sorted(log.task[1:])
    successes = sum((row.exitval, row.signal) == (0, 0) for row in rows)
    assert successes == list(log.outcome[1:]).count(OUTCOMES.index("success"))
    ends = [row.start + row.runtime for row in rows]
    assert ends == pytest.approx(sorted(ends), abs=1e-5)


def test_a_journal_goes_through_json_lines_unchanged(play, path, tmp_path):
    with JournalWriter.create(path, "r") as writer:
        play(writer, tasks=30)
    lines = list(json_lines(path))
    assert all(line.endswith(b"}\n") and line.count(b"\n") == 1 for line in lines)
    events = [decode_event(line, "events.jsonl", number) for number, line in enumerate(lines, 1)]
    with JournalReader(path) as reader:
        assert events == list(reader.events())
    write(tmp_path / "again.db", events)
    assert list(json_lines(tmp_path / "again.db")) == lines
    assert fold(iter(events)).ledger.spent == load_state(path).ledger.spent


@pytest.mark.parametrize(("cause", "signal"), [("lost", 0), ("released", 1), ("expired", 1)])
def test_attempts_on_machines_that_were_given_back_are_reported_from_lost_ones(path, cause, signal):
    write(path, (*OPENING, ev.MachineDown(20 * SECOND, 1, cause)))
    assert [(row.exitval, row.signal) for row in ended_attempts(path)] == [(-1, signal)]
