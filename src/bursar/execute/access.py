"""Links that tell whether any process has reached a directory of an attempt.

A task gets the path of its directory as `outputs/.attempts-3/17`, where `.attempts-3` is a symbolic
link to `.attempts`. Its times are set to 0, and the kernel sets that of the last access again as
soon as anybody follows the link. As long as it is 0, no process has opened, entered or looked at
what lies behind it. A link is for one attempt at a time, and for its directory as long as that may
be used again.

Where times of access are not kept (a file system mounted with `noatime`), there are no such links.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Final

TRIES: Final = 1000
"""names that may be taken by links of before"""


class AccessLink:
    """One such link; `parent` is the directory in which it lies, open."""

    __slots__ = ("_name", "_parent", "path")

    def __init__(self, path: str, parent: int, target: str) -> None:
        """OSError if it cannot be made, or would not tell."""
        self.path = path
        self._name = os.path.basename(path)  # noqa: PTH119
        self._parent = parent
        os.symlink(target, self._name, dir_fd=parent)
        try:
            self._set_times()
            os.stat(self._name, dir_fd=parent)
            if not self.was_followed():
                raise OSError("times of access are not kept here")
            self.reset()
            if self.was_followed():
                raise OSError("times of access cannot be set here")
        except OSError:
            os.unlink(self._name, dir_fd=parent)
            raise

    def was_followed(self) -> bool:
        """Since it was made or reset; also if it is no longer the link that was made."""
        found = self._status()
        return found.st_atime_ns != 0 or found.st_mtime_ns != 0

    def reset(self) -> None:
        """For the next attempt. OSError if somebody has put another file in its place."""
        if self._status().st_mtime_ns != 0:  # which following does not change
            raise OSError("another file is in its place")
        self._set_times()

    def _set_times(self) -> None:
        os.utime(self._name, ns=(0, 0), dir_fd=self._parent, follow_symlinks=False)

    def _status(self) -> os.stat_result:
        return os.lstat(self._name, dir_fd=self._parent)


class AccessLinks:
    """The links to one directory, which lie beside it."""

    def __init__(self, directory: str) -> None:
        """OSError if there is no such directory."""
        self._directory = directory
        parent, self._target = os.path.split(directory)
        self._parent = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._made = 0
        self._free: list[AccessLink] = []
        self._are_reliable = True

    def take(self) -> AccessLink | None:
        """One that nobody has followed; None: there are none here."""
        while self._free:
            link = self._free.pop()
            with suppress(OSError):
                if link.was_followed():
                    link.reset()
                return link
        return self._make() if self._are_reliable else None

    def put_back(self, link: AccessLink) -> None:
        """No directory that was reached by it will be used again."""
        self._free.append(link)

    def _make(self) -> AccessLink | None:
        for _ in range(TRIES):
            self._made += 1
            try:
                return AccessLink(f"{self._directory}-{self._made}", self._parent, self._target)
            except FileExistsError:
                continue
            except OSError:
                break
        self._are_reliable = False
        return None
