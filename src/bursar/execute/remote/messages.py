"""What bursar and the agent of a machine say to each other, through what carries it.

Orders go to the agent and reports come back, both numbered from 1. Each side repeats what the other
has not confirmed and ignores what it has seen, so that a link that breaks loses and doubles
nothing. An agent stamps every answer with its own clock; a lease ends so long after such a stamp.
"""

from __future__ import annotations

import sys
from typing import Final

import msgspec

from bursar.state.events import Outcome

VERSION: Final[str] = sys.modules["bursar"].__version__
"""of bursar, which must be the same on both sides"""
PROTOCOL: Final = 2
"""of these messages; both sides must have the same"""
EXPIRY_SLACK: Final = 2_000_000
"""microseconds after the end of its lease by which a machine has said so, or is over without"""


class Credentials(msgspec.Struct, frozen=True):
    """Certificate and key by which the parts of a run know each other, as PEM; empty: none."""

    certificate: str = ""
    key: str = ""


class CarrierConfig(msgspec.Struct, frozen=True):
    """The Dask worker that an agent starts, and starts again."""

    scheduler: str
    name: str
    """of the worker; a number is added each time it is started"""
    handler: str
    credentials: Credentials = Credentials()


class AgentConfig(msgspec.Struct, frozen=True, kw_only=True):
    """All that an agent must know to begin; never on a command line, since it holds a key."""

    token: str
    """of the machine: the run's mark and the machine's number"""
    run: str
    machine: int
    offer: str
    slots: int
    speed: float
    stay: int
    """microseconds that are left of its lease, as bursar saw it when it gave the order"""
    expires: float
    """the same by the wall clock, in seconds since 1970, since the order may be late"""
    timeout: int | None = None
    grace: int = 2_000_000
    carrier: CarrierConfig | None = None
    """None: a Dask worker that somebody else started"""
    turns_off: bool = False
    """whether the computer is turned off with its lease, since it costs money while it is on"""


class Order(msgspec.Struct, frozen=True, array_like=True, tag=True):
    pass


class SetLease(Order, frozen=True, array_like=True, tag=True):
    """The machine is paid until so long after that stamp of its own."""

    stamp: int
    stay: int


class StartCommand(Order, frozen=True, array_like=True, tag=True):
    attempt: int
    task: int
    argv: tuple[str, ...]


class StartCall(Order, frozen=True, array_like=True, tag=True):
    """A Python call, with the functions that the machine does not know yet."""

    attempt: int
    task: int
    function: int
    codes: tuple[tuple[int, bytes], ...]
    needs: tuple[int, ...]
    """numbers of all the functions that it uses"""
    data: bytes


class StopAttempt(Order, frozen=True, array_like=True, tag=True):
    attempt: int


class EndMachine(Order, frozen=True, array_like=True, tag=True):
    at_once: bool


class ForgetOutput(Order, frozen=True, array_like=True, tag=True):
    """bursar has what this attempt wrote."""

    attempt: int


class TakeFiles(Order, frozen=True, array_like=True, tag=True):
    """A part of the packed working directory; with the last one it is unpacked."""

    offset: int
    data: bytes
    is_last: bool


class TakeInput(Order, frozen=True, array_like=True, tag=True):
    """A part of a file that tasks read; with the last one it is there as a whole."""

    name: str
    """behind the number of a work, as its tasks call it"""
    offset: int
    data: bytes
    mode: int
    """what it is, and who may do what with it; of a directory that is all"""
    is_last: bool


class StartStaged(Order, frozen=True, array_like=True, tag=True):
    """A command with copies of the files that it reads, which were sent before."""

    attempt: int
    task: int
    argv: tuple[str, ...]
    work: int
    reads: tuple[str, ...]
    writes: tuple[str, ...]


class UseDirectory(Order, frozen=True, array_like=True, tag=True):
    """Run commands in this directory, which the machine shares with bursar."""

    path: str


AnyOrder = (
    SetLease
    | StartCommand
    | StartCall
    | StopAttempt
    | EndMachine
    | ForgetOutput
    | TakeFiles
    | TakeInput
    | StartStaged
    | UseDirectory
)


class AttemptOver(msgspec.Struct, frozen=True, array_like=True, tag=True):
    attempt: int
    outcome: Outcome
    reason: str
    exit_code: int | None
    runtime: int
    cpu: int
    memory: int
    is_back: bool
    answer: tuple[str, str, bytes] | None
    """of a call: kind, text and pickle"""
    wrote: bool
    packed: bytes
    """what it wrote, if that is small"""
    size: int
    """bytes of what is to be read in parts, if it is not; 0: it is small"""


class MachineOver(msgspec.Struct, frozen=True, array_like=True, tag=True):
    cause: str
    at: int
    """by its own clock"""
    why: str


class FilesFailed(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """The machine has no working directory."""

    why: str


AnyReport = AttemptOver | MachineOver | FilesFailed


class Greet(msgspec.Struct, frozen=True, tag=True):
    """Begin, or go on after the line was cut; with a new session, all of before is ended."""

    session: str
    protocol: int = PROTOCOL


class Deliver(msgspec.Struct, frozen=True, tag=True):
    session: str
    first: int
    """the number of the first of these orders"""
    orders: tuple[AnyOrder, ...]


class Listen(msgspec.Struct, frozen=True, tag=True):
    session: str
    seen: int
    """reports up to this number have arrived"""
    hold: int
    """microseconds to wait for one"""
    lease: SetLease | None = None
    """the last one, again: as an order it may wait behind large files"""


class ReadOutput(msgspec.Struct, frozen=True, tag=True):
    session: str
    attempt: int
    offset: int


AnyRequest = Greet | Deliver | Listen | ReadOutput


class AgentAnswer(msgspec.Struct, frozen=True):
    """To any request. An `error` says why it was refused."""

    stamp: int
    seen: int = 0
    """orders up to this number were taken"""
    first: int = 0
    """the number of the first of these reports"""
    reports: tuple[AnyReport, ...] = ()
    data: bytes = b""
    error: str = ""
    version: str = ""


encode: Final = msgspec.msgpack.Encoder().encode
decode_request: Final = msgspec.msgpack.Decoder(AnyRequest).decode
decode_answer: Final = msgspec.msgpack.Decoder(AgentAnswer).decode

NO_AGENT: Final = "no agent"
"""the error where a Dask worker finds none for this machine beside it"""
CUT_OFF: Final = "cut off"
"""the error where the line between worker and agent broke before there was an answer"""
REPLACED: Final = "another process of the run has taken over"
"""the error for one whose session is no longer the newest"""
CHUNK: Final = 1 << 20
"""bytes of a part"""
LARGEST_MESSAGE: Final = 8 << 20
"""bytes; only a single report may be larger"""
