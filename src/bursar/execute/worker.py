"""A worker: a child program that runs Python calls, one after the other.

It is started by the warden, on one machine, and talks to bursar over its own socket pair. Each
frame it gets is a call, each frame it sends is what became of it. It never decides anything: what
takes too long or is no longer wanted is ended by killing the worker.
"""

from __future__ import annotations

import os
import pickle
import resource
import socket
import sys
import time
from collections import OrderedDict
from typing import TYPE_CHECKING

from bursar.execute.pickling import pack
from bursar.execute.wire import read_frame, write_frame

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

MOST_FUNCTIONS: Final = 128
"""a worker remembers this many functions, and forgets the one it got first; bursar counts along"""


class Functions:
    """Functions by number, as they came; they are unpickled when first called."""

    def __init__(self) -> None:
        self._known: OrderedDict[int, Any] = OrderedDict()

    def get(self, number: int, code: bytes) -> Callable[..., Any]:
        """The function of this number; `code` holds it if it was not sent before."""
        if code:
            if len(self._known) >= MOST_FUNCTIONS:
                self._known.popitem(last=False)
            self._known[number] = code
        function = self._known[number]
        if isinstance(function, bytes):
            function = self._known[number] = pickle.loads(function)  # noqa: S301
        return function  # type: ignore[no-any-return]


def serve(link: socket.socket) -> None:
    """Run calls until bursar closes the connection."""
    functions = Functions()
    while (frame := read_frame(link)) is not None:
        (attempt, task, directory, number, code_size), body = frame
        os.environ["BURSAR_TASK"] = str(task)
        os.environ["BURSAR_ATTEMPT"] = str(attempt)
        os.environ["BURSAR_OUTPUT_DIR"] = directory
        began, cpu = time.perf_counter_ns(), time.process_time_ns()
        kind, text, data = _call(functions, number, body[:code_size], body[code_size:])
        runtime = (time.perf_counter_ns() - began) // 1000
        cpu = (time.process_time_ns() - cpu) // 1000
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        wrote = os.access(directory, os.F_OK)
        _flush()
        write_frame(link, (attempt, kind, runtime, cpu, memory, wrote, text), data)


def _call(functions: Functions, number: int, code: bytes, data: bytes) -> tuple[str, str, bytes]:
    """What became of a call: `value`, `raised`, or `unpicklable`; a text; a pickle."""
    try:
        function = functions.get(number, code)
        args, kwargs = pickle.loads(data)  # noqa: S301
        value = function(*args, **kwargs)
    except BaseException as error:  # whatever a call raises is its answer
        return _pack_error(error)
    try:
        return "value", "", pack(value)
    except Exception as error:
        kind = type(value).__name__
        return "unpicklable", f"the result, of type {kind}, cannot be pickled: {error}", b""


def _pack_error(error: BaseException) -> tuple[str, str, bytes]:
    """An error with its traceback as text; an error that cannot travel is told in words."""
    import traceback

    inner = error.__traceback__.tb_next if error.__traceback__ else None
    text = "".join(traceback.format_exception(error.with_traceback(inner)))
    try:
        data = pack(error)
        pickle.loads(data)  # noqa: S301
    except Exception:
        return "unpicklable", text, b""
    return "raised", text, data


def _flush() -> None:
    """The worker ends by a signal, so nothing may wait in a buffer; nor matter if nobody reads."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue


def output_dir() -> str:
    """For a call: the directory whose files become part of its task's output."""
    directory = os.environ["BURSAR_OUTPUT_DIR"]
    os.makedirs(directory, exist_ok=True)  # noqa: PTH103
    return directory


def main() -> None:
    """Argument: the connection's descriptor."""
    descriptor = int(sys.argv[1])
    os.set_inheritable(descriptor, False)
    try:
        serve(socket.socket(fileno=descriptor))
    except (BrokenPipeError, ConnectionResetError):
        return  # bursar is gone, and so will be this process
