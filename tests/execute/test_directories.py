"""Directories made ahead for what commands write."""

from __future__ import annotations

import os
from shutil import rmtree

import pytest

from bursar.execute.directories import Desks


def test_a_desk_has_a_directory_of_its_own_with_open_files(tmp_path):
    desk = Desks(str(tmp_path)).take(7)
    os.write(desk.stdout, b"out")
    os.write(desk.stderr, b"err")
    desk.close()
    assert (tmp_path / "7" / "stdout").read_bytes() == b"out"
    assert (tmp_path / "7" / "stderr").read_bytes() == b"err"


def test_one_is_made_ahead_and_taken_next(tmp_path):
    desks = Desks(str(tmp_path))
    desks.take(1).close()
    desks.prepare()
    assert (tmp_path / "2" / "stdout").exists()
    for attempt in (2, 3):
        desk = desks.take(attempt)
        os.write(desk.stdout, b"%d" % attempt)
        desk.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "2", "3"]
    assert (tmp_path / "2" / "stdout").read_bytes() == b"2"
    assert (tmp_path / "3" / "stdout").read_bytes() == b"3"


def test_another_than_the_next_attempt_may_take_it(tmp_path):
    desks = Desks(str(tmp_path))
    desks.take(1).close()
    desks.prepare()
    desk = desks.take(9)
    os.write(desk.stdout, b"9")
    desk.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "9"]
    assert (tmp_path / "9" / "stdout").read_bytes() == b"9"


def test_none_is_made_where_no_command_ever_ran(tmp_path):
    Desks(str(tmp_path)).prepare()
    assert not list(tmp_path.iterdir())


def test_a_spare_one_left_behind_is_used_again(tmp_path):
    for attempt in (1, 2):
        desks = Desks(str(tmp_path))
        desks.take(attempt).close()
        desks.prepare()
    desks.take(3).close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "2", "3"]


def test_a_directory_that_cannot_be_made_is_told_when_it_is_needed(tmp_path):
    desks = Desks(str(tmp_path / "missing" / "file"))
    (tmp_path / "missing").write_text("a file, not a directory")
    with pytest.raises(OSError, match="directory"):
        desks.take(1)
    desks.prepare()
    with pytest.raises(OSError, match="directory"):
        desks.take(2)


def inodes(directory, *names):
    return {(directory / name).stat().st_ino for name in names}


def test_files_in_which_nothing_was_written_go_on_but_never_their_directory(tmp_path):
    desks = Desks(str(tmp_path))
    desks.take(1).close()
    directory, files = inodes(tmp_path, "1"), inodes(tmp_path / "1", "stdout", "stderr")
    assert not desks.leave(1)
    desks.prepare()
    desks.take(2).close()
    assert inodes(tmp_path, "2") != directory
    assert inodes(tmp_path / "2", "stdout", "stderr") == files
    assert list((tmp_path / "1").iterdir()) == []


def test_a_file_that_somebody_has_open_stays_with_him(tmp_path):
    desks = Desks(str(tmp_path))
    desks.take(1).close()
    with (tmp_path / "1" / "stdout").open("a") as held:
        files = inodes(tmp_path / "1", "stdout", "stderr")
        assert not desks.leave(1)
        desks.take(2).close()
        assert len(inodes(tmp_path / "2", "stdout", "stderr") & files) == 1
        held.write("late")
    assert (tmp_path / "2" / "stdout").read_text() == ""


@pytest.mark.parametrize("spoil", ["link", "mode", "fifo"])
def test_a_file_that_was_tampered_with_does_not_go_on(tmp_path, spoil):
    desks = Desks(str(tmp_path))
    desks.take(1).close()
    stdout = tmp_path / "1" / "stdout"
    if spoil == "link":
        os.link(stdout, tmp_path / "elsewhere")
    elif spoil == "mode":
        stdout.chmod(0o600)
    else:
        stdout.unlink()
        os.mkfifo(stdout)
    before = inodes(tmp_path / "1", "stdout")
    desks.leave(1)
    desks.take(2).close()
    assert not inodes(tmp_path / "2", "stdout", "stderr") & before


def test_directories_that_are_left_empty_are_removed_at_last(tmp_path):
    desks = Desks(str(tmp_path))
    for attempt in range(1, 41):
        desks.take(attempt).close()
        assert not desks.leave(attempt)
    desks.tidy_at_last()
    for pid in desks.removers:
        os.waitpid(pid, 0)
    assert [path.name for path in tmp_path.iterdir()] == ["40"]


@pytest.mark.parametrize("name", ["stdout", "stderr", "table.csv"])
def test_a_desk_on_which_anything_was_written_is_left_alone(tmp_path, name):
    desks = Desks(str(tmp_path))
    desks.take(1).close()
    (tmp_path / "1" / name).write_text("x")
    assert desks.leave(1)
    desks.prepare()
    desks.take(2).close()
    assert (tmp_path / "1" / name).read_text() == "x"


def test_an_empty_file_of_its_own_is_something(tmp_path):
    desks = Desks(str(tmp_path))
    desks.take(1).close()
    (tmp_path / "1" / "done").touch()
    assert desks.leave(1)


def test_one_that_was_removed_meanwhile_is_made_anew(tmp_path):
    desks = Desks(str(tmp_path))
    desks.take(1).close()
    desks.prepare()
    rmtree(tmp_path / "2")
    desk = desks.take(3)
    os.write(desk.stdout, b"3")
    desk.close()
    assert (tmp_path / "3" / "stdout").read_bytes() == b"3"
