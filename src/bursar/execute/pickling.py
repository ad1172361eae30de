"""Pickling that also carries what lives in `__main__`: lambdas, closures, classes of a script."""

from __future__ import annotations

import pickle
from typing import Any


def pack(value: Any) -> bytes:
    """Plain pickle where it suffices, else cloudpickle.

    Plain pickle refers to what is in `__main__` by name, and another process has another
    `__main__`; so whatever mentions it is sent by value.
    """
    try:
        data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except Exception:
        return _pack_by_value(value)
    return _pack_by_value(value) if b"__main__" in data else data


def _pack_by_value(value: Any) -> bytes:
    import cloudpickle

    data: bytes = cloudpickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    return data
