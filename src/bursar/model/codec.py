"""How values become JSON and come back: one place for the types msgspec does not know."""

from __future__ import annotations

from typing import Any

import msgspec

from bursar.model.money import Money


def _encode(value: Any) -> Any:
    if isinstance(value, Money):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _decode(kind: type, value: Any) -> Any:
    if kind is Money and isinstance(value, str):
        return Money.recall(value)
    raise TypeError(f"{kind.__name__} is not read from {type(value).__name__}")


ENCODER = msgspec.json.Encoder(enc_hook=_encode)
_PACKER = msgspec.msgpack.Encoder(enc_hook=_encode)


def encode(value: Any) -> bytes:
    return ENCODER.encode(value)


def decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind, dec_hook=_decode)


def packed(value: Any) -> bytes:
    """As MessagePack, which has bytes: for what only bursar reads."""
    return _PACKER.encode(value)


def unpacker(kind: Any) -> msgspec.msgpack.Decoder[Any]:
    return msgspec.msgpack.Decoder(kind, dec_hook=_decode)


def to_builtins(value: Any) -> Any:
    """Dictionaries, lists and tuples of plain values, for `--json`."""
    return msgspec.to_builtins(value, enc_hook=_encode)
