"""The working directory is packed once, without what ignore files name."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from bursar.execute.remote import working_files
from bursar.execute.remote.packs import pack_directory, unpack
from bursar.execute.remote.working_files import pack_files, parts_of, wanted_files
from bursar.model.errors import InputError


def tree(root, *names):
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)


def wanted(root):
    return sorted(name for name, _ in wanted_files(root))


def test_git_bursar_and_caches_are_never_sent(tmp_path):
    tree(tmp_path, "a", ".git/config", ".bursar/x/journal.db", "p/__pycache__/q.pyc", ".venv/z")
    assert wanted(tmp_path) == ["a"]


def test_ignore_files_are_read_as_git_reads_them(tmp_path):
    tree(
        tmp_path,
        *("a.log", "keep.log", "sub/b.log", "data/big", "sub/data/big", "build", "sub/build/x"),
        *("top", "sub/top", "x1", "x2", "deep/a/b/c.tmp"),
    )
    rules = "# a comment\n*.log\n!keep.log\n/data/\nbuild/\n/top\nx[1]\ndeep/**/*.tmp\n"
    (tmp_path / ".gitignore").write_text(rules)
    assert wanted(tmp_path) == [
        ".gitignore",
        "build",
        "keep.log",
        "sub/data/big",
        "sub/top",
        "x2",
    ]


def test_what_git_ignores_is_sent_where_bursar_has_an_ignore_file_of_its_own(tmp_path):
    tree(tmp_path, "data", "scratch")
    (tmp_path / ".gitignore").write_text("data\n")
    (tmp_path / ".bursarignore").write_text("scratch\n.*ignore\n")
    assert wanted(tmp_path) == ["data"]


def test_a_directory_that_is_too_large_is_refused_in_words(tmp_path, monkeypatch):
    monkeypatch.setattr(working_files, "LARGEST", 10)
    tree(tmp_path, "a-name-of-more-than-ten-letters")
    with pytest.raises(InputError, match=r"256 MiB.*\.bursarignore"):
        pack_files(tmp_path, tmp_path)


def test_a_resumed_run_has_the_files_that_it_began_with(tmp_path):
    home, work = tmp_path / "home", tmp_path / "work"
    tree(work, "a")
    home.mkdir()
    pack = pack_files(work, home)
    tree(work, "b")
    assert pack_files(work, home) == pack
    with tarfile.open(pack) as opened:
        assert opened.getnames() == ["a"]


def test_the_parts_of_a_file_are_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(working_files, "CHUNK", 1 << 20)
    data = bytes(range(256)) * 10_000
    (tmp_path / "pack").write_bytes(data)
    parts = [part.read() for part in parts_of(tmp_path / "pack")]
    assert b"".join(part.data for part in parts) == data
    assert [part.is_last for part in parts] == [False, False, True]


def test_what_is_packed_is_unpacked_with_modes_and_links(tmp_path):
    tree(tmp_path / "one", "run.sh", "sub/file")
    (tmp_path / "one" / "run.sh").chmod(0o755)
    (tmp_path / "one" / "link").symlink_to("sub/file")
    packed = pack_directory(tmp_path / "one", 1 << 20)
    assert isinstance(packed, bytes)
    from io import BytesIO

    unpack(BytesIO(packed), tmp_path / "two")
    assert (tmp_path / "two" / "run.sh").stat().st_mode & 0o111
    assert (tmp_path / "two" / "link").readlink() == Path("sub/file")


def test_more_than_may_be_sent_is_not_packed(tmp_path):
    tree(tmp_path / "one", "a")
    assert pack_directory(tmp_path / "one", 0) is None
