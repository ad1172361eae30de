"""Modules that a worker cannot import: the script itself, and what was loaded in odd ways.

What comes from them is sent by value.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Final

import cloudpickle

_HOMELESS: Final[dict[str, bool]] = {"__main__": True}
"""by name of a module: whether a worker cannot import it"""
_MARKS: Final = [b"__main__"]
"""the names of those that it cannot, as pickles have them"""
_SEEN: Final[set[str]] = set()
"""modules that were there when somebody last looked for new ones"""
_LOCK: Final = threading.RLock()
"""held while modules are registered with cloudpickle"""


def is_homeless(name: str | None) -> bool:
    """Whether a worker would look for a module of this name in vain, or find another one."""
    if name is None:
        return False
    known = _HOMELESS.get(name)
    if known is None:
        module = sys.modules.get(name)
        is_itself = getattr(module, "__name__", None) == name  # and no other name of another one
        known = is_itself and module is not None and not _is_found(name, module)
        _HOMELESS[name] = known
        if known:
            _MARKS.append(name.encode())
    return known


def mentions_homeless(data: bytes) -> bool:
    """Whether a pickle may refer to such a module by name."""
    if len(sys.modules) != len(_SEEN):
        _look_around()
    return any(mark in data for mark in _MARKS)


@contextmanager
def by_value() -> Iterator[None]:
    """Let cloudpickle send what is in such modules by value (it does so for `__main__`)."""
    names = [mark.decode() for mark in _MARKS[1:]]
    if not names:
        yield
        return
    with _LOCK:
        registered = cloudpickle.list_registry_pickle_by_value()
        modules = [
            sys.modules[name] for name in names if name in sys.modules and name not in registered
        ]
        for module in modules:
            cloudpickle.register_pickle_by_value(module)
        try:
            yield
        finally:
            for module in modules:
                cloudpickle.unregister_pickle_by_value(module)


def _look_around() -> None:
    """Find such modules among those that were imported since: arguments may come from them, too."""
    names = set(sys.modules)
    for name in names - _SEEN:
        file = getattr(sys.modules.get(name), "__file__", None)
        if file is not None and is_homeless(name.partition(".")[0]):
            is_homeless(name)
    _SEEN.clear()
    _SEEN.update(names)


def _is_found(name: str, module: ModuleType) -> bool:
    """Whether those who look for modules find this one, as if it were not there yet."""
    parent, _, _ = name.rpartition(".")
    if parent and (parent not in sys.modules or is_homeless(parent)):
        return False
    path = getattr(sys.modules[parent], "__path__", None) if parent else None
    file = getattr(module, "__file__", None)
    for finder in sys.meta_path:
        try:
            spec = finder.find_spec(name, path)
        except Exception:  # noqa: S112
            continue  # a finder with a bug; another one may know the module
        if spec is not None:
            return file is None or spec.origin in (None, "frozen", "built-in", file)
    return False
