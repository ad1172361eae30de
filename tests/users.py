"""A second user of this computer, where root can be two."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager

NOBODY = 65534


def as_nobody(do: Callable[[], int]) -> tuple[int, int]:
    """Fork a process of another user that does this; its number, and a pipe that it writes to."""
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        return child, reader
    code = 70
    try:
        os.dup2(writer, 1)
        os.dup2(writer, 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        code = do()
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


@contextmanager
def foreign(hold: Callable[[], object]) -> Iterator[int]:
    """A process of another user that has got hold of something, and keeps it meanwhile."""
    end, ended = os.pipe()

    def wait() -> int:
        os.close(ended)
        held = hold()
        os.write(1, b"held")
        os.read(end, 1)
        return 0 if held is not None else 1

    child, reader = as_nobody(wait)
    try:
        assert os.read(reader, 4) == b"held", os.read(reader, 9999)
        yield child
    finally:
        os.close(ended)
        os.waitpid(child, 0)
        os.close(reader)
        os.close(end)
