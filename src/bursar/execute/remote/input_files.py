"""The files that a task reads, on their way to its machine: each is sent there once."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from bursar.execute.remote.machine_link import InputPart
from bursar.execute.remote.messages import CHUNK
from bursar.execute.stage import walk

Version = tuple[int, ...]
"""which file of a name it was: another one of the same name is sent again"""


def parts_to_send(source: str, name: str, sent: dict[str, Version]) -> Iterator[InputPart]:
    """Parts of a file, or of all files of a directory, that `sent` does not have yet."""
    for path, called, status in _files(source, name):
        version = (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size)
        if sent.get(called) == version:
            continue
        sent[called] = version
        size = 0 if stat.S_ISDIR(status.st_mode) else status.st_size
        for offset in range(0, max(1, size), CHUNK):
            yield InputPart(path, called, offset, status.st_mode, offset + CHUNK >= size)


def _files(source: str, name: str) -> Iterator[tuple[str, str, os.stat_result]]:
    """It, or the directory and the files in it; links are followed as where files are copied here.

    OSError if it cannot be read.
    """
    status = os.stat(source)  # noqa: PTH116
    yield source, name, status
    if stat.S_ISDIR(status.st_mode):
        for path, inner in walk(source):
            if os.path.isfile(path) or os.path.isdir(path):  # noqa: PTH112, PTH113
                yield path, f"{name}/{inner}", os.stat(path)  # noqa: PTH116
