"""A worker: a child program that runs Python calls, one after the other.

It is started by the warden, on one machine, and talks to bursar over its own pair of sockets. Each
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
from typing import TYPE_CHECKING

from bursar.execute.packets import LARGEST_PACKET, read_frame, write_frame
from bursar.execute.pickling import pack

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_FUNCTIONS: dict[int, Any] = {}
"""functions by number, as bursar sent them; they are unpickled when first called"""


def fetch(number: int) -> Callable[..., Any]:
    """The function of this number, in a worker."""
    function = _FUNCTIONS[number]
    if isinstance(function, bytes):
        function = _FUNCTIONS[number] = pickle.loads(function)  # noqa: S301
    return function  # type: ignore[no-any-return]


def serve(link: socket.socket, attempts: str) -> None:
    """Run calls until bursar closes the connection."""
    process, buffer = os.getpid(), memoryview(bytearray(LARGEST_PACKET))
    write_frame(link, None)  # it is there
    while (frame := read_frame(link, buffer)) is not None:
        (attempt, task, number, news), body = frame
        directory = f"{attempts}/{attempt}"
        os.environ["BURSAR_TASK"] = str(task)
        os.environ["BURSAR_ATTEMPT"] = str(attempt)
        os.environ["BURSAR_OUTPUT_DIR"] = directory
        data = memoryview(body) if news is None else _learn(body, *news)
        del frame, body
        began, cpu = time.perf_counter_ns(), time.process_time_ns()
        kind, text, result = _call(number, data)
        del data
        if os.getpid() != process:
            os._exit(0)  # a call forked, and this is the child: its parent answers
        runtime = (time.perf_counter_ns() - began) // 1000
        cpu = (time.process_time_ns() - cpu) // 1000
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        wrote = os.access(directory, os.F_OK)
        _flush()
        message = text.encode(errors="replace")
        write_frame(
            link, (attempt, kind, runtime, cpu, memory, wrote, len(message)), message + result
        )


def _learn(
    body: bytes | bytearray,
    codes: Sequence[tuple[int, int]],
    forgotten: Sequence[tuple[int, int]],
    secret: bytes | None,
) -> memoryview:
    """Take what comes with a call; returns the call.

    `codes` are numbers and sizes of functions in front of it, `forgotten` of those not to be kept
    any longer, and `secret` is the key by which processes of one program know each other.
    """
    for number, _ in forgotten:
        del _FUNCTIONS[number]
    at = 0
    for number, size in codes:
        _FUNCTIONS[number] = bytes(body[at : at + size])
        at += size
    if secret is not None:
        from multiprocessing.process import current_process

        current_process().authkey = secret
    return memoryview(body)[at:]


def _call(number: int, data: memoryview) -> tuple[str, str, bytes]:
    """What became of a call: `value`, `raised`, or `unpicklable`; a text; a pickle."""
    try:
        if number:
            function = fetch(number)
            args, kwargs = pickle.loads(data)  # noqa: S301
        else:
            function, args, kwargs = pickle.loads(data)  # noqa: S301
        del data
        value = function(*args, **kwargs)
    except BaseException as error:  # whatever a call raises is its answer
        return _pack_error(error)
    try:
        return "value", "", pack(value)
    except BaseException as error:
        kind = type(value).__name__
        return "unpicklable", f"the result, of type {kind}, cannot be pickled: {error}", b""


def _pack_error(error: BaseException) -> tuple[str, str, bytes]:
    """An error with its traceback as text; an error that cannot be pickled is sent as text."""
    import traceback

    text = type(error).__name__
    try:
        inner = error.__traceback__.tb_next if error.__traceback__ else None
        text = "".join(traceback.format_exception(type(error), error, inner))
        data = pack(error)
        if not isinstance(pickle.loads(data), BaseException):  # noqa: S301
            return "unpicklable", text, b""
    except BaseException:
        return "unpicklable", text, b""
    return "raised", text, data


def _flush() -> None:
    """The worker ends by a signal, so nothing may wait in a buffer; nor matter if nobody reads."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            continue


def call_all(function: Callable[..., Any], chunk: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Several calls as one."""
    return [function(*args) for args in chunk]


def output_dir() -> str:
    """For a call: the directory whose files become part of its task's output."""
    directory = os.environ["BURSAR_OUTPUT_DIR"]
    os.makedirs(directory, exist_ok=True)  # noqa: PTH103
    return directory


def main() -> None:
    """Arguments: the directory of the attempts, the connection's descriptor."""
    attempts, descriptor = sys.argv[1], int(sys.argv[2])
    os.set_inheritable(descriptor, False)
    try:
        serve(socket.socket(fileno=descriptor), attempts)
    except (BrokenPipeError, ConnectionResetError):
        return  # bursar is gone, and so will be this process
