"""Files are read as UTF-8, and what cannot be read is told with its name."""

from __future__ import annotations

import io
import os
import sys
import threading

import pytest

from bursar.formats import files
from bursar.formats.files import read_text
from bursar.model.errors import InputError


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo")
    assert read_text(path, "file") == "one\r\ntwo"


def test_a_dash_is_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("größe".encode())))
    assert read_text("-", "file") == "größe"


def test_a_closed_standard_input_is_reported(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match="standard input: cannot read the list: it is closed"):
        read_text("-", "list")


def test_a_missing_file_and_a_directory_are_reported(tmp_path):
    with pytest.raises(InputError, match=r"no\.txt: cannot read the list: No such file"):
        read_text(tmp_path / "no.txt", "list")
    with pytest.raises(InputError, match="cannot read the list: Is a directory"):
        read_text(tmp_path, "list")


def test_a_name_with_strange_characters_is_reported_on_one_line():
    with pytest.raises(InputError, match=r"a\\x00b: this is not a file name"):
        read_text("a\0b", "list")
    with pytest.raises(InputError, match=r"a\\nb: cannot read the list"):
        read_text("a\nb", "list")


def test_bytes_that_are_no_text_are_reported_with_their_line(tmp_path):
    path = tmp_path / "latin.txt"
    path.write_bytes(b"one\ntwo\nf\xfcnf\n")
    with pytest.raises(InputError, match=r"latin\.txt, line 3: the list is not UTF-8 text"):
        read_text(path, "list")
    assert read_text(path, "list", undecodable="backslashreplace") == "one\ntwo\nf\\xfcnf\n"


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/full"])
def test_a_file_without_end_is_refused(path, monkeypatch):
    monkeypatch.setattr(files, "LARGEST", 2**22)
    with pytest.raises(InputError, match=f"{path}: the list is too large: at most 4 MiB are read"):
        read_text(path, "list")


def test_a_file_that_is_too_large_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LARGEST", 2**22)
    path = tmp_path / "huge"
    path.write_bytes(bytes(2**22))
    assert len(read_text(path, "list")) == 2**22
    path.write_bytes(bytes(2**22 + 1))
    with pytest.raises(InputError, match="huge: the list is too large"):
        read_text(path, "list")


def test_a_named_pipe_is_read_to_its_end(tmp_path):
    """`bursar show <(make)` reads one."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=("x" * 3_000_000,))
    writer.start()
    assert len(read_text(path, "list")) == 3_000_000
    writer.join()
