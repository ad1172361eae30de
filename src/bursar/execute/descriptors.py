"""Files by the descriptors of their directories, so that no link leads astray.

A task may put a link where a directory was. Whatever bursar moves or removes, it reaches from a
directory that it has open, name by name, and follows no link on the way.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PASSED: Final = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""one may go through a directory without the right to list it"""


@contextmanager
def opened(names: Iterable[str], start: int | str = "/") -> Iterator[int]:
    """The directory that is found by going from one to the next; OSError if one is none.

    `start` is a directory that is open, or the path of one, which may be a link.
    """
    if isinstance(start, int):
        descriptor = os.dup(start)
    else:
        descriptor = os.open(start, _PASSED & ~os.O_NOFOLLOW)
    try:
        for name in names:
            following = os.open(name, _PASSED, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = following
        yield descriptor
    finally:
        os.close(descriptor)


def is_there(name: str, directory: int) -> bool:
    """Whether there is anything of this name, if only a link that leads nowhere."""
    with suppress(FileNotFoundError):
        os.stat(name, dir_fd=directory, follow_symlinks=False)
        return True
    return False


def remove(name: str, directory: int, *, as_far_as_possible: bool = False) -> None:
    """A file, a link or a whole directory, if it is there."""
    with suppress(FileNotFoundError):
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            shutil.rmtree(name, as_far_as_possible, dir_fd=directory)
        else:
            os.unlink(name, dir_fd=directory)


def free_name(name: str, directory: int) -> str:
    """The name, or one like it, that nothing has there."""
    found, number = name, 1
    while is_there(found, directory):
        number += 1
        found = f"{name}-{number}"
    return found
