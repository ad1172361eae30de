"""Where servers listen."""

from __future__ import annotations

import socket

from bursar.web.listening import Listening


def test_an_answer_in_two_parts_is_not_held_back():
    """Else the second part waits until the first is acknowledged, which takes 40 ms."""
    with Listening(port=0).bind() as bound, socket.create_connection(bound.getsockname()):
        accepted, _ = bound.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
