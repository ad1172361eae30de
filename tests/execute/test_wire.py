from __future__ import annotations

import os
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.execute.wire import Channel

HEADS = st.recursive(
    st.none() | st.integers() | st.text() | st.binary(),
    lambda inner: st.lists(inner).map(tuple),
    max_leaves=8,
)
FRAMES = st.lists(st.tuples(HEADS, st.binary(max_size=100)), max_size=6)


@pytest.fixture
def ends():
    ours, theirs = (Channel(end) for end in socket.socketpair())
    yield ours, theirs
    ours.close()
    theirs.close()


@given(frames=FRAMES)
def test_frames_arrive_whole_and_in_order(frames):
    ours, theirs = (Channel(end) for end in socket.socketpair())
    for head, body in frames:
        ours.send(head, body)
    assert theirs.receive() == frames
    ours.close()
    assert theirs.receive() == []
    assert theirs.closed
    theirs.close()


@given(frames=FRAMES, cuts=st.lists(st.integers(1, 30), min_size=1))
def test_frames_may_come_in_pieces(frames, cuts):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        sender, receiver = Channel(ours), Channel(theirs)
        for head, body in frames:
            sender.send(head, body)
        data = theirs.recv(1 << 20) if frames else b""
        got, at = [], 0
        while at < len(data):
            step = cuts[at % len(cuts)]
            ours.send(data[at : at + step])
            got += receiver.receive()
            at += step
        assert got == frames


def test_what_the_socket_does_not_take_waits(ends):
    ours, theirs = ends
    body = os.urandom(5_000_000)
    ours.send("first", body)
    ours.send("second")
    assert ours.pending
    frames = []
    while len(frames) < 2:
        frames += theirs.receive()
        ours.flush()
    assert not ours.pending
    assert frames == [("first", body), ("second", b"")]


def test_a_descriptor_travels_and_is_closed_here(ends):
    ours, theirs = ends
    reading, writing = os.pipe()
    ours.send(["take this"], descriptor=writing)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(writing)
    assert theirs.receive(descriptors=True) == [(["take this"], b"")]
    there = theirs.take_descriptor()
    assert not os.get_inheritable(there)
    os.write(there, b"x")
    os.close(there)
    assert os.read(reading, 9) == b"x"
    os.close(reading)


def test_sending_to_a_closed_end_is_noticed_and_keeps_nothing(ends):
    ours, theirs = ends
    theirs.close()
    reading, writing = os.pipe()
    ours.send("lost", b"body", descriptor=writing)
    assert ours.closed
    assert not ours.pending
    assert os.read(reading, 1) == b""  # the other end of the pipe is closed
    os.close(reading)
