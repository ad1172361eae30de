from __future__ import annotations

import os
import shutil

import pytest

from bursar.execute.outputs import Outputs, last_lines, repair
from bursar.model.goal import Goal, Limits
from bursar.model.market import Market, Offer
from bursar.model.money import ZERO
from bursar.model.work import Bag, Work
from bursar.state import events as ev
from bursar.state.state import RunState


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


@pytest.mark.parametrize("kind", ["directory", "file", "link"])
def test_a_result_finds_its_place_and_what_was_there_is_kept_aside(outputs, tmp_path, kind):
    place = outputs.root / "3"
    if kind == "directory":
        place.mkdir()
        (place / "mine").write_text("mine")
    elif kind == "file":
        place.write_text("mine")
    else:
        (tmp_path / "target").mkdir()
        place.symlink_to(tmp_path / "target")
    write(outputs, 8, new="x")
    outputs.keep(3, 8)
    outputs.close()
    assert names(place) == ["new", "stderr", "stdout"]
    aside = outputs.root / "leftovers" / "3"
    if kind == "link":
        assert aside.readlink() == tmp_path / "target"
    else:
        assert (aside / "mine" if kind == "directory" else aside).read_text() == "mine"


def test_a_later_failure_stands_in_front_and_older_ones_are_kept(outputs):
    for attempt in (7, 8, 9):
        write(outputs, attempt, stderr=str(attempt))
        outputs.keep_failure(3, attempt)
    outputs.close()
    reported = {path.name: (path / "stderr").read_text() for path in outputs.root.glob("failed/*")}
    assert reported == {"3": "9", "3-2": "7", "3-3": "8"}


# --- links in the place of directories ------------------------------------------------------------


@pytest.fixture
def precious(tmp_path):
    """A directory of the user with files of the names that attempts have."""
    directory = tmp_path / "precious"
    directory.mkdir()
    for name in ("stdout", "stderr", "7", "8"):
        (directory / name).write_text("mine")
    return directory


def all_of(directory):
    return {path.name: path.read_text() for path in directory.iterdir()}


@pytest.mark.parametrize("fate", ["drop", "keep", "keep_failure", "close"])
def test_what_a_link_in_an_attempts_place_leads_to_is_left_alone(outputs, precious, fate):
    outputs.of(7).symlink_to(precious)
    before = all_of(precious)
    if fate == "drop":
        outputs.drop(7)
    elif fate != "close":
        getattr(outputs, fate)(3, 7)
    outputs.close()
    assert all_of(precious) == before


def test_what_a_link_in_the_place_of_all_attempts_leads_to_is_left_alone(outputs, precious):
    before = all_of(precious)
    outputs.drop(7)
    outputs.attempts.rename(outputs.root / "elsewhere")
    outputs.attempts.symlink_to(precious)
    outputs.drop(8)
    outputs.close()
    repair(outputs.root, crashed())
    assert all_of(precious) == before


def test_links_within_an_attempt_are_removed_and_not_what_they_lead_to(outputs, precious):
    write(outputs, 7)
    (outputs.of(7) / "link").symlink_to(precious)
    (outputs.of(7) / "deep").mkdir()
    (outputs.of(7) / "deep" / "link").symlink_to(precious / "7")
    outputs.drop(7)
    outputs.close()
    assert len(all_of(precious)) == 4
    assert not outputs.attempts.exists()


def test_stderr_that_is_a_pipe_or_a_link_is_not_waited_for(outputs, precious):
    outputs.of(7).mkdir()
    os.mkfifo(outputs.of(7) / "stderr")
    outputs.of(8).mkdir()
    (outputs.of(8) / "stderr").symlink_to(precious / "7")
    assert [outputs.tail(7), outputs.tail(8)] == ["", ""]


def test_outputs_that_were_deleted_meanwhile_are_reported(outputs):
    write(outputs, 7)
    outputs.drop(7)
    shutil.rmtree(outputs.root)
    with pytest.raises(FileNotFoundError) as caught:
        outputs.keep(3, 8)
    assert "was deleted while the run was executed" in str(outputs.disk_error(caught.value))


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
        ev.WorkArrived(0, Work(Bag(4, ("true",)))),
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
