"""`bursar calibrate` as a process."""

import json
import signal
import subprocess
import time

from bursar.formats.performance import read_performance

QUICK = ("--size", "2MB", "--rounds", "3")


def measured(place, offer="local", file=".bursar/performance.json"):
    return read_performance(place.path / file)[offer]


def test_rounds_are_added_and_reported(place):
    out, err = place.bursar("calibrate", *QUICK)
    lines = [line.split() for line in out.splitlines()]
    assert lines[0] == ["resource", "P10", "P50", "P90", "unit"]
    assert [line[0] for line in lines[1:]] == ["disk", "written", "read", "network,", "processor"]
    assert err.endswith("3 rounds added to offer local in .bursar/performance.json\n")
    place.bursar("calibrate", *QUICK)
    found = measured(place)
    assert len(found.cpu.times) == len(found.disk.times) == len(found.network.times) == 6
    assert abs(found.cpu.times[-1] / 1e6 - time.time()) < 60


def test_json_has_bytes_a_second(place):
    found = place.json("calibrate", *QUICK, "--offer", "small", "--file", "here.json")
    assert (found["offer"], found["rounds"], found["file"]) == ("small", 3, "here.json")
    assert found["peer"] is None
    for resource in ("disk", "disk_write", "network", "speed"):
        assert 0 < found[resource]["p10"] <= found[resource]["p50"] <= found[resource]["p90"]
    kept = measured(place, "small", "here.json")
    assert min(kept.network.bandwidths) <= found["network"]["p50"] <= max(kept.network.bandwidths)
    assert sorted(path.name for path in place.path.iterdir()) == [
        "here.json",
        "here.json.lock",
        "market.toml",
    ]


def test_rounds_in_memory_are_reported_as_such(place):
    _, err = place.bursar("calibrate", *QUICK, "--directory", "/dev/shm")
    assert "note: in 3 rounds the file could not be dropped from memory in /dev/shm" in err


def test_it_measures_for_a_time_and_at_intervals(place):
    start = time.monotonic()
    found = place.json("calibrate", "--size", "1MiB", "--for", "1.2s", "--every", "0.5s")
    assert 1 <= found["rounds"] <= 3
    assert time.monotonic() - start < 30


def test_the_network_to_a_peer_is_measured(place):
    server = place.popen("calibrate", "--serve", "--bind", "0.0.0.0:0", "--json")
    try:
        reported = json.loads(server.stdout.readline())
        address = reported["address"].replace("0.0.0.0", "127.0.0.1")  # noqa: S104
        found = place.json("calibrate", *QUICK, "--peer", address, "--token", reported["token"])
        assert found["peer"] == address
        place.environment["BURSAR_TOKEN"] = reported["token"]
        place.bursar("calibrate", *QUICK, "--peer", address)
        place.environment["BURSAR_TOKEN"] = "wrong"
        _, err = place.bursar("calibrate", *QUICK, "--peer", address, code=2)
        assert err.endswith("refused; check the token that its --serve printed\n")
    finally:
        server.send_signal(signal.SIGINT)
        _, err = server.communicate(timeout=30)
    assert server.returncode == 130
    assert "Traceback" not in err


def test_on_this_machine_a_peer_needs_no_token(place):
    server = place.popen("calibrate", "--serve")
    try:
        address = server.stdout.readline().split()[-1]
        assert address.startswith("127.0.0.1:")
        place.bursar("calibrate", *QUICK, "--peer", address)
    finally:
        server.send_signal(signal.SIGINT)
        server.communicate(timeout=30)
    assert server.returncode == 130


def test_a_peer_ends_in_time(place):
    out, err = place.bursar("calibrate", "--serve", "--for", "0.3s")
    assert out.startswith("serving on 127.0.0.1:")
    assert err.endswith("served 0 measurements, refused 0\n")


def test_an_interrupt_keeps_finished_rounds_and_leaves_no_file(place):
    process = place.popen("calibrate", "--size", "8MB", "--for", "60s")
    kept = place.path / ".bursar" / "performance.json"
    until = time.monotonic() + 30
    while not kept.exists() and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert out == ""
    assert "Traceback" not in err
    assert len(measured(place).disk.times) >= 1
    assert sorted(path.name for path in place.path.iterdir()) == [".bursar", "market.toml"]


def test_a_peer_elsewhere_wants_a_token_before_anything_is_measured(place):
    words = ("calibrate", "--peer", "198.51.100.1:7000")
    process = place.popen(*words, stdin=subprocess.DEVNULL)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert err == "bursar: --token: another machine asks for the token that its --serve printed\n"


def test_mistakes_are_reported_in_one_line(place):
    for words, message in (
        (("--rounds", "2", "--for", "1s"), "leave out one"),
        (("--serve", "--peer", "a:1"), "leave out --peer and --rounds"),
        (("--bind", "127.0.0.1:0"), "--bind needs --serve"),
        (("--size", "1kB"), "--size: 1,000 bytes; use 1,048,576 to"),
        (("--size", "much"), "is not a size"),
        (("--peer", "nowhere"), "is not an address"),
        (("--for", "soon"), "is not a duration"),
        (("--directory", "none"), "cannot measure there"),
        (("--offer", "", "--size", "1MiB"), "must be text, and not empty"),
    ):
        out, err = place.bursar("calibrate", *words, code=2)
        assert out == ""
        assert message in err
        assert len(err.splitlines()) == 1
