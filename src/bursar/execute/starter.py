"""How the warden starts a process: a leader of its own group, with mark, tag and lifeline.

It stays in the warden's session, which has no terminal: a session for each would cost the kernel a
group of its scheduler every time.
"""

from __future__ import annotations

import os
import signal
from shutil import which
from typing import TYPE_CHECKING

from bursar.execute.processes import WARD
from bursar.execute.tags import put_on, ward_tag

if TYPE_CHECKING:
    from typing import Any, Final, TypeAlias

    from bursar.execute.directories import AttemptDirectory
    from bursar.execute.lifeline import Lifeline

    Actions: TypeAlias = tuple[tuple[Any, ...], ...]
    """what becomes of the descriptors"""

NOTHING_TO_READ: Final = (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0)
WARD_NAME: Final = WARD.encode()
RESET_SIGNALS: Final = (
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGTERM,
    signal.SIGPIPE,
    signal.SIGCHLD,
    signal.SIGXFSZ,
    signal.SIGIO,
)
"""what Python or the warden handles, and what it starts must not inherit"""


class Starter:
    """Starts processes of one run."""

    def __init__(self, mark: str, tag: int, lifeline: Lifeline) -> None:
        self._mark = os.fsencode(mark)
        self._tag = tag
        self._lifeline = lifeline
        self._programs: dict[str, str] = {}

    def start(
        self, key: int, argv: tuple[str, ...], environment: dict[bytes, bytes], actions: Actions
    ) -> int:
        """The number of a new process of this ward; OSError or ValueError if it cannot be.

        The environment is its own; the mark is added to it.
        """
        environment[WARD_NAME] = self._mark + b"/%d" % key
        put_on(ward_tag(self._tag, key))  # this process has it for a moment, too
        end = self._lifeline.open()
        try:
            pid = os.posix_spawnp(
                self._program(argv[0]),
                argv,
                environment,
                file_actions=(*actions, (os.POSIX_SPAWN_DUP2, end, self._lifeline.number)),
                setpgroup=0,
                setsigmask=(),
                setsigdef=RESET_SIGNALS,
            )
        except BaseException:
            os.close(end)
            raise
        finally:
            put_on(self._tag)
        self._lifeline.tie(end, pid)
        return pid

    def _program(self, name: str) -> str:
        """Where a program is: to look it up once saves the kernel a search for each process."""
        found = self._programs.get(name)
        if found is None or not os.access(found, os.X_OK):
            found = self._programs[name] = which(name) or name
        return found


def writing_in(directory: AttemptDirectory) -> Actions:
    """Where a command reads and writes."""
    return (
        NOTHING_TO_READ,
        (os.POSIX_SPAWN_DUP2, directory.stdout, 1),
        (os.POSIX_SPAWN_DUP2, directory.stderr, 2),
    )


def encode(variables: dict[str, str]) -> dict[bytes, bytes]:
    return {os.fsencode(name): os.fsencode(value) for name, value in variables.items()}
