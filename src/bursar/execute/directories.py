"""Directories in which commands write, made before they are needed.

To make a directory and two files takes a file system as long as it takes to start a process, and
much longer where many files were deleted lately. So directories are made ahead, while commands run,
for attempts that wait for them to end.

A directory that a process has had is never given to another. One that nobody has reached
(`access.py`) goes on to the next attempt by a new name, if nothing was written to its `stdout` and
`stderr`, and the kernel says that nobody has them open. Of one that was reached and left empty, the
two files go on alone; what is left of it is removed by programs that run meanwhile, since a file
system may wait for its disk to remove a directory.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from fcntl import F_SETLEASE, F_UNLCK, F_WRLCK, fcntl
from shutil import which
from typing import TYPE_CHECKING

from bursar.execute.access import AccessLinks

if TYPE_CHECKING:
    from typing import Final

    from bursar.execute.access import AccessLink

NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
OLD: Final = os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
FILES: Final = ("stdout", "stderr")
MOST_AHEAD: Final = 16
"""directories, each with two open files"""
MOST_EMPTY: Final = 8192
"""directories that stay while commands run: to remove them slows down making new ones"""
BATCH: Final = 64
"""directories that one program removes"""
MOST_AT_ONCE: Final = 4
"""such programs"""
NO_FILES: Final = tuple(
    (os.POSIX_SPAWN_OPEN, number, "/dev/null", os.O_RDWR, 0) for number in range(3)
)


class AttemptDirectory:
    """A directory with `stdout` and `stderr`, which are open until `close`."""

    __slots__ = ("link", "name", "stderr", "stdout")

    def __init__(self, name: str, stdout: int, stderr: int, link: AccessLink | None) -> None:
        self.name = name
        self.stdout = stdout
        self.stderr = stderr
        self.link = link
        """by which its attempt gets to it; None: there are no such links here"""

    def close(self) -> None:
        os.close(self.stdout)
        os.close(self.stderr)


class AttemptDirectories:
    """The directories of attempts, by their numbers, and those made ahead.

    Names are looked up from the descriptor of `root`: that saves the kernel a walk from the top for
    every file, and what is put in the place of `root` meanwhile is not touched.
    """

    def __init__(self, root: str) -> None:
        self._path = root
        self._root = -1
        """the same, open; -1: not yet"""
        self._links: AccessLinks | None = None
        """None: not yet"""
        self._link_of: dict[int, AccessLink] = {}
        """by attempt that has begun and not ended"""
        self._ahead: dict[int, AttemptDirectory] = {}
        """made before they are needed, by attempt; at most MOST_AHEAD"""
        self._expected: set[int] = set()
        """attempts for which one may be made; none that has begun, or will not begin"""
        self._blank: list[tuple[str, AccessLink | None]] = []
        """directories of before in which nothing was written, and how they could be reached"""
        self._empty: list[str] = []
        """those whose files went on, to be removed"""
        self._rmdir = which("rmdir")
        self.removers: set[int] = set()
        """processes that remove some; waiting for them discards them"""
        self._mode = stat.S_IFREG | 0o666 & ~_umask()
        """of a file that nobody has changed"""

    def path(self, attempt: int) -> str:
        """By which an attempt that has begun gets to its directory."""
        link = self._link_of.get(attempt)
        return f"{self._path if link is None else link.path}/{attempt}"

    def expect(self, attempt: int) -> None:
        """It begins as soon as a command ends on its machine."""
        self._expected.add(attempt)

    def prepare(self) -> None:
        """Make those of attempts that begin soon. If that fails, `take` will tell why."""
        for attempt in self._expected:
            if attempt not in self._ahead and len(self._ahead) < MOST_AHEAD:
                with suppress(OSError):
                    self._ahead[attempt] = self._make(str(attempt))
        self._expected.clear()

    def take(self, attempt: int) -> AttemptDirectory:
        """The directory of an attempt; OSError if it cannot be made."""
        self._expected.discard(attempt)
        found = self._ahead.pop(attempt, None) or self._make(str(attempt))
        if found.link is not None:
            self._link_of[attempt] = found.link
        return found

    def put_back(self, attempt: int, directory: AttemptDirectory) -> None:
        """No process has had it, and none will for now."""
        self._link_of.pop(attempt, None)
        self._ahead[attempt] = directory

    def forget(self, attempt: int) -> None:
        """The attempt will not begin."""
        self._expected.discard(attempt)
        directory = self._ahead.pop(attempt, None)
        if directory is not None:
            directory.close()
            self._blank.append((directory.name, directory.link))

    def _make(self, name: str) -> AttemptDirectory:
        if self._root < 0:
            self._root = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        if self._links is None:
            self._links = AccessLinks(self._path)
        if not self._blank:
            return self._new(name, None, self._links.take())
        blank, link = self._blank.pop()
        if link is not None:
            with suppress(OSError):
                return _renamed(blank, name, link, self._root)
            self._links.put_back(link)
        directory = self._new(name, blank, self._links.take())
        self._empty.append(blank)
        if len(self._empty) >= MOST_EMPTY:
            self.tidy()
        return directory

    def _new(self, name: str, blank: str | None, link: AccessLink | None) -> AttemptDirectory:
        """`blank`: a directory whose files may be free; they are, or stay there.

        A directory that was made before and not used is as good as a new one.
        """
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=self._root)
        stdout = _file(f"{name}/stdout", self._root, blank and f"{blank}/stdout")
        try:
            stderr = _file(f"{name}/stderr", self._root, blank and f"{blank}/stderr")
        except OSError:
            os.close(stdout)
            raise
        return AttemptDirectory(name, stdout, stderr, link)

    def tidy(self, batch: int = BATCH) -> None:
        """Have empty directories removed. What is not is removed with all the others at the end."""
        while self._rmdir and self._empty and len(self.removers) < MOST_AT_ONCE:
            names = [f"{self._path}/{name}" for name in self._empty[:batch]]
            argv = (self._rmdir, "--", *names)
            try:
                pid = os.posix_spawn(self._rmdir, argv, os.environb, file_actions=NO_FILES)
            except OSError:
                return
            self.removers.add(pid)
            del self._empty[:batch]

    def tidy_at_last(self) -> None:
        """The same for all of them, as nobody needs the computer any more."""
        self.tidy(max(1, -(-len(self._empty) // MOST_AT_ONCE)))

    def leave(self, attempt: int) -> bool:
        """Whether the attempt, all of whose processes have ended, wrote anything."""
        name, link = str(attempt), self._link_of.get(attempt)
        try:
            wrote = len(os.listdir(f"{self._path}/{name}")) != len(FILES)  # noqa: PTH208
            stdout = os.lstat(f"{name}/stdout", dir_fd=self._root)
            stderr = os.lstat(f"{name}/stderr", dir_fd=self._root)
        except OSError:
            wrote = True
        if wrote or stdout.st_size or stderr.st_size:
            self.keep(attempt)
            return True
        mode = self._mode
        if stdout.st_mode == stderr.st_mode == mode and stdout.st_nlink == stderr.st_nlink == 1:
            self._link_of.pop(attempt, None)
            self._blank.append((name, link))
        else:
            self.keep(attempt)
        return False

    def keep(self, attempt: int) -> None:
        """The directory of the attempt, which has ended, is nobody else's."""
        link = self._link_of.pop(attempt, None)
        if link is not None and self._links is not None:
            self._links.put_back(link)

    def close(self) -> None:
        """Leave word when everything had ended: what is written later is not of an attempt."""
        with suppress(OSError):
            os.close(os.open(f"{self._path}/over", NEW | os.O_NOFOLLOW, 0o600))


