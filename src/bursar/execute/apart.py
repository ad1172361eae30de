"""A directory for very many directories, apart from all others on the disk.

ext4 keeps what is in one directory close together, and without a journal of its own it steps around
each inode that was deleted in the last minutes: to make a directory where thousands were removed
takes it ten times as long. For a moment the directory above has a flag which says that what is made
in it is not related to its neighbours (`chattr +T`, the Orlov allocator): it then picks a group of
blocks by the new name. Other file systems know no such thing, and none is needed.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fcntl import ioctl
from pathlib import Path
from secrets import token_hex
from typing import Final

GET_FLAGS: Final = 0x80086601
SET_FLAGS: Final = 0x40086602
"""FS_IOC_GETFLAGS and FS_IOC_SETFLAGS of ioctl_iflags(2), for 64 bits; others do not know them"""
TOP: Final = 0x00020000
"""FS_TOPDIR_FL"""
FLAGS: Final = struct.Struct("@i4x")


def make_apart(path: Path) -> None:
    """Make a directory, if there is nothing of its name; the one above must be there."""
    if os.path.lexists(path):
        return
    parent = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        new = f"{path.name}.{token_hex(8)}"
        with _unrelated(parent):
            os.mkdir(new, dir_fd=parent)
        os.rename(new, path.name, src_dir_fd=parent, dst_dir_fd=parent)
    finally:
        os.close(parent)


@contextmanager
def _unrelated(directory: int) -> Iterator[None]:
    """What is made in it meanwhile is not related to what else is there, where that can be said."""
    before = None
    with suppress(OSError):
        (before,) = FLAGS.unpack(ioctl(directory, GET_FLAGS, bytes(FLAGS.size)))
        ioctl(directory, SET_FLAGS, FLAGS.pack(before | TOP))
    try:
        yield
    finally:
        if before is not None:
            with suppress(OSError):
                ioctl(directory, SET_FLAGS, FLAGS.pack(before))
