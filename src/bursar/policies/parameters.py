"""Parameters of entries as users write them behind a name: `slop:f=0.2:tokens=stay`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, get_args, get_origin

from bursar.model.errors import InputError, shown

WORDS: Final[Mapping[type, str]] = {int: "a whole number", float: "a number", str: "a word"}
"""types that a value may have, for people"""


def parameters_of(
    make: Callable[..., Any], what: str, settings: Sequence[str]
) -> dict[str, int | float | str]:
    """Values by parameter, of texts like `f=0.2`; `what` tells people whose they are."""
    known = _known(make)
    given: dict[str, int | float | str] = {}
    for setting in settings:
        key, sign, text = setting.partition("=")
        if not sign or key not in known:
            able = f"it has {', '.join(known)}" if known else "it has none"
            example = f"; write {next(iter(known))}=VALUE" if known and not sign else ""
            raise InputError(f"{what} has no parameter {shown(key)}: {able}{example}")
        if key in given:
            raise InputError(f"{what} gets {key} twice; remove one")
        given[key] = _value(text, known[key], f"{key} of {what}")
    return given


def _known(make: Callable[..., Any]) -> dict[str, Any]:
    """The parameters that a user may give, and their types: those with a plain value."""
    from inspect import signature

    hints = _hints(make)
    return {
        key: hints[key]
        for key, one in signature(make).parameters.items()
        if key in hints and one.default is not one.empty and _is_plain(hints[key])
    }


def _hints(make: Callable[..., Any]) -> dict[str, Any]:
    """Types of parameters; those that are known to type checkers only are left out."""
    from typing import get_type_hints

    try:
        return get_type_hints(make.__init__ if isinstance(make, type) else make)  # type: ignore[misc]
    except NameError:
        return {}


def _is_plain(hint: Any) -> bool:
    return get_origin(hint) is Literal or bool({hint, *get_args(hint)} & set(WORDS))


def _value(text: str, hint: Any, what: str) -> int | float | str:
    if get_origin(hint) is Literal:
        if text not in get_args(hint):
            raise InputError(f"{what} is {' or '.join(get_args(hint))}, not {shown(text)}")
        return text
    kind = next(one for one in WORDS if one in {hint, *get_args(hint)})
    try:
        value: int | float | str = kind(text)
    except ValueError:
        raise InputError(f"{what} is {WORDS[kind]}, not {shown(text)}") from None
    if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124 -- not a number
        raise InputError(f"{what} is {WORDS[kind]}, not {shown(text)}")
    return value
