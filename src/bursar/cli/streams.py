"""What is printed where nobody reads it: a full disk, a closed descriptor, a reader that is gone.

A run goes on whatever becomes of its messages: they are dropped. Data that was asked for and cannot
be written is said in one line.
"""

from __future__ import annotations

import os
import sys
from io import BufferedWriter, FileIO, TextIOWrapper
from typing import TYPE_CHECKING, Any, Final

from bursar.model.errors import BursarError, DiskError

if TYPE_CHECKING:
    from typing import TextIO

    from _typeshed import ReadableBuffer

STDOUT: Final = 1
STDERR: Final = 2


class StdoutError(DiskError):
    """What was asked for cannot be written where it goes."""


class ReaderGoneError(BursarError):
    """Who read our output has gone, as `head` does: no mistake, and nothing more to say."""

    exit_code = 0


def secure_streams() -> None:
    """Let stdout and stderr of this process be as the module says; those of a caller stay."""
    _open_what_is_closed()
    sys.stdout = _secured(sys.stdout, sys.__stdout__, _Data(STDOUT, "wb", closefd=False))
    sys.stderr = _secured(sys.stderr, sys.__stderr__, _Messages(STDERR, "wb", closefd=False))


def drop_output() -> None:
    """What could not be written is not tried again at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), STDOUT)


class _Data(FileIO):
    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise ReaderGoneError from None
        except OSError as error:
            raise StdoutError(f"cannot write to standard output: {error.strerror}") from None


class _Messages(FileIO):
    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes  # there is nobody to tell


def _open_what_is_closed() -> None:
    """A file that is opened later must not get the number of a stream."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= STDERR:
        os.set_inheritable(number, True)
    os.close(number)


def _secured(stream: Any, original: TextIO | None, raw: FileIO) -> Any:
    if stream is not original:
        return stream
    as_before: dict[str, Any] = {"encoding": "utf-8", "errors": "backslashreplace"}
    if original is not None:
        as_before = {name: getattr(original, name) for name in as_before}
    is_shown = raw.fileno() == STDERR or raw.isatty()
    return TextIOWrapper(BufferedWriter(raw), line_buffering=is_shown, **as_before)
