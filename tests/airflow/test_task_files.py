"""Files of task instances: readable by their owner alone, whole or not there."""

import stat

import pytest

from bursar.airflow.submission import task_file
from bursar.airflow.task_files import HandedFiles, read_task
from bursar.model.errors import InputError

TOLD = task_file("ann", 3, b'{"token":"secret","ti":{"id":"1"}}')


def test_a_task_is_read_as_it_was_written(tmp_path):
    files = HandedFiles(tmp_path / "tasks")
    files.write("one", TOLD)
    found = read_task(files.path("one"))
    assert (found.account, found.priority) == ("ann", 3)
    assert bytes(found.workload) == bytes(TOLD.workload)
    assert list(files.idents()) == ["one"]
    files.remove("one")
    files.remove("one")
    assert list(files.idents()) == []


def test_nobody_else_can_read_it(tmp_path):
    files = HandedFiles(tmp_path / "tasks")
    files.write("one", TOLD)
    assert stat.S_IMODE((tmp_path / "tasks").stat().st_mode) == 0o700
    assert stat.S_IMODE(files.path("one").stat().st_mode) == 0o600


def test_a_directory_that_others_can_reach_is_refused(tmp_path):
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks").chmod(0o755)
    with pytest.raises(InputError, match="chmod 700"):
        HandedFiles(tmp_path / "tasks")


def test_a_directory_that_cannot_be_made_is_reported(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="task_files"):
        HandedFiles(tmp_path / "file" / "tasks")


@pytest.mark.parametrize("ident", ["", "../x", "a/b", "a" * 65, "a.b"])
def test_an_id_never_leaves_the_directory(tmp_path, ident):
    with pytest.raises(InputError, match="id of a task instance"):
        HandedFiles(tmp_path / "tasks").path(ident)


def test_what_was_half_written_before_a_crash_is_not_seen(tmp_path):
    files = HandedFiles(tmp_path / "tasks")
    files.path("one").with_suffix(".part").write_text("{")
    assert list(files.idents()) == []
    files.write("one", TOLD)
    assert list(files.idents()) == ["one"]


def test_a_file_that_is_no_task_is_reported(tmp_path):
    (tmp_path / "x.json").write_text("[]")
    with pytest.raises(InputError, match="does not hold a task"):
        read_task(tmp_path / "x.json")
