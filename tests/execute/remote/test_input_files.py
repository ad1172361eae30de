"""Files that tasks read are sent to a machine once, and again only if they are others."""

import os

import pytest

from bursar.execute.remote import messages as m
from bursar.execute.remote.input_files import parts_to_send


def sent(parts):
    return [part.read() for part in parts]


def test_a_file_goes_in_parts_and_only_once(tmp_path):
    data = os.urandom(2 * m.CHUNK + 5)
    (tmp_path / "big").write_bytes(data)
    known = {}
    parts = sent(parts_to_send(str(tmp_path / "big"), "in/big", known))
    assert b"".join(part.data for part in parts) == data
    assert [(part.name, part.offset, part.is_last) for part in parts] == [
        ("in/big", 0, False),
        ("in/big", m.CHUNK, False),
        ("in/big", 2 * m.CHUNK, True),
    ]
    assert not sent(parts_to_send(str(tmp_path / "big"), "in/big", known))


def test_another_file_of_the_same_name_is_sent_again(tmp_path):
    (tmp_path / "part").write_text("one")
    known = {}
    assert sent(parts_to_send(str(tmp_path / "part"), "part", known))
    (tmp_path / "new").write_text("two")
    (tmp_path / "new").replace(tmp_path / "part")
    (again,) = sent(parts_to_send(str(tmp_path / "part"), "part", known))
    assert again.data == b"two"


def test_a_directory_goes_with_all_that_is_in_it_and_links_are_followed(tmp_path):
    (tmp_path / "d/empty").mkdir(parents=True)
    (tmp_path / "elsewhere").write_text("text")
    (tmp_path / "d/link").symlink_to(tmp_path / "elsewhere")
    parts = sent(parts_to_send(str(tmp_path / "d"), "d", {}))
    assert [(part.name, part.data) for part in parts] == [
        ("d", b""),
        ("d/empty", b""),
        ("d/link", b"text"),
    ]


def test_an_empty_file_is_a_file(tmp_path):
    (tmp_path / "none").touch(mode=0o755)
    (part,) = sent(parts_to_send(str(tmp_path / "none"), "none", {}))
    assert (part.data, part.is_last, part.mode & 0o777) == (b"", True, 0o755)


def test_what_is_not_there_is_an_error_before_anything_is_sent(tmp_path):
    with pytest.raises(FileNotFoundError):
        sent(parts_to_send(str(tmp_path / "gone"), "gone", {}))


def test_links_without_an_end_devices_and_what_leads_nowhere_are_left_out(tmp_path):
    directory = tmp_path / "d"
    directory.mkdir()
    (directory / "a").write_text("a")
    for name, leads in (("latest", "."), ("up", ".."), ("zero", "/dev/zero"), ("gone", "nowhere")):
        (directory / name).symlink_to(leads)
    os.mkfifo(directory / "pipe")
    found = parts_to_send(str(directory), "d", {})
    assert [part.name for part in sent(found)] == ["d", "d/a"]
