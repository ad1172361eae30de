"""Calls as they travel: pickled with their arguments, and with the functions they need."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from types import FunctionType
from typing import Any, Final, NamedTuple

import cloudpickle

from bursar.execute.functions import Code, Functions, is_local
from bursar.execute.shipped_modules import by_value, is_homeless, mentions_homeless
from bursar.execute.worker import fetch

CURRIES: Final = frozenset({"toolz.functoolz", "cytoolz.functoolz"})


class PackedCall(NamedTuple):
    function: int
    """the number of the function to call; 0: it is the first thing in the pickle"""
    codes: Sequence[Code]
    """functions that the worker must know"""
    data: bytes
    """function (unless it has a number), arguments and keyword arguments, pickled"""


class TooLarge(Exception):  # noqa: N818
    """A pickle is larger than wanted."""


def pack_call(
    functions: Functions,
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    most: int | None = None,
) -> PackedCall:
    """A call as it is now. Raises TooLarge, as soon as the pickle has more bytes than `most`.

    Plain pickle where it suffices. It refers to what is in modules by name; so whatever mentions
    one that a worker cannot import, such as `__main__`, is sent by value.
    """
    code = None
    if type(function) is FunctionType and is_local(function):
        code = functions.get(function)
        if code is None:
            return _pack_by_value(functions, (function, args, kwargs), most)
    try:
        data = _dump((function, args, kwargs) if code is None else (args, kwargs), most)
    except TooLarge:
        raise
    except Exception:
        return _pack_by_value(functions, (function, args, kwargs), most)
    if mentions_homeless(data):
        return _pack_by_value(functions, (function, args, kwargs), most)
    return PackedCall(0, (), data) if code is None else PackedCall(code.number, (code,), data)


class _Bounded(BytesIO):
    """A file that takes only so much."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._left = most

    def write(self, data: Any) -> int:
        self._left -= memoryview(data).nbytes
        if self._left < 0:
            raise TooLarge
        return super().write(data)


def _dump(value: Any, most: int | None) -> bytes:
    if most is None:
        return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    file = _Bounded(most)
    pickle.Pickler(file, pickle.HIGHEST_PROTOCOL).dump(value)
    return file.getvalue()


def _pack_by_value(functions: Functions, call: tuple[Any, ...], most: int | None) -> PackedCall:
    file = BytesIO() if most is None else _Bounded(most)
    pickler = _ByValue(file, functions)
    with by_value():
        pickler.dump(call)
    return PackedCall(0, tuple(pickler.codes.values()), file.getvalue())


class _ByValue(cloudpickle.Pickler):  # type: ignore[misc]
    """Functions of the script are fetched from what the worker knows; the rest is in the pickle."""

    def __init__(self, file: BytesIO, functions: Functions) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._functions = functions
        self.codes: dict[int, Code] = {}

    def reducer_override(self, value: Any) -> Any:
        if type(value) is FunctionType and is_local(value) and value.__closure__ is None:
            code = self._functions.get(value)
            if code is not None:
                self.codes[code.number] = code
                return fetch, (code.number,)
        if type(value).__module__ in CURRIES and hasattr(value, "func"):
            return _reduce_curry(value)
        return super().reducer_override(value)


def _reduce_curry(value: Any) -> Any:
    """A curried function that is named in its module refers to that by a string of its own."""
    restore, (kind, function, *rest, is_named) = value.__reduce__()
    if isinstance(function, str) and is_homeless(function.partition(":")[0]):
        return restore, (kind, value.func, *rest, False)
    return restore, (kind, function, *rest, is_named)
