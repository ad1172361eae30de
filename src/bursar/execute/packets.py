"""How calls travel to a worker and answers back: frames over a socket that keeps messages apart.

A frame is a head (plain values, by `marshal`) and a body (raw bytes, such as a pickled result); a
small one is one packet, the body of a large one goes on in further packets. A packet that nobody
has read can be taken back from the other end of the pair: either the worker gets it or bursar
does, never both.
"""

from __future__ import annotations

import marshal
import socket
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, Final

    Head = Any
    Frame = tuple[Head, bytes | bytearray]

FIRST: Final = struct.Struct("<BIQ")
"""how the first packet of a frame begins: 0, lengths of head and body"""
MORE: Final = b"\1"
"""how the others begin"""
LARGEST_PACKET: Final = 1 << 16
"""bytes; the kernel takes a packet of this size whole or not at all"""
LARGEST_MORE: Final = LARGEST_PACKET - len(MORE)


def packet_pair() -> tuple[socket.socket, socket.socket]:
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


class PacketChannel:
    """bursar's end, for a loop that must never block: `flush` sends on when there is room again."""

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(False)
        self._socket = end
        self._out: memoryview | None = None
        """what is left of a large frame"""
        self._buffer = memoryview(bytearray(LARGEST_PACKET))
        self._head: Head = None
        self._body: bytearray | None = None
        """a large body that is still coming"""
        self._filled = 0

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def pending(self) -> bool:
        return self._out is not None

    def send(self, head: Head, body: bytes = b"") -> bool:
        """Send a frame; False: there is no room for it now, and nothing was sent."""
        first, rest = _split(head, body)
        try:
            self._socket.send(first)
        except BlockingIOError:
            return False
        except (BrokenPipeError, ConnectionResetError):
            return True  # its reader has ended, which is reported elsewhere
        if rest:
            self._out = rest
            self.flush()
        return True

    def flush(self) -> None:
        while self._out is not None:
            try:
                self._socket.sendmsg((MORE, self._out[:LARGEST_MORE]))
            except BlockingIOError:
                return
            except (BrokenPipeError, ConnectionResetError):
                self._out = None
                return
            self._out = self._out[LARGEST_MORE:] or None

    def receive(self) -> list[Frame]:
        """All complete frames that have arrived."""
        frames: list[Frame] = []
        while True:
            try:
                if self._body is None:
                    size = self._socket.recv_into(self._buffer)
                else:
                    size = _read_more(self._socket, memoryview(self._body)[self._filled :])
            except (BlockingIOError, ConnectionResetError):
                return frames
            if size <= 0:
                return frames
            frame = self._take(size)
            if frame is not None:
                frames.append(frame)

    def close(self) -> None:
        self._out = None
        self._socket.close()

    def _take(self, size: int) -> Frame | None:
        if self._body is None:
            head, part, whole = _read(self._buffer[:size])
            if len(part) == whole:
                return head, part
            self._head, self._body, self._filled = head, _begun(part, whole), len(part)
            return None
        self._filled += size
        if self._filled < len(self._body):
            return None
        frame = self._head, self._body
        self._head = self._body = None
        return frame


def take_back(end: socket.socket) -> list[Head]:
    """Heads of the frames that wait at a worker's end and were not read: now nobody will."""
    heads: list[Head] = []
    while True:
        try:
            packet = end.recv(LARGEST_PACKET, socket.MSG_DONTWAIT)
        except (BlockingIOError, ConnectionResetError):
            return heads
        if not packet:
            return heads
        if packet[0] != MORE[0]:
            heads.append(_read(memoryview(packet))[0])


def write_frame(end: socket.socket, head: Head, body: bytes = b"") -> None:
    """Send a frame over a blocking socket."""
    first, rest = _split(head, body)
    end.sendall(first)
    while rest:
        end.sendmsg((MORE, rest[:LARGEST_MORE]))
        rest = rest[LARGEST_MORE:]


def read_frame(end: socket.socket, buffer: memoryview) -> Frame | None:
    """The next frame of a blocking socket; None: the other end is gone."""
    size = end.recv_into(buffer)
    if size == 0:
        return None
    head, part, whole = _read(buffer[:size])
    if len(part) == whole:
        return head, part
    body, filled = _begun(part, whole), len(part)
    view = memoryview(body)
    while filled < whole:
        size = _read_more(end, view[filled:])
        if size <= 0:
            return None
        filled += size
    return head, body


def _split(head: Head, body: bytes) -> tuple[bytes, memoryview]:
    """The first packet of a frame, and what follows in others."""
    data = marshal.dumps(head)
    start = FIRST.pack(0, len(data), len(body)) + data
    if len(start) > LARGEST_PACKET:
        raise ValueError(f"a head of {len(data)} bytes is too large")
    if len(start) + len(body) <= LARGEST_PACKET:
        return start + body, memoryview(b"")
    room = LARGEST_PACKET - len(start)
    view = memoryview(body)
    return start + view[:room], view[room:]


def _read(packet: memoryview) -> tuple[Head, bytes, int]:
    """A frame's first packet: head, its part of the body, and the size of the whole body."""
    _, head_size, body_size = FIRST.unpack_from(packet)
    at = FIRST.size + head_size
    return marshal.loads(packet[FIRST.size : at]), bytes(packet[at:]), body_size  # noqa: S302


def _begun(part: bytes, size: int) -> bytearray:
    """Room for a body of this size, of which a part is there."""
    body = bytearray(size)
    body[: len(part)] = part
    return body


def _read_more(end: socket.socket, room: memoryview) -> int:
    """Read a further packet of a frame into this room; returns how much there was, or -1."""
    size, _, _, _ = end.recvmsg_into((bytearray(len(MORE)), room))
    return size - len(MORE)
