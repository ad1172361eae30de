"""Checkpoints of a run: files beside its journal, from which a reader may begin.

    journal.db.checkpoint          the newest
    journal.db.checkpoint-before   the one before it

Each is a checksum, then a `Checkpoint`. The journal alone is the truth: a checkpoint that is
missing, damaged, of another version or of another journal is passed over, and nothing is lost
without it.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final
from zlib import crc32

import msgspec

from bursar.journal.database import CHECKPOINTS
from bursar.journal.reader import JournalReader, work_reader
from bursar.model.codec import packed, unpacker
from bursar.model.errors import BursarError
from bursar.state import checkpoint as value
from bursar.state.state import RunState

_CRC_BYTES: Final = 4
_OWNER_ONLY: Final = 0o600


class Checkpoint(msgspec.Struct, frozen=True):
    """The state after an event of a journal."""

    version: str
    event: int
    """its number"""
    crc: int
    """of its record at its place, by which a checkpoint of another journal is known"""
    state: msgspec.Raw


_UNPACKER: Final = unpacker(Checkpoint)


def checkpoint_of(state: RunState, crc: int) -> Checkpoint:
    """The state after the last event, whose record has this checksum; a copy, for any thread."""
    return Checkpoint(value.VERSION, state.events, crc, msgspec.Raw(value.to_bytes(state)))


def write_checkpoint(journal: Path, checkpoint: Checkpoint) -> None:
    """Keep a checkpoint of a journal, of which nobody else writes one now.

    It is not synced: a power failure leaves a file whose checksum is wrong. A process that dies
    here leaves the ones before, and an unfinished file that nobody reads.
    """
    data = packed(checkpoint)
    newest, before, unfinished = (journal.with_name(journal.name + end) for end in CHECKPOINTS)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    with os.fdopen(os.open(unfinished, flags, _OWNER_ONLY), "wb") as file:
        file.write(crc32(data).to_bytes(_CRC_BYTES))
        file.write(data)
    with suppress(FileNotFoundError):
        newest.replace(before)
    unfinished.replace(newest)


def newest_checkpoint(reader: JournalReader) -> RunState | None:
    """The state of the newest checkpoint that is good; None: there is none."""
    for end in CHECKPOINTS[:2]:
        with suppress(OSError, msgspec.MsgspecError, BursarError):
            found = _read(reader.path.with_name(reader.path.name + end), reader)
            if found is not None:
                return found
    return None


def _read(path: Path, reader: JournalReader) -> RunState | None:
    data = memoryview(path.read_bytes())
    body = data[_CRC_BYTES:]
    if crc32(body) != int.from_bytes(data[:_CRC_BYTES]):
        return None
    found: Checkpoint = _UNPACKER.decode(body)
    if found.version != value.VERSION:
        return None
    if crc32(reader.record(found.event), found.event) != found.crc:
        return None
    return value.from_bytes(found.state, work_reader(reader.path))