def _umask() -> int:
    """It can be read by setting it only."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _file(name: str, root: int, blank: str | None) -> int:
    """A new file, or one that might as well be new, open for writing."""
    if blank is not None:
        with suppress(OSError):
            return _taken_over(blank, name, root)
    return os.open(name, NEW, 0o666, dir_fd=root)


def _taken_over(old: str, new: str, root: int) -> int:
    """Move a file and open it; OSError if it is not empty, or if anybody else may write to it."""
    os.rename(old, new, src_dir_fd=root, dst_dir_fd=root)
    try:
        return _opened_alone(new, root)
    except OSError:
        os.unlink(new, dir_fd=root)
        raise


def _opened_alone(name: str, root: int) -> int:
    """Open a file that moved; OSError if it is not empty, or if anybody else may write to it.

    A lease of that kind is granted only to the one who has the file open alone; descriptors that
    another process has inherited or been sent count. Nobody can come by its old name meanwhile.
    """
    descriptor = os.open(name, OLD, dir_fd=root)
    try:
        fcntl(descriptor, F_SETLEASE, F_WRLCK)
        fcntl(descriptor, F_SETLEASE, F_UNLCK)
        if os.fstat(descriptor).st_size:
            raise OSError("somebody wrote to it")
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _renamed(old: str, new: str, link: AccessLink, root: int) -> AttemptDirectory:
    """A directory under its new name; OSError if anybody has reached it by its old one, ever.

    That is asked when the old name is gone, so that nobody can reach it after the question.
    """
    os.rename(old, new, src_dir_fd=root, dst_dir_fd=root)
    stdout = -1
    try:
        if link.was_followed():
            raise OSError("somebody has reached it")
        stdout = _opened_alone(f"{new}/stdout", root)
        stderr = _opened_alone(f"{new}/stderr", root)
    except OSError:
        if stdout >= 0:
            os.close(stdout)
        os.rename(new, old, src_dir_fd=root, dst_dir_fd=root)
        raise
    return AttemptDirectory(new, stdout, stderr, link)
