"""Directories made ahead for what commands write."""

from __future__ import annotations

import os
from pathlib import Path
from shutil import rmtree

import pytest

from bursar.execute.directories import MOST_AHEAD, AttemptDirectories

OPEN_FILES = Path("/proc/self/fd")


def test_an_attempt_has_a_directory_of_its_own_with_open_files(tmp_path):
    directory = AttemptDirectories(str(tmp_path)).take(7)
    os.write(directory.stdout, b"out")
    os.write(directory.stderr, b"err")
    directory.close()
    assert (tmp_path / "7" / "stdout").read_bytes() == b"out"
    assert (tmp_path / "7" / "stderr").read_bytes() == b"err"


def test_one_is_made_ahead_for_an_attempt_that_begins_soon(tmp_path):
    directories = AttemptDirectories(str(tmp_path))
    directories.take(1).close()
    directories.expect(5)
    assert not (tmp_path / "5").exists()
    directories.prepare()
    assert (tmp_path / "5" / "stdout").exists()
    made = inodes(tmp_path, "5")
    for attempt in (2, 5):
        directory = directories.take(attempt)
        os.write(directory.stdout, b"%d" % attempt)
        directory.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "2", "5"]
    assert inodes(tmp_path, "5") == made
    assert (tmp_path / "2" / "stdout").read_bytes() == b"2"
    assert (tmp_path / "5" / "stdout").read_bytes() == b"5"


def test_none_is_made_ahead_for_an_attempt_that_has_begun(tmp_path):
    directories = AttemptDirectories(str(tmp_path))
    directories.take(1).close()
    assert not directories.leave(1)
    directories.expect(2)
    directory = directories.take(2)
    directories.prepare()
    os.write(directory.stdout, b"2")
    directory.close()
    assert (tmp_path / "2" / "stdout").read_bytes() == b"2"


def test_many_that_begin_soon_take_few_descriptors(tmp_path):
    directories = AttemptDirectories(str(tmp_path))
    for attempt in range(1, 101):
        directories.expect(attempt)
    directories.prepare()
    assert len(list(tmp_path.iterdir())) == MOST_AHEAD


def test_one_of_an_attempt_that_never_begins_is_closed_and_its_files_go_on(tmp_path):
    directories = AttemptDirectories(str(tmp_path))
    directories.expect(1)
    directories.prepare()
    files = inodes(tmp_path / "1", "stdout", "stderr")
    open_before = len(list(OPEN_FILES.iterdir()))
    directories.forget(1)
    assert len(list(OPEN_FILES.iterdir())) == open_before - 2
    directories.take(2).close()
    assert inodes(tmp_path / "2", "stdout", "stderr") == files


def test_one_left_behind_by_a_warden_that_died_is_used(tmp_path):
    before = AttemptDirectories(str(tmp_path))
    before.expect(3)
    before.prepare()
    AttemptDirectories(str(tmp_path)).take(3).close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["3"]


def test_a_directory_that_cannot_be_made_is_told_when_it_is_needed(tmp_path):
    directories = AttemptDirectories(str(tmp_path / "missing" / "file"))
    (tmp_path / "missing").write_text("a file, not a directory")
    with pytest.raises(OSError, match="directory"):
        directories.take(1)
    directories.expect(2)
    directories.prepare()
    with pytest.raises(OSError, match="directory"):
        directories.take(2)


def inodes(directory, *names):
    return {(directory / name).stat().st_ino for name in names}


def test_files_in_which_nothing_was_written_go_on_but_never_their_directory(tmp_path):
    directories = AttemptDirectories(str(tmp_path))
    directories.take(1).close()
    directory, files = inodes(tmp_path, "1"), inodes(tmp_path / "1", "stdout", "stderr")
    assert not directories.leave(1)
    directories.prepare()
    directories.take(2).close()
    assert inodes(tmp_path, "2") != directory
    assert inodes(tmp_path / "2", "stdout", "stderr") == files
    assert list((tmp_path / "1").iterdir()) == []


def test_a_file_that_somebody_has_open_stays_with_him(tmp_path):
    directories = AttemptDirectories(str(tmp_path))
    directories.take(1).close()
    with (tmp_path / "1" / "stdout").open("a") as held:
        files = inodes(tmp_path / "1", "stdout", "stderr")
        assert not directories.leave(1)
        directories.take(2).close()
        assert len(inodes(tmp_path / "2", "stdout", "stderr") & files) == 1
        held.write("late")
    assert (tmp_path / "2" / "stdout").read_text() == ""


@pytest.mark.parametrize("spoil", ["link", "mode", "fifo"])
def test_a_file_that_was_tampered_with_does_not_go_on(tmp_path, spoil):
    directories = AttemptDirectories(str(tmp_path))
    directories.take(1).close()
    stdout = tmp_path / "1" / "stdout"
    if spoil == "link":
        os.link(stdout, tmp_path / "elsewhere")
    elif spoil == "mode":
        stdout.chmod(0o600)
    else:
        stdout.unlink()
        os.mkfifo(stdout)
    before = inodes(tmp_path / "1", "stdout")
    directories.leave(1)
    directories.take(2).close()
    assert not inodes(tmp_path / "2", "stdout", "stderr") & before


def test_directories_that_are_left_empty_are_removed_at_last(tmp_path):
    directories = AttemptDirectories(str(tmp_path))
    for attempt in range(1, 41):
        directories.take(attempt).close()
        assert not directories.leave(attempt)
    directories.tidy_at_last()
    for pid in directories.removers:
        os.waitpid(pid, 0)
    assert [path.name for path in tmp_path.iterdir()] == ["40"]


@pytest.mark.parametrize("name", ["stdout", "stderr", "table.csv"])
def test_a_directory_in_which_anything_was_written_is_left_alone(tmp_path, name):
    directories = AttemptDirectories(str(tmp_path))
    directories.take(1).close()
    (tmp_path / "1" / name).write_text("x")
    assert directories.leave(1)
    directories.prepare()
    directories.take(2).close()
    assert (tmp_path / "1" / name).read_text() == "x"


def test_an_empty_file_of_its_own_is_something(tmp_path):
    directories = AttemptDirectories(str(tmp_path))
    directories.take(1).close()
    (tmp_path / "1" / "done").touch()
    assert directories.leave(1)


def test_one_whose_files_bursar_has_removed_gives_none_to_the_next(tmp_path):
    directories = AttemptDirectories(str(tmp_path))
    directories.expect(1)
    directories.prepare()
    rmtree(tmp_path / "1")
    directories.forget(1)
    directory = directories.take(2)
    os.write(directory.stdout, b"2")
    directory.close()
    assert (tmp_path / "2" / "stdout").read_bytes() == b"2"
