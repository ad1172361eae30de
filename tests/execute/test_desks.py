"""Directories made ahead for what commands write."""

from __future__ import annotations

import os

import pytest

from bursar.execute.desks import SPARE, Desks


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
    assert (tmp_path / SPARE / "stdout").exists()
    for attempt in (2, 3):
        desk = desks.take(attempt)
        os.write(desk.stdout, b"%d" % attempt)
        desk.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "2", "3"]
    assert (tmp_path / "2" / "stdout").read_bytes() == b"2"
    assert (tmp_path / "3" / "stdout").read_bytes() == b"3"


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
