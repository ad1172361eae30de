"""The network, over the loopback: measured, guarded and limited."""

import socket
import struct
import threading
import time

import pytest

from bursar.model.errors import InputError
from bursar.runs.calibrate import network as bandwidth
from bursar.runs.calibrate.network import (
    MOST_SIZE,
    BandwidthServer,
    is_loopback,
    measure_network,
    new_token,
    parse_address,
)

SIZE = 1 << 20


@pytest.mark.parametrize("token", ["", "secret", "\udcff"])
def test_a_peer_is_measured_again_and_again(token):
    with BandwidthServer(token=token) as server:
        for _ in range(3):
            assert measure_network(server.address, SIZE, token) > 1e5
    assert (server.served, server.refused) == (3, 0)


def test_who_does_not_know_the_token_is_refused():
    with BandwidthServer(token="secret") as server:
        for wrong in ("", "Secret", "secret2"):
            with pytest.raises(InputError, match="refused; check the token"):
                measure_network(server.address, SIZE, wrong)
        measure_network(server.address, SIZE, "secret")
    assert (server.served, server.refused) == (1, 3)


def test_what_was_overheard_is_of_no_use_again():
    """A proof belongs to its connection: here one is recorded, and sent once more."""
    with BandwidthServer(token="secret") as server:
        with socket.create_connection(server.address) as end:
            nonce = end.recv(16, socket.MSG_WAITALL)
            proof = bandwidth._proof("secret", nonce, SIZE)
        with socket.create_connection(server.address) as end:
            assert end.recv(16, socket.MSG_WAITALL) != nonce
            end.sendall(struct.pack(">Q", SIZE) + proof)
            assert end.recv(1) == b"-"


def test_who_asks_for_too_much_is_refused():
    with BandwidthServer() as server, socket.create_connection(server.address) as end:
        nonce = end.recv(16, socket.MSG_WAITALL)
        end.sendall(struct.pack(">Q", MOST_SIZE + 1) + bandwidth._proof("", nonce, MOST_SIZE + 1))
        assert end.recv(1) == b"-"
    with pytest.raises(InputError, match=r"bytes; use 65,536 to"):
        measure_network(("127.0.0.1", 1), MOST_SIZE + 1)


@pytest.mark.parametrize("habit", ["silent", "slow"])
def test_who_dawdles_does_not_keep_others_waiting(monkeypatch, habit):
    monkeypatch.setattr(bandwidth, "HANDSHAKE_SECONDS", 0.4)
    with BandwidthServer() as server, socket.create_connection(server.address) as dawdler:
        assert len(dawdler.recv(16, socket.MSG_WAITALL)) == 16
        ended = threading.Event()

        def drip():
            while not ended.wait(0.05):
                try:
                    dawdler.send(b"x")
                except OSError:
                    return

        dripping = threading.Thread(target=drip)
        if habit == "slow":
            dripping.start()
        start = time.monotonic()
        measure_network(server.address, SIZE)
        assert time.monotonic() - start < 10
        ended.set()
        if habit == "slow":
            dripping.join()
    assert server.served == 1


def test_who_hangs_up_does_no_harm():
    with BandwidthServer() as server:
        for _ in range(3):
            socket.create_connection(server.address).close()
        assert measure_network(server.address, SIZE) > 0


def test_a_server_ends_though_a_client_is_being_served():
    with BandwidthServer() as server:
        client = socket.create_connection(server.address)
        client.recv(16)
        start = time.monotonic()
    assert time.monotonic() - start < 3
    client.close()


def test_others_are_not_served_without_a_token():
    for host in ("0.0.0.0", "192.0.2.1", "::", "example.org"):  # noqa: S104
        with pytest.raises(InputError, match="needs a token"):
            BandwidthServer(host)


def test_a_peer_that_is_not_there_is_reported():
    with BandwidthServer() as server:
        address = server.address
    with pytest.raises(InputError, match=r"refused; run bursar calibrate --serve there"):
        measure_network(address, SIZE)
    with pytest.raises(InputError, match="check the address"):
        measure_network(("a..b", 7000), SIZE)


def test_a_peer_that_is_something_else_is_reported():
    with socket.create_server(("127.0.0.1", 0)) as other:

        def answer():
            end, _ = other.accept()
            end.sendall(b"HTTP/1.1")
            end.close()

        answering = threading.Thread(target=answer)
        answering.start()
        with pytest.raises(InputError, match="is bursar calibrate --serve running there"):
            measure_network(other.getsockname(), SIZE)
        answering.join()


def test_an_address_that_is_taken_is_reported():
    with BandwidthServer() as server, pytest.raises(InputError, match="use another address"):
        BandwidthServer(*server.address)


def test_addresses_are_read():
    assert parse_address("10.0.0.7:7000") == ("10.0.0.7", 7000)
    assert parse_address("[::1]:7000") == ("::1", 7000)
    assert parse_address("host.example:0") == ("host.example", 0)
    for wrong in ("", "host", ":70", "host:", "host:x", "host:65536", "host:" + "9" * 5000):
        with pytest.raises(InputError, match="is not an address; write HOST:PORT"):
            parse_address(wrong)


def test_the_loopback_is_known():
    assert all(map(is_loopback, ("127.0.0.1", "127.8.9.1", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "10.0.0.7", "::", "example.org")))  # noqa: S104


def test_tokens_are_long_and_never_the_same():
    tokens = {new_token() for _ in range(100)}
    assert len(tokens) == 100
    assert min(map(len, tokens)) >= 16
