"""A tag on every process of a run that it cannot lose by accident.

A mark in the environment is gone after `env -i`, a session after `setsid`, a parent after a double
fork, an open file after a daemon has closed all it inherited. Limits of resources stay: children
inherit them, and a new program keeps them. There is one that Linux keeps and does not enforce
(`RLIMIT_LOCKS`, meant for 2.4; `ulimit -x` in a shell), and anybody may set and read it. The tag:

    bit 62 | 34 bits that name the run | 28 bits that name the ward

No other program writes a number of that size there. Where the limit cannot be set (an administrator
has set a small one), there are no tags, and the marks in the environment must do.
"""

from __future__ import annotations

import resource
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Final

LIMIT: Final = 10
"""RLIMIT_LOCKS, which the module does not name"""
RUN_BITS: Final = 34
WARD_BITS: Final = 28
WARD_MASK: Final = (1 << WARD_BITS) - 1
SIGN: Final = 1 << (RUN_BITS + WARD_BITS)
"""all tags have this bit, and none above it"""


def run_tag(mark: str) -> int:
    """The tag that all processes of the run with this mark have, but for the ward's bits."""
    from hashlib import blake2b  # late: the child programs get their tag

    number = int.from_bytes(blake2b(mark.encode(errors="surrogateescape")).digest()[:8])
    return SIGN | (number >> (64 - RUN_BITS)) << WARD_BITS


def ward_tag(run: int, key: int) -> int:
    """The tag of a ward; 0: the warden itself."""
    return run | (key & WARD_MASK)


def ward_in(tag: int) -> int:
    """The ward of a tag; workers have negative numbers."""
    number = tag & WARD_MASK
    return number - WARD_MASK - 1 if number > WARD_MASK >> 1 else number


HARD: Final = resource.getrlimit(LIMIT)[1]
"""what the limit may be raised to, which stays as it is"""


def put_on(tag: int) -> bool:
    """Give this process a tag, which it hands on to those it starts; False: that is forbidden."""
    try:
        resource.setrlimit(LIMIT, (tag, HARD))
    except (ValueError, OSError):
        return False
    return True


def tag_of(pid: int) -> int | None:
    """The tag of a process, if it has one and if we may look."""
    try:
        limit = resource.prlimit(pid, LIMIT)[0]
    except PermissionError:
        limit = _tag_in_proc(pid)
    except (ProcessLookupError, ValueError, OSError):
        return None
    return limit if limit >> (RUN_BITS + WARD_BITS) == 1 else None


def is_of_run(tag: int | None, run: int) -> bool:
    return tag is not None and tag & ~WARD_MASK == run


def _tag_in_proc(pid: int) -> int:
    """The same for a process that has become another user's."""
    try:
        with open(f"/proc/{pid}/limits", "rb") as file:  # noqa: PTH123
            lines = file.read().splitlines()
    except OSError:
        return -1
    words = next((line.split() for line in lines if line.startswith(b"Max file locks")), [])
    return int(words[3]) if len(words) > 3 and words[3].isdigit() else -1
