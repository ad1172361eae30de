"""Reading what people wrote: text files, and standard input where a file may be named `-`."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import BinaryIO, Final, Literal

from bursar.model.errors import InputError, one_line

LARGEST: Final = 2**30
"""bytes of what people write; what is larger was named by mistake, or has no end (/dev/zero)"""
_PIECE: Final = 2**20


def read_text(
    path: str | Path, what: str, *, undecodable: Literal["strict", "backslashreplace"] = "strict"
) -> str:
    """The text of a UTF-8 file, without its byte order mark; `-` is standard input.

    Line ends stay as they are. Everything that can go wrong is reported in a line that names the
    file, and `what` it should have been.
    """
    source = source_name(path)
    data = read_bytes(path, what)
    try:
        return data.decode("utf-8-sig", undecodable)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{source}, line {line}: the {what} is not UTF-8 text; convert it"
        ) from None


def stdin_is_given() -> bool:
    """Whether standard input is a file or a pipe; a terminal or /dev/null holds no list."""
    try:
        mode = os.fstat(0).st_mode
    except OSError:  # it is closed
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)


def source_name(path: str | Path) -> str:
    """How messages name a file."""
    return "standard input" if str(path) == "-" else one_line(str(path))


def read_bytes(path: str | Path, what: str) -> bytes:
    """All that is in a file; `-` is standard input. Mistakes are reported as `read_text` does."""
    source = source_name(path)
    try:
        if str(path) != "-":
            with Path(path).open("rb") as file:
                return _all_of(file, source, what)
        if sys.stdin is None:
            raise InputError(f"{source}: cannot read the {what}: it is closed")
        return _all_of(sys.stdin.buffer, source, what)
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise InputError(f"{source}: cannot read the {what}: {why}") from None
    except ValueError:  # a NUL within the name
        raise InputError(f"{source}: this is not a file name") from None


def _all_of(file: BinaryIO, source: str, what: str) -> bytes:
    """Piece by piece: the size of a pipe or a device is not known before it ends."""
    pieces, size = list[bytes](), 0
    while piece := file.read(_PIECE):
        pieces.append(piece)
        size += len(piece)
        if size > LARGEST:
            raise InputError(
                f"{source}: the {what} is too large: at most {LARGEST // 2**20:,} MiB are read;"
                " check the name, or split it"
            )
    return b"".join(pieces)
