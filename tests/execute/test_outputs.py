from __future__ import annotations

import pytest

from bursar import events as ev
from bursar.execute.outputs import Outputs, last_lines, repair
from bursar.model.goal import Goal, Limits
from bursar.model.market import Market, Offer
from bursar.model.money import ZERO
from bursar.model.work import Bag
from bursar.state import RunState


@pytest.fixture
def outputs(tmp_path):
    made = Outputs(tmp_path / "out")
    made.prepare()
    return made


def write(outputs, attempt, **files):
    directory = outputs.of(attempt)
    directory.mkdir()
    for name, text in {"stdout": "", "stderr": "", **files}.items():
        (directory / name).write_text(text)


def names(path):
    return sorted(str(entry.relative_to(path)) for entry in path.rglob("*") if entry.is_file())


def test_a_result_moves_as_a_whole(outputs):
    write(outputs, 7, made="x")
    outputs.keep(3, 7)
    outputs.close()
    assert names(outputs.root) == ["3/made", "3/stderr", "3/stdout"]


def test_a_result_replaces_what_a_crash_left_in_its_place(outputs):
    write(outputs, 7, old="x")
    outputs.keep(3, 7)
    write(outputs, 8, new="x")
    outputs.keep(3, 8)
    outputs.close()
    assert names(outputs.root) == ["3/new", "3/stderr", "3/stdout"]


def test_a_later_failure_replaces_an_older_one(outputs):
    for attempt in (7, 8):
        write(outputs, attempt, stderr=str(attempt))
        outputs.keep_failure(3, attempt)
    outputs.close()
    assert (outputs.root / "failed/3/stderr").read_text() == "8"


def test_moving_twice_changes_nothing(outputs):
    write(outputs, 7, made="x")
    outputs.keep(3, 7)
    outputs.keep(3, 7)
    outputs.close()
    assert names(outputs.root) == ["3/made", "3/stderr", "3/stdout"]


def test_what_is_dropped_is_deleted_however_deep(outputs):
    write(outputs, 7)
    outputs.drop(7)
    write(outputs, 8)
    (outputs.of(8) / "deep/er").mkdir(parents=True)
    (outputs.of(8) / "deep/er/file").touch()
    outputs.drop(8)
    outputs.drop(9)
    outputs.close()
    assert list(outputs.root.iterdir()) == []


def test_closing_spares_what_is_not_settled(outputs):
    write(outputs, 7)
    write(outputs, 8)
    outputs.close(unsettled={8})
    assert [entry.name for entry in outputs.attempts.iterdir()] == ["8"]


def test_the_tail_is_short_and_text(outputs):
    assert outputs.tail(1) == ""
    write(outputs, 7, stderr="é" * 5000 + "\nend\n\n")
    tail = outputs.tail(7)
    assert tail.endswith("é\nend")
    assert len(tail.encode()) <= 2048
    (outputs.of(7) / "stderr").write_bytes(b"\xff" * 5000)
    assert 100 < len(outputs.tail(7).encode()) <= 2048
    assert last_lines("\n".join(map(str, range(100)))) == "\n".join(map(str, range(88, 100)))


def crashed():
    """Task 1 was done by attempt 1, task 2 failed in attempt 2, task 3 was running in attempt 3."""
    state = RunState()
    market = Market("USD", "undated", (Offer("desk", ZERO, slots=9),))
    for event in (
        ev.RunCreated(0, "r", market, Goal(), Limits(), 0, {}, {}, 0.0),
        ev.WorkArrived(0, Bag(4, ("true",))),
        ev.MachineRented(0, 1, "desk", 100),
        ev.MachineUp(0, 1),
        *(ev.AttemptStarted(0, task, task, 1) for task in (1, 2, 3)),
        ev.AttemptEnded(1, 1, "success"),
        ev.AttemptEnded(1, 2, "failed", exit_code=1),
    ):
        state.apply(event)
    return state


def test_repair_finishes_what_was_journaled_and_deletes_the_rest(outputs):
    for attempt in (1, 2, 3, 4):
        write(outputs, attempt, made=str(attempt))
    (outputs.attempts / "9.old").mkdir()
    (outputs.attempts / "stray").touch()
    repair(outputs.root, crashed())
    files = {path: (outputs.root / path).read_text() for path in names(outputs.root)}
    assert {path: text for path, text in files.items() if text} == {
        "1/made": "1",
        "failed/2/made": "2",
    }
    assert sorted(entry.name for entry in outputs.root.iterdir()) == ["1", "failed"]


def test_repair_may_be_repeated_and_needs_no_directory(outputs, tmp_path):
    write(outputs, 1, made="1")
    repair(outputs.root, crashed())
    repair(outputs.root, crashed())
    repair(tmp_path / "nowhere", crashed())
    assert names(outputs.root) == ["1/made", "1/stderr", "1/stdout"]
    assert not (tmp_path / "nowhere").exists()
