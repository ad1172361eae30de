"""A directory for very many directories."""

from __future__ import annotations

import subprocess

import pytest

from bursar.execute import apart
from bursar.execute.apart import make_apart


def flags(path):
    return subprocess.run(["lsattr", "-d", path], capture_output=True, text=True, check=False)


def test_it_is_made_and_nothing_else_is_changed(tmp_path):
    before = flags(tmp_path)
    make_apart(tmp_path / "many")
    assert [path.name for path in tmp_path.iterdir()] == ["many"]
    assert (tmp_path / "many").is_dir()
    assert flags(tmp_path).stdout == before.stdout


def test_what_is_there_stays(tmp_path):
    (tmp_path / "many").write_text("mine")
    make_apart(tmp_path / "many")
    (tmp_path / "link").symlink_to("nowhere")
    make_apart(tmp_path / "link")
    assert (tmp_path / "many").read_text() == "mine"
    assert (tmp_path / "link").is_symlink()
    assert len(list(tmp_path.iterdir())) == 2


def test_a_file_system_that_knows_no_such_thing_makes_a_plain_one(tmp_path, monkeypatch):
    def refused(*_):
        raise OSError(25, "Inappropriate ioctl for device")

    monkeypatch.setattr(apart, "ioctl", refused)
    make_apart(tmp_path / "many")
    assert [path.name for path in tmp_path.iterdir()] == ["many"]


def test_one_that_cannot_be_made_is_reported(tmp_path):
    with pytest.raises(FileNotFoundError):
        make_apart(tmp_path / "missing" / "many")
