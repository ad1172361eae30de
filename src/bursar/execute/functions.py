"""Functions that no other process can import, kept as pickles by what they are.

A function of a script or a notebook, or a lambda, is sent to each worker once, with the globals
that it reads, and lives there as it would in a module. It is sent again when it has changed. A
function whose closure holds something that can change is no such function: it travels with every
call, as arguments do.
"""

from __future__ import annotations

import pickle
import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterator
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, Final, NamedTuple

import cloudpickle

from bursar.execute.shipped_modules import by_value, is_homeless

MOST_BYTES: Final = 16 << 20
"""of pickled functions that are kept, here and in each worker"""
MOST_PORTRAITS: Final = 256
"""functions of which it is known what they looked like when they were pickled"""
LARGEST_REPEATED: Final = 1 << 16
"""A function with a larger pickle is not pickled again to see whether a mutable global changed."""
MOST_ITEMS: Final = 64
"""a longer tuple is not searched for what can change"""
MISSING: Final = object()


class Code(NamedTuple):
    """A pickled function; equal pickles have one number."""

    number: int
    data: bytes


class Portrait(NamedTuple):
    """What a function was made of when it was pickled."""

    owner: weakref.ref[FunctionType]
    parts: list[tuple[Any, Any, Any]]
    """where each part is (a function, its globals, its cells), its name there, and the part"""
    is_frozen: bool
    """no part can change without being replaced"""
    number: int
    size: int


class Functions:
    """Pickled functions by content, bounded in bytes; for any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._codes: OrderedDict[int, Code] = OrderedDict()
        """by number, the one that was wanted last at the end"""
        self._numbers: dict[bytes, int] = {}
        """by pickle, exactly those of the codes"""
        self._size = 0
        """bytes of all codes"""
        self._count = 0
        self._portraits: OrderedDict[int, Portrait] = OrderedDict()
        """by `id` of the function"""

    def get(self, function: FunctionType) -> Code | None:
        """Its pickle as it is now; None: it must travel with every call.

        Raises whatever pickling raises.
        """
        known = self._recall(function)
        if known is not None:
            return known
        if not all(is_frozen(_content(cell)) for cell in function.__closure__ or ()):
            return None
        parts, frozen = _parts_of(function)
        with by_value():
            data = cloudpickle.dumps(function, pickle.HIGHEST_PROTOCOL)
        code = self._number(data)
        portrait = Portrait(weakref.ref(function), parts, frozen, code.number, len(code.data))
        with self._lock:
            self._portraits[id(function)] = portrait
            self._portraits.move_to_end(id(function))
            if len(self._portraits) > MOST_PORTRAITS:
                self._portraits.popitem(last=False)
        return code

    def _recall(self, function: FunctionType) -> Code | None:
        """The pickle of before, if it is surely the same and still there."""
        portrait = self._portraits.get(id(function))
        if portrait is None or portrait.owner() is not function or not _is_alike(portrait):
            return None
        return self._codes.get(portrait.number)

    def _number(self, data: bytes) -> Code:
        with self._lock:
            number = self._numbers.get(data)
            if number is None:
                self._count += 1
                number = self._numbers[data] = self._count
                self._codes[number] = Code(number, data)
                self._size += len(data)
            code = self._codes[number]
            self._codes.move_to_end(number)
            while self._size > MOST_BYTES:
                _, old = self._codes.popitem(last=False)
                del self._numbers[old.data]
                self._size -= len(old.data)
        return code


def is_local(function: FunctionType) -> bool:
    """Whether another process surely cannot import it."""
    return "<" in function.__qualname__ or is_homeless(function.__module__)


def is_frozen(value: Any) -> bool:
    """Whether it never changes; False where that is not known."""
    kind = type(value)
    if kind in (int, float, complex, bool, str, bytes, type(None)):
        return True
    if kind is tuple or kind is frozenset:
        return len(value) <= MOST_ITEMS and all(map(is_frozen, value))
    if kind is ModuleType or kind is BuiltinFunctionType:
        return True
    if kind is FunctionType:
        return not is_local(value)
    if isinstance(value, type):
        return "<" not in value.__qualname__ and not is_homeless(value.__module__)
    return False


def _is_alike(portrait: Portrait) -> bool:
    """Whether the function would be pickled as before, as far as a cheap check can tell."""
    if not portrait.is_frozen and portrait.size <= LARGEST_REPEATED:
        return False
    for where, name, part in portrait.parts:
        if type(where) is dict:
            found = where.get(name, MISSING)
        elif type(where) is tuple:
            found = _content(where[name])
        else:
            found = getattr(where(), name)
        if found is not part:
            return False
    return True


def _parts_of(function: FunctionType) -> tuple[list[tuple[Any, Any, Any]], bool]:
    """What a function refers to, also through functions of its script, and whether it is frozen."""
    parts: list[tuple[Any, Any, Any]] = []
    frozen = True
    seen, left = {function}, [function]
    while left:
        one = left.pop()
        frozen = frozen and not one.__dict__ and not one.__kwdefaults__
        me = weakref.ref(one)
        own = [(me, "__code__", one.__code__), (me, "__defaults__", one.__defaults__)]
        cells = one.__closure__ or ()
        values: list[tuple[Any, Any, Any]] = [
            (cells, at, _content(c)) for at, c in enumerate(cells)
        ]
        for name in dict.fromkeys(_names(one.__code__)):
            values.append((one.__globals__, name, one.__globals__.get(name, MISSING)))
        parts += own + values
        for value in (one.__defaults__, *(value for _, _, value in values)):
            if type(value) is FunctionType and is_local(value):
                if value not in seen:
                    seen.add(value)
                    left.append(value)
            elif value is not MISSING:
                frozen = frozen and is_frozen(value)
    return parts, frozen


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it has none yet
        return MISSING


def _names(code: CodeType) -> Iterator[str]:
    """Names of globals that the code may read, and others."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
