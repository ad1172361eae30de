"""How bursar's processes on one computer talk: frames over a socket pair.

A frame is a head (plain values, by `marshal`) and a body (raw bytes, such as a pickled result).
Both ends are the same Python and the same bursar, so `marshal` is safe and needs no import that
would slow the start of a child program.
"""

from __future__ import annotations

import marshal
import os
import socket
import struct
import sys
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, Final

    Head = Any
    Frame = tuple[Head, bytes]

PREFIX: Final = struct.Struct("<IQ")
"""lengths of head and body"""

CHUNK: Final = 1 << 16
"""bytes to read at once; a body below this size is sent together with its head"""
LARGEST_CHUNK: Final = 1 << 20
DESCRIPTOR_SIZE: Final = 4
LOST: Final = -1
"""a descriptor that came when this process could have no more of them"""
MOST_DESCRIPTORS: Final = 16
"""in one read; the kernel does not join messages that carry some"""


def python_program(module: str, *arguments: str) -> list[str]:
    """The command that runs `module.main()` with the modules that this process can import."""
    path = [entry for entry in sys.path if isinstance(entry, str)]
    code = f"import sys; sys.path[:] = {path!r}; from {module} import main; main()"
    return [sys.executable, "-P", "-c", code, *arguments]


class Channel:
    """Frames over a stream socket, for a loop that must never block.

    What cannot be sent at once is kept; `flush` sends on when the socket is ready again.
    """

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(False)
        self._socket = end
        self._out: deque[tuple[memoryview, int | None]] = deque()
        """what is left to send, and the descriptor that travels with it"""
        self._in = bytearray()
        self._descriptors: deque[int] = deque()
        self.closed = False
        """the other end is gone"""

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def pending(self) -> bool:
        return bool(self._out)

    def send(self, head: Head, body: bytes = b"", descriptor: int | None = None) -> None:
        """Send a frame; a descriptor is closed here once the other end has its own."""
        data = marshal.dumps(head)
        start = PREFIX.pack(len(data), len(body)) + data
        if len(body) < CHUNK:
            self._out.append((memoryview(start + body), descriptor))
        else:
            self._out.append((memoryview(start), descriptor))
            self._out.append((memoryview(body), None))
        self.flush()

    def flush(self) -> None:
        """Send as much as the socket takes; what is sent to a closed end is dropped."""
        while self._out:
            data, descriptor = self._out[0]
            try:
                sent = self._send(data, descriptor)
            except BlockingIOError:
                return
            except (BrokenPipeError, ConnectionResetError):
                self.closed = True
                self._forget()
                return
            if sent == len(data):
                self._out.popleft()
            else:
                self._out[0] = (data[sent:], None)

    def _send(self, data: memoryview, descriptor: int | None) -> int:
        if descriptor is None:
            return self._socket.send(data)
        sent = socket.send_fds(self._socket, [data], [descriptor])
        os.close(descriptor)
        return sent

    def receive(self, *, descriptors: bool = False) -> list[Frame]:
        """Complete frames that have arrived; descriptors may come with them."""
        size = CHUNK
        while True:
            try:
                data = self._read(size, descriptors)
            except BlockingIOError:
                break
            except ConnectionResetError:
                data = b""
            if not data:
                self.closed = True
                break
            self._in += data
            if len(data) < size:
                break
            size = LARGEST_CHUNK
        return self._frames()

    def take_descriptor(self) -> int:
        """The next descriptor that came, in the order in which they were sent, or LOST."""
        return self._descriptors.popleft()

    def close(self) -> None:
        self._forget()
        self._socket.close()

    def _forget(self) -> None:
        for _, descriptor in self._out:
            if descriptor is not None:
                os.close(descriptor)
        self._out.clear()

    def _read(self, size: int, descriptors: bool) -> bytes:
        if not descriptors:
            return self._socket.recv(size)
        room = socket.CMSG_LEN(MOST_DESCRIPTORS * DESCRIPTOR_SIZE)
        data, extras, flags, _ = self._socket.recvmsg(size, room, socket.MSG_CMSG_CLOEXEC)
        if flags & socket.MSG_CTRUNC and not extras:
            self._descriptors.append(LOST)
        for _, _, numbers in extras:
            self._descriptors.extend(memoryview(numbers).cast("i"))
        return data

    def _frames(self) -> list[Frame]:
        frames: list[Frame] = []
        data, at = self._in, 0
        while len(data) - at >= PREFIX.size:
            head_size, body_size = PREFIX.unpack_from(data, at)
            head_at = at + PREFIX.size
            body_at = head_at + head_size
            end = body_at + body_size
            if len(data) < end:
                break
            frames.append((marshal.loads(data[head_at:body_at]), bytes(data[body_at:end])))  # noqa: S302
            at = end
        if at:
            del data[:at]
        return frames
