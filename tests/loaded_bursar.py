"""bursar as a process of its own that need not load its modules first: hundreds of tests start it.

A server has them loaded, and forks for each call. What bursar loads late, as numba, is loaded late
here, too. Processes that begin from nothing are those of `Popen`, of pages and of `make run`.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
EARLY = ("PYTHON", "NUMBA", "LD_", "LANG", "LC_")
"""variables with such names count before a program begins"""


class LoadedBursar:
    """The server, as long as these tests run."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.loaded_bursar", str(theirs.fileno())],
            cwd=ROOT,
            pass_fds=[theirs.fileno()],
        )
        theirs.close()

    def can_call(self, environment: dict[str, str]) -> bool:
        """Whether it makes no difference that the server began with our own variables."""
        return _early(environment) == _early(dict(os.environ))

    def call(
        self, words: tuple[str, ...], path: Path, environment: dict[str, str], timeout: float
    ) -> tuple[int, str, str]:
        """Exit code, and what was printed on stdout and stderr."""
        ours, theirs = socket.socketpair()
        pipes = [os.pipe(), os.pipe()]
        given = [theirs.fileno(), *(write for _, write in pipes)]
        socket.send_fds(self._socket, [b"."], given)
        for number in given[1:]:
            os.close(number)
        theirs.close()
        with ours, ours.makefile("r") as answers:
            call = {"words": list(map(str, words)), "path": str(path), "environment": environment}
            ours.sendall(json.dumps(call).encode())
            ours.shutdown(socket.SHUT_WR)
            process = int(answers.readline())
            clock = threading.Timer(timeout, os.kill, (process, signal.SIGKILL))
            clock.start()
            try:
                out, err = _read_all([read for read, _ in pipes])
                code = int(answers.readline())
            finally:
                clock.cancel()
        return code, out, err

    def close(self) -> None:
        self._socket.close()
        self._process.wait(timeout=60)


def _early(environment: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(EARLY)}


def _read_all(numbers: list[int]) -> list[str]:
    """To the end, side by side: a full pipe would hold up the other."""
    texts = [""] * len(numbers)

    def read(at: int) -> None:
        with os.fdopen(numbers[at], encoding="utf-8") as file:
            texts[at] = file.read()

    threads = [threading.Thread(target=read, args=(at,)) for at in range(len(numbers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return texts


# --- the server -----------------------------------------------------------------------------------


def serve(control: socket.socket) -> dict[str, Any] | None:
    """Fork for each call; returns the call in the process that is to do it, and None at the end."""
    while True:
        data, given, _, _ = socket.recv_fds(control, 1, 3)
        if not data:
            return None
        keeper = os.fork()
        if not keeper:
            control.close()
            return _keep(socket.socket(fileno=given[0]), given[1:])
        for number in given:
            os.close(number)
        _bury()


def _bury() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _keep(caller: socket.socket, outputs: list[int]) -> dict[str, Any]:
    """Fork again: one does the call, and the other tells how it ended."""
    with caller.makefile("rb") as file:
        call: dict[str, Any] = json.loads(file.read())
    process = os.fork()
    if not process:
        caller.close()
        for number, ours in zip(outputs, (1, 2), strict=True):
            os.dup2(number, ours)
            os.close(number)
        return call
    for number in (*outputs, 1, 2):
        os.close(number)
    caller.sendall(f"{process}\n".encode())
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    caller.sendall(f"{code}\n".encode())
    os._exit(0)


def _begin(call: dict[str, Any]) -> None:
    from bursar.cli.main import main

    os.chdir(call["path"])
    os.environ.clear()
    os.environ.update(call["environment"])
    sys.argv = [str(ROOT / "src" / "bursar" / "__main__.py"), *call["words"]]
    sys.path[0] = call["path"]
    main()


def _load() -> None:
    from bursar.cli.main import VERBS

    for verb in VERBS:
        import_module(f"bursar.cli.{verb}")
    if "numba" in sys.modules:
        raise RuntimeError("bursar loads numba before it needs it")
    gc.freeze()


if __name__ == "__main__":
    _load()
    todo = serve(socket.socket(fileno=int(sys.argv[1])))
    if todo:
        _begin(todo)
    else:
        _bury()
