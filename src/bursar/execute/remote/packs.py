"""Directories as bytes: what an attempt wrote, and the working directory of a run.

A compressed tar. What is unpacked stays in its directory: links that lead out of it, devices and
absolute names are refused (`tarfile`'s filter `data`).
"""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO, Final

LEVEL: Final = 1
"""of compression: fast"""


def pack_directory(directory: Path, most: int) -> bytes | Path | None:
    """All that is in it: as bytes if that is little, else as a file beside it; None: too much.

    `most` is for the files as they are.
    """
    names = sorted(os.listdir(directory))  # noqa: PTH208 (names alone are wanted)
    size = size_of(directory, most)
    if size > most:
        return None
    if size <= SMALL:
        buffer = io.BytesIO()
        write_pack(buffer, directory, names)
        return buffer.getvalue()
    target = directory.with_name(f"{directory.name}.pack")
    with target.open("wb") as file:
        write_pack(file, directory, names)
    return target


SMALL: Final = 1 << 18
"""bytes that travel together with a report"""


def write_pack(file: BinaryIO, directory: Path, names: Iterable[str]) -> None:
    """Pack these files of a directory; what vanishes meanwhile is left out."""
    with tarfile.open(fileobj=file, mode="w:gz", compresslevel=LEVEL) as pack:
        for name in names:
            try:
                pack.add(directory / name, arcname=name, filter=_plain)
            except FileNotFoundError:
                continue


def unpack(file: BinaryIO, directory: Path) -> None:
    """Unpack into a directory, which is made; OSError or tarfile.TarError if that fails."""
    directory.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=file, mode="r:gz") as pack:
        pack.extractall(directory, filter="data")


def size_of(directory: Path, most: int) -> int:
    """Bytes of all files below; counting ends when there are more than `most`."""
    total = 0
    for place, _, names in os.walk(directory):
        for name in names:
            try:
                total += os.lstat(os.path.join(place, name)).st_size  # noqa: PTH118
            except FileNotFoundError:
                continue
        if total > most:
            break
    return total


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Files, directories and links; owners stay here, since they mean nothing elsewhere."""
    if not (member.isfile() or member.isdir() or member.issym() or member.islnk()):
        return None
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member
