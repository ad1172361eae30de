"""An event as a record of the journal: JSON that is read again before it is written."""

from __future__ import annotations

from typing import Final
from zlib import crc32

import msgspec

from bursar.journal.upgrade import upgraded
from bursar.model.codec import ENCODER, decoder
from bursar.model.errors import BursarError, InputError, JournalError, one_line
from bursar.state import events as ev

_DECODER: Final = decoder(ev.AnyEvent)


def encode_event(event: ev.AnyEvent) -> bytes:
    """Its record; refuses what could not be read again."""
    kind = type(event).__name__
    try:
        record = ENCODER.encode(event)
        _DECODER.decode(record)
    except (UnicodeEncodeError, OverflowError) as error:
        raise InputError(
            f"{kind} cannot be journaled ({error}):"
            " use arguments and file names that are valid UTF-8"
        ) from None
    except (msgspec.MsgspecError, BursarError, TypeError, ValueError) as error:
        raise JournalError(
            f"{kind} cannot be journaled, since it could not be read again"
            f" ({one_line(str(error))}): correct the policy or the program that made it"
        ) from None
    return record


def decode_event(record: bytes | str, source: object, number: int) -> ev.AnyEvent:
    """One event from its JSON, which is the one of this number in its source."""
    try:
        event: ev.AnyEvent = _DECODER.decode(record)
    except (msgspec.MsgspecError, InputError, ValueError, ArithmeticError, TypeError) as error:
        old = upgraded(record)
        if old is not None:
            return old
        raise JournalError(
            f"{source}: event {number} cannot be read ({one_line(str(error))}):"
            " restore the file from a copy, or upgrade bursar"
        ) from None
    return event


def is_whole(seq: int, record: object, crc: object) -> bool:
    return isinstance(record, bytes) and crc32(record, seq) == crc
