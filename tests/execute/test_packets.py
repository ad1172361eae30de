from __future__ import annotations

import os
import threading

import pytest

from bursar.execute.packets import (
    LARGEST_PACKET,
    PacketChannel,
    packet_pair,
    read_frame,
    take_back,
    write_frame,
)

FRAMES = [((1, "small"), b"x"), ((), b""), ("large", os.urandom(3_000_000)), (None, bytes(70_000))]


@pytest.fixture
def pair():
    ours, theirs = packet_pair()
    with ours, theirs:
        yield ours, theirs


def test_frames_of_any_size_travel_both_ways(pair):
    ours, theirs = pair
    buffer = memoryview(bytearray(LARGEST_PACKET))

    def echo():
        for _ in FRAMES:
            write_frame(theirs, *read_frame(theirs, buffer))

    thread = threading.Thread(target=echo)
    thread.start()
    channel, found = PacketChannel(ours), []
    for head, body in FRAMES:
        assert channel.send(head, body)
        while not (frames := channel.receive()):
            channel.flush()
        found += frames
    thread.join()
    assert [(head, bytes(body)) for head, body in found] == FRAMES


def test_what_nobody_has_read_can_be_taken_back(pair):
    ours, theirs = pair
    channel, buffer = PacketChannel(ours), memoryview(bytearray(LARGEST_PACKET))
    for number in range(5):
        assert channel.send(number, b"call")
    assert [read_frame(theirs, buffer)[0] for _ in range(2)] == [0, 1]
    assert take_back(theirs) == [2, 3, 4]
    assert take_back(theirs) == []
    assert channel.send(5)
    assert read_frame(theirs, buffer) == (5, b"")


def test_of_a_large_frame_only_the_beginning_counts_as_unread(pair):
    ours, theirs = pair
    channel = PacketChannel(ours)
    channel.send("large", bytes(100_000))
    assert take_back(theirs) == ["large"]
    channel.send("large", bytes(100_000))
    theirs.recv(LARGEST_PACKET)
    assert take_back(theirs) == []


def test_a_frame_without_room_is_not_sent_at_all(pair):
    ours, theirs = pair
    channel, sent = PacketChannel(ours), 0
    while channel.send(sent, bytes(30_000)):
        sent += 1
    assert take_back(theirs) == list(range(sent))


def test_an_end_that_is_closed_is_reported(pair):
    ours, theirs = pair
    ours.close()
    assert read_frame(theirs, memoryview(bytearray(LARGEST_PACKET))) is None
