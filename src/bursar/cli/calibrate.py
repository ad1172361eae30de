"""`bursar calibrate`: what this machine performs, measured."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
import rich_click as click

from bursar.cli.common import home, print_json, print_line, print_table, say
from bursar.cli.numbers import Whole
from bursar.cli.options import MACHINES, OUTPUT, WORK, json_option, option, settings
from bursar.formats.files import source_name
from bursar.formats.performance import FILE_NAME, add_measurements
from bursar.formats.workflow import read_size
from bursar.model.errors import InputError
from bursar.model.text import counted
from bursar.model.time import SECOND, format_duration, parse_duration
from bursar.runs.calibrate.machine import (
    LEAST_SIZE,
    MOST_SIZE,
    DiskMeasurement,
    measure_cpu,
    measure_disk,
)
from bursar.runs.calibrate.network import (
    BandwidthServer,
    is_loopback,
    measure_network,
    new_token,
    parse_address,
)

ROUNDS: Final = 5
MOST_ROUNDS: Final = 100_000
ANY_PORT: Final = "127.0.0.1:0"


class MeasuredQuantiles(msgspec.Struct, frozen=True):
    p10: float
    p50: float
    p90: float


class Calibrated(msgspec.Struct, frozen=True):
    """What `--json` prints: bandwidths in bytes a second, the speed by the reference processor."""

    offer: str
    file: str
    rounds: int
    speed: MeasuredQuantiles
    disk: MeasuredQuantiles
    disk_write: MeasuredQuantiles
    disk_read: MeasuredQuantiles | None
    """of reads that came from the disk; None: there were none"""
    network: MeasuredQuantiles
    peer: str | None
    """None: the loopback of this machine"""


class Round(msgspec.Struct, frozen=True):
    at: float
    """seconds since 1970"""
    speed: float
    disk: DiskMeasurement
    network: float


class Serving(msgspec.Struct, frozen=True):
    """What `--serve --json` prints; the token is empty where none is needed."""

    address: str
    token: str


@click.command(context_settings=settings)
@option(
    WORK,
    "--rounds",
    metavar="N",
    type=Whole(1, MOST_ROUNDS),
    help=f"Number of measurements (default: {ROUNDS}).",
)
@option(WORK, "--for", "lasting", metavar="TIME", help="Measure, or serve, for this long.")
@option(
    WORK,
    "--every",
    metavar="TIME",
    default="0s",
    help="Time between the starts of two rounds (default: 0s).",
)
@option(
    WORK,
    "--size",
    metavar="SIZE",
    default="64MB",
    help="Amount of data per round (default: 64MB).",
)
@option(
    MACHINES,
    "--offer",
    metavar="NAME",
    default="local",
    help="Offer that this machine is an example of (default: local).",
)
@option(
    MACHINES,
    "--directory",
    metavar="DIR",
    default=".",
    help="Directory on the disk that tasks will use (default: this one).",
)
@option(
    MACHINES,
    "--peer",
    metavar="HOST:PORT",
    help="Measure the network to this machine, which runs bursar calibrate --serve.",
)
@option(MACHINES, "--serve", is_flag=True, help="Answer the measurements of another machine.")
@option(
    MACHINES,
    "--bind",
    metavar="HOST:PORT",
    help="Address to serve at (default: this machine only, any port).",
)
@option(
    MACHINES,
    "--token",
    envvar="BURSAR_TOKEN",
    metavar="TOKEN",
    help="Token that --serve of the other machine printed.",
)
@option(
    OUTPUT,
    "--file",
    metavar="FILE",
    help=f"Performance file to add to (default: .bursar/{FILE_NAME}).",
)
@json_option
def command(
    offer: str,
    rounds: int | None,
    lasting: str | None,
    every: str,
    directory: str,
    size: str,
    peer: str | None,
    serve: bool,
    bind: str | None,
    token: str | None,
    file: str | None,
    as_json: bool,
) -> None:
    """Measure disk, network and processor of this machine, for workflow plans.

    Every round writes a file and reads it back, sends data over the network, and computes. Ctrl-C
    stops it: finished rounds are kept, and the file on disk is removed.
    """
    if serve:
        if peer is not None or rounds is not None:
            raise InputError("--serve does not measure: leave out --peer and --rounds")
        _serve(bind, token, lasting, as_json=as_json)
        return
    if bind is not None:
        raise InputError("--bind needs --serve; to measure, use --peer")
    if rounds is not None and lasting is not None:
        raise InputError("--rounds and --for both say when to end; leave out one")
    path = home().path / FILE_NAME if file is None else Path(file)
    moved = _size(size)
    done: list[Round] = []
    with ExitStack() as stack:
        if peer is None:
            address = stack.enter_context(BandwidthServer()).address
            secret = ""
        else:
            address = parse_address(peer)
            secret = _token_for(address[0], token)
        for _ in _ticks(rounds, lasting, every):
            done.append(_measure(directory, moved, address, secret))
            _keep(path, offer, done[-1])
    _tell(_summary(done, offer, path, peer), done, directory, as_json=as_json)


# --- measuring -----------------------------------------------------------------------------------


def _size(text: str) -> int:
    size = read_size(text)
    if not LEAST_SIZE <= size <= MOST_SIZE:
        raise InputError(f"--size: {size:,} bytes; use {LEAST_SIZE:,} to {MOST_SIZE:,}")
    return size


def _token_for(host: str, token: str | None) -> str:
    """As given, or typed; on this machine none is needed."""
    if token is not None or is_loopback(host):
        return token or ""
    if not sys.stdin.isatty():
        raise InputError("--token: another machine asks for the token that its --serve printed")
    typed: str = click.prompt("token of the peer", hide_input=True, err=True)
    return typed


def _ticks(rounds: int | None, lasting: str | None, every: str) -> Iterator[None]:
    """One for each round, at its time; at least one."""
    begin = time.monotonic()
    period = parse_duration(every) / SECOND
    end = None if lasting is None else begin + parse_duration(lasting) / SECOND
    most = MOST_ROUNDS if end is not None else rounds or ROUNDS
    for number in range(most):
        at = begin + number * period
        if number and end is not None and max(at, time.monotonic()) >= end:
            return
        time.sleep(max(0.0, at - time.monotonic()))
        yield


def _measure(directory: str, size: int, address: tuple[str, int], token: str) -> Round:
    at = time.time()
    network = measure_network(address, size, token)
    return Round(at, measure_cpu(), measure_disk(directory, size), network)


def _keep(path: Path, offer: str, one: Round) -> None:
    add_measurements(
        path,
        offer,
        {
            "cpu": [(one.at, one.speed)],
            "disk": [(one.at, one.disk.both)],
            "network": [(one.at, one.network)],
        },
    )


# --- telling -------------------------------------------------------------------------------------


def _summary(done: Sequence[Round], offer: str, path: Path, peer: str | None) -> Calibrated:
    cold = [one.disk.read for one in done if one.disk.is_cold]
    return Calibrated(
        offer=offer,
        file=source_name(path),
        rounds=len(done),
        speed=_spread([one.speed for one in done]),
        disk=_spread([one.disk.both for one in done]),
        disk_write=_spread([one.disk.write for one in done]),
        disk_read=_spread(cold) if cold else None,
        network=_spread([one.network for one in done]),
        peer=peer,
    )


def _spread(values: Sequence[float]) -> MeasuredQuantiles:
    return MeasuredQuantiles(*np.quantile(values, (0.1, 0.5, 0.9)).tolist())


def _tell(found: Calibrated, done: Sequence[Round], directory: str, *, as_json: bool) -> None:
    if as_json:
        print_json(found)
    else:
        where = "loopback" if found.peer is None else f"to {found.peer}"
        rows = [
            ("disk", "MB/s", found.disk, 1e6),
            ("  written", "MB/s", found.disk_write, 1e6),
            ("  read", "MB/s", found.disk_read, 1e6),
            (f"network, {where}", "MB/s", found.network, 1e6),
            ("processor", "speed", found.speed, 1.0),
        ]
        columns = ("resource", "P10", "P50", "P90", "unit")
        print_table(columns, (_row(*row) for row in rows), right="P10 P50 P90")
    warm = sum(not one.disk.is_cold for one in done)
    if warm:
        say(
            f"note: in {counted(warm, 'round')} the file could not be dropped from memory in"
            f" {source_name(directory)}: its reads do not count; the disk is judged by its writes"
        )
    say(f"{counted(found.rounds, 'round')} added to offer {found.offer} in {found.file}")


def _row(name: str, unit: str, spread: MeasuredQuantiles | None, scale: float) -> tuple[str, ...]:
    if spread is None:
        return name, "-", "-", "-", unit
    digits = 0 if scale > 1 else 2
    figures = (f"{value / scale:,.{digits}f}" for value in (spread.p10, spread.p50, spread.p90))
    return name, *figures, unit


# --- serving -------------------------------------------------------------------------------------


def _serve(bind: str | None, token: str | None, lasting: str | None, *, as_json: bool) -> None:
    """Answer until the time has passed, or Ctrl-C."""
    host, port = parse_address(bind or ANY_PORT)
    secret = token or ("" if is_loopback(host) else new_token())
    until = None if lasting is None else time.monotonic() + parse_duration(lasting) / SECOND
    with BandwidthServer(host, port, secret) as server:
        address = _written(*server.address)
        if as_json:
            print_json(Serving(address, secret))
        else:
            print_line(f"serving on {address}" + (f", token {secret}" if secret else ""))
        ends = "Ctrl-C stops it" if lasting is None else format_duration(parse_duration(lasting))
        say(f"on the other machine: bursar calibrate --peer HOST:{server.address[1]} ({ends})")
        while until is None or time.monotonic() < until:
            time.sleep(0.1)
    say(f"served {counted(server.served, 'measurement')}, refused {server.refused:,}")


def _written(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
