"""Directories made ahead for what commands write."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from shutil import rmtree

import pytest

from bursar.execute.access import AccessLink
from bursar.execute.directories import MOST_AHEAD, AttemptDirectories

OPEN_FILES = Path("/proc/self/fd")


@pytest.fixture
def place(tmp_path):
    """A directory of attempts; links to it lie beside it."""
    directory = tmp_path / "in"
    directory.mkdir()
    return directory


def names(directory):
    return sorted(path.name for path in directory.iterdir())


def test_an_attempt_has_a_directory_of_its_own_with_open_files(place):
    directory = AttemptDirectories(str(place)).take(7)
    os.write(directory.stdout, b"out")
    os.write(directory.stderr, b"err")
    directory.close()
    assert (place / "7" / "stdout").read_bytes() == b"out"
    assert (place / "7" / "stderr").read_bytes() == b"err"


def test_one_is_made_ahead_for_an_attempt_that_begins_soon(place):
    directories = AttemptDirectories(str(place))
    directories.take(1).close()
    directories.expect(5)
    assert not (place / "5").exists()
    directories.prepare()
    assert (place / "5" / "stdout").exists()
    made = inodes(place, "5")
    for attempt in (2, 5):
        directory = directories.take(attempt)
        os.write(directory.stdout, b"%d" % attempt)
        directory.close()
    assert sorted(path.name for path in place.iterdir()) == ["1", "2", "5"]
    assert inodes(place, "5") == made
    assert (place / "2" / "stdout").read_bytes() == b"2"
    assert (place / "5" / "stdout").read_bytes() == b"5"


def test_none_is_made_ahead_for_an_attempt_that_has_begun(place):
    directories = AttemptDirectories(str(place))
    directories.take(1).close()
    assert not directories.leave(1)
    directories.expect(2)
    directory = directories.take(2)
    directories.prepare()
    os.write(directory.stdout, b"2")
    directory.close()
    assert (place / "2" / "stdout").read_bytes() == b"2"


def test_many_that_begin_soon_take_few_descriptors(place):
    directories = AttemptDirectories(str(place))
    for attempt in range(1, 101):
        directories.expect(attempt)
    directories.prepare()
    assert len(list(place.iterdir())) == MOST_AHEAD


def test_one_of_an_attempt_that_never_begins_is_closed_and_its_files_go_on(place):
    directories = AttemptDirectories(str(place))
    directories.expect(1)
    directories.prepare()
    files = inodes(place / "1", "stdout", "stderr")
    open_before = len(list(OPEN_FILES.iterdir()))
    directories.forget(1)
    assert len(list(OPEN_FILES.iterdir())) == open_before - 2
    directories.take(2).close()
    assert inodes(place / "2", "stdout", "stderr") == files


def test_one_left_behind_by_a_warden_that_died_is_used(place):
    before = AttemptDirectories(str(place))
    before.expect(3)
    before.prepare()
    AttemptDirectories(str(place)).take(3).close()
    assert sorted(path.name for path in place.iterdir()) == ["3"]


def test_a_directory_that_cannot_be_made_is_reported_when_it_is_needed(place):
    directories = AttemptDirectories(str(place / "missing" / "file"))
    (place / "missing").write_text("a file, not a directory")
    with pytest.raises(OSError, match="directory"):
        directories.take(1)
    directories.expect(2)
    directories.prepare()
    with pytest.raises(OSError, match="directory"):
        directories.take(2)


def inodes(directory, *names):
    return {(directory / name).stat().st_ino for name in names}


def test_a_directory_that_nobody_has_reached_goes_on_with_its_files(place):
    directories = AttemptDirectories(str(place))
    directories.take(1).close()
    before = inodes(place, "1"), inodes(place / "1", "stdout", "stderr")
    assert not directories.leave(1)
    directories.take(2).close()
    assert names(place) == ["2"]
    after = inodes(place, "2"), inodes(place / "2", "stdout", "stderr")
    assert after == before


REACH = {
    "looks": "import os, sys; os.stat(sys.argv[1])",
    "lists": "import os, sys; os.listdir(sys.argv[1])",
    "enters": "import os, sys; os.chdir(sys.argv[1])",
    "opens": "import os, sys; os.open(sys.argv[1], os.O_PATH)",
    "tidies": "import os, sys; f = sys.argv[1] + '/x'; open(f, 'w').close(); os.unlink(f)",
}


@pytest.mark.parametrize("how", REACH)
def test_of_a_directory_that_a_process_has_reached_only_the_files_go_on(place, how):
    directories = AttemptDirectories(str(place))
    directories.take(1).close()
    directory, files = inodes(place, "1"), inodes(place / "1", "stdout", "stderr")
    subprocess.run([sys.executable, "-c", REACH[how], directories.path(1)], check=True)
    assert not directories.leave(1)
    directories.prepare()
    directories.take(2).close()
    assert inodes(place, "2") != directory
    assert inodes(place / "2", "stdout", "stderr") == files
    assert names(place / "1") == []


def test_one_that_is_reached_by_its_old_path_after_its_attempt_has_ended_does_not_go_on(place):
    directories = AttemptDirectories(str(place))
    for attempt in (1, 2):
        directories.take(attempt).close()
    path, directory = directories.path(1), inodes(place, "1")
    assert not directories.leave(1)
    assert not directories.leave(2)
    directories.take(3).close()
    assert inodes(place, "3") != directory  # the other one
    descriptor = os.open(path, os.O_RDONLY)
    directories.take(4).close()
    assert inodes(place, "4") != directory
    os.close(descriptor)


def test_where_times_of_access_are_not_kept_a_directory_never_goes_on(place, monkeypatch):
    monkeypatch.setattr(AccessLink, "was_followed", lambda link: False)
    directories = AttemptDirectories(str(place))
    directories.take(1).close()
    assert directories.path(1) == str(place / "1")
    directory = inodes(place, "1")
    assert not directories.leave(1)
    directories.take(2).close()
    assert inodes(place, "2") != directory
    assert names(place.parent) == ["in"]


def test_few_links_serve_many_attempts(place):
    directories = AttemptDirectories(str(place))
    for attempt in range(1, 21):
        directories.take(attempt).close()
        Path(directories.path(attempt), "result").touch()
        assert directories.leave(attempt)
    assert names(place.parent) == ["in", "in-1"]


@pytest.mark.parametrize("kind", ["link", "file"])
def test_what_is_put_in_the_place_of_a_link_is_left_alone(place, kind):
    directories = AttemptDirectories(str(place))
    directories.take(1).close()
    link = place.parent / "in-1"
    link.unlink()
    link.symlink_to("elsewhere") if kind == "link" else link.touch()
    before = link.lstat()
    directory = inodes(place, "1")
    assert not directories.leave(1)
    directories.take(2).close()
    assert inodes(place, "2") != directory
    assert directories.path(2) == str(place.parent / "in-2" / "2")
    assert (link.lstat().st_ino, link.lstat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_file_that_somebody_has_open_stays_with_him(place):
    directories = AttemptDirectories(str(place))
    directories.take(1).close()
    with (place / "1" / "stdout").open("a") as held:
        files = inodes(place / "1", "stdout", "stderr")
        assert not directories.leave(1)
        directories.take(2).close()
        assert len(inodes(place / "2", "stdout", "stderr") & files) == 1
        held.write("late")
    assert (place / "2" / "stdout").read_text() == ""


@pytest.mark.parametrize("spoil", ["link", "mode", "fifo"])
def test_a_file_that_was_tampered_with_does_not_go_on(place, spoil):
    directories = AttemptDirectories(str(place))
    directories.take(1).close()
    stdout = place / "1" / "stdout"
    if spoil == "link":
        os.link(stdout, place / "elsewhere")
    elif spoil == "mode":
        stdout.chmod(0o600)
    else:
        stdout.unlink()
        os.mkfifo(stdout)
    before = inodes(place / "1", "stdout")
    directories.leave(1)
    directories.take(2).close()
    assert not inodes(place / "2", "stdout", "stderr") & before


def test_directories_that_are_left_empty_are_removed_at_last(place):
    directories = AttemptDirectories(str(place))
    for attempt in range(1, 41):
        directories.take(attempt).close()
        assert Path(directories.path(attempt)).is_dir()
        assert not directories.leave(attempt)
    directories.tidy_at_last()
    for pid in directories.removers:
        os.waitpid(pid, 0)
    assert names(place) == ["40"]


@pytest.mark.parametrize("name", ["stdout", "stderr", "table.csv"])
def test_a_directory_in_which_anything_was_written_is_left_alone(place, name):
    directories = AttemptDirectories(str(place))
    directories.take(1).close()
    (place / "1" / name).write_text("x")
    assert directories.leave(1)
    directories.prepare()
    directories.take(2).close()
    assert (place / "1" / name).read_text() == "x"


def test_an_empty_file_of_its_own_is_something(place):
    directories = AttemptDirectories(str(place))
    directories.take(1).close()
    (place / "1" / "done").touch()
    assert directories.leave(1)


def test_one_whose_files_bursar_has_removed_gives_none_to_the_next(place):
    directories = AttemptDirectories(str(place))
    directories.expect(1)
    directories.prepare()
    rmtree(place / "1")
    directories.forget(1)
    directory = directories.take(2)
    os.write(directory.stdout, b"2")
    directory.close()
    assert (place / "2" / "stdout").read_bytes() == b"2"
