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
MOST_ENDS: Final = 16
"""ends of the lifeline that are kept for the next processes, each with a descriptor"""
NO_END: Final = -1
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
        """where programs were found: that saves the kernel a search for each process"""
        self._ends: list[int] = []
        """ends of the lifeline whose processes have all ended"""
        self._kept = 0
        """ends that are open, these and those of processes; at most MOST_ENDS"""

    def start(
        self, key: int, argv: tuple[str, ...], environment: dict[bytes, bytes], actions: Actions
    ) -> tuple[int, int]:
        """The number of a new process of this ward, and its end of the lifeline, for `ended`.

        OSError or ValueError if it cannot be. The environment is its own; the mark is added to it.
        """
        environment[WARD_NAME] = self._mark + b"/%d" % key
        put_on(ward_tag(self._tag, key))  # this process has it for a moment, too
        end = self._ends.pop() if self._ends else self._new_end()
        try:
            to_inherit = (*actions, (os.POSIX_SPAWN_DUP2, end, self._lifeline.number))
            pid = self._spawn(argv, environment, to_inherit)
        except BaseException:
            self._ends.append(end)
            raise
        finally:
            put_on(self._tag)
        self._lifeline.tie(end, pid)
        if self._kept > MOST_ENDS:
            self._close(end)
            end = NO_END
        return pid, end

    def ended(self, end: int, *, wholly: bool) -> None:
        """A process ended that had this end of the lifeline, and if wholly, all that it started."""
        if end != NO_END:
            if wholly:
                self._ends.append(end)
            else:
                self._close(end)  # what still runs stays tied to it

    def _new_end(self) -> int:
        end = self._lifeline.open()
        self._kept += 1
        return end

    def _close(self, end: int) -> None:
        os.close(end)
        self._kept -= 1

    def _spawn(
        self, argv: tuple[str, ...], environment: dict[bytes, bytes], actions: Actions
    ) -> int:
        """Start a program where it was found before; if it is no longer there, look for it."""
        name = argv[0]
        known = self._programs.get(name)
        if known is not None:
            try:
                return _spawned(known, argv, environment, actions)
            except (FileNotFoundError, PermissionError):
                if which(name) == known:
                    raise
        found = self._programs[name] = which(name) or name
        return _spawned(found, argv, environment, actions)


def _spawned(
    program: str, argv: tuple[str, ...], environment: dict[bytes, bytes], actions: Actions
) -> int:
    return os.posix_spawnp(
        program,
        argv,
        environment,
        file_actions=actions,
        setpgroup=0,
        setsigmask=(),
        setsigdef=RESET_SIGNALS,
    )


def writing_in(directory: AttemptDirectory) -> Actions:
    """Where a command reads and writes."""
    return (
        NOTHING_TO_READ,
        (os.POSIX_SPAWN_DUP2, directory.stdout, 1),
        (os.POSIX_SPAWN_DUP2, directory.stderr, 2),
    )


def encode(variables: dict[str, str]) -> dict[bytes, bytes]:
    return {os.fsencode(name): os.fsencode(value) for name, value in variables.items()}
