"""Whether an action is made of what it must be made of: whole numbers, texts, true or false.

An entry may be anybody's, and Python does not check what it puts into an action. What passes here
can be journaled and read again: a whole number of another kind (numpy's, say) becomes Python's own,
a reason becomes one line that is not too long, everything else that is not of its type is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from operator import index
from typing import Any, Final, NamedTuple, get_args, get_origin, get_type_hints

from msgspec.structs import astuple, replace

from bursar.model.errors import one_line, shown
from bursar.model.time import Time, format_duration
from bursar.state import actions as act
from bursar.state.events import Status

LONGEST_REASON: Final = 1_000
"""Letters of a reason that are kept."""
LONGEST_NAME: Final = 100
"""Most letters of a class's name in a message."""
MOST_INPUTS: Final = 50
"""Figures by which an autoscaler may say that it decided."""
STOPS: Final = tuple(status for status in get_args(Status) if status != "done")
"""What an entry may end a run as; whether it is done is not for an entry to say."""

_ACTIONS: Final[tuple[type[act.Action], ...]] = get_args(act.AnyAction)


class Wrong(NamedTuple):
    """What is wrong with an action."""

    why: str


def _fields(kind: type[act.Action]) -> tuple[type, ...]:
    """The types of an action's fields; a status is a text, a table is a `dict`."""
    hints = get_type_hints(kind)
    own = {field: get_origin(hints[field]) or hints[field] for field in kind.__struct_fields__}
    return tuple(own[field] if isinstance(own[field], type) else str for field in own)


_TYPES: Final[Mapping[type, tuple[type, ...]]] = {kind: _fields(kind) for kind in _ACTIONS}
_SUBJECTS: Final = ("attempt", "task", "machine", "offer")


def as_asked(action: Any) -> Any:
    """The same action, made of Python's own types; or what is wrong with it."""
    kind = type(action)
    types = _TYPES[kind]
    if (*map(type, astuple(action)),) != types:
        return _mended(action, types)
    if kind is act.Wake:
        return action
    reason = action.reason
    if reason and not (len(reason) <= LONGEST_REASON and reason.isprintable()):
        action = replace(action, reason=one_line(reason[:LONGEST_REASON]))
    if kind is act.Stop and action.status not in STOPS:
        return Wrong(f"no run ends as {shown(action.status)}; write {', '.join(STOPS)}")
    return _with_own_tables(action) if kind is act.Scale else action


def none_missed(actions: Sequence[Any], asked: Time, answered: Time) -> Sequence[Any]:
    """A time to look again that came while an entry was thinking is the next that there is."""
    if answered <= asked:
        return actions
    soon = act.Wake(answered + 1)
    return [soon if _is_missed(action, asked, answered) else action for action in actions]


def _is_missed(action: Any, asked: Time, answered: Time) -> bool:
    return type(action) is act.Wake and type(action.at) is int and asked < action.at <= answered


def _mended(action: act.AnyAction, types: tuple[type, ...]) -> Any:
    changed: dict[str, Any] = {}
    for field, kind in zip(action.__struct_fields__, types, strict=True):
        value = getattr(action, field)
        if type(value) is kind:
            continue
        own = _MENDERS[kind](value)
        if own is None:
            return Wrong(f"its {field} must be {_CALLED[kind]}, not {_called(value)}")
        changed[field] = own
    return as_asked(replace(action, **changed))


def _with_own_tables(action: act.Scale) -> act.Scale | Wrong:
    """The same with tables that nobody else can change, of texts, whole and finite numbers."""
    fleet = {_text(name): _whole(count) for name, count in action.fleet.items()}
    inputs = {_text(name): _finite(value) for name, value in action.inputs.items()}
    if None in fleet or None in fleet.values():
        return Wrong("its fleet must have a whole number of machines by offer")
    if None in inputs or None in inputs.values() or len(inputs) > MOST_INPUTS:
        return Wrong(f"its inputs must be at most {MOST_INPUTS} finite numbers by name")
    named = {one_line(name[:LONGEST_NAME]): value for name, value in inputs.items() if name}
    lines = {_text(line): _wholes(tasks) for line, tasks in action.lines.items()}
    if None in lines or None in lines.values():
        return Wrong("its lines must have numbers of tasks by machine")
    return replace(action, fleet=fleet, inputs=named, lines=lines)


def _wholes(values: Any) -> tuple[int, ...] | None:
    """Whole numbers of a list or tuple."""
    if not isinstance(values, list | tuple):
        return None
    found = tuple(map(_whole, values))
    return None if None in found else found  # type: ignore[return-value]


def _finite(value: Any) -> float | None:
    try:
        number = float(value)
    except Exception:  # whatever a strange type may raise
        return None
    return number if isfinite(number) else None


def _whole(value: Any) -> int | None:
    """A whole number of any library; true and false are none."""
    if isinstance(value, bool):
        return None
    try:
        return int.__add__(index(value), 0)
    except Exception:  # whatever a strange type may raise
        return None


def _text(value: Any) -> str | None:
    return str.__str__(value) if isinstance(value, str) else None


def _flag(value: Any) -> bool | None:
    return None


def _table(value: Any) -> dict[Any, Any] | None:
    return dict(value) if isinstance(value, Mapping) else None


_MENDERS: Final[Mapping[type, Callable[[Any], Any]]] = {
    int: _whole,
    str: _text,
    bool: _flag,
    dict: _table,
}
_CALLED: Final[Mapping[type, str]] = {
    int: "a whole number",
    str: "a text",
    bool: "true or false",
    dict: "a table",
}


def kind_of(action: object) -> str:
    """The name of its class, for a refusal."""
    return one_line(type(action).__name__[:LONGEST_NAME])


def subject_of(action: object) -> str:
    """What an action is about: `task 7`, `offer small`."""
    if type(action) not in _TYPES:
        return ""
    for field in _SUBJECTS:
        value = getattr(action, field, None)
        if value is not None:
            return f"{field} {_text_of(value)}"
    if isinstance(action, act.Wake):
        return format_duration(action.at) if _is_modest(action.at) else _called(action.at)
    return ""


def _text_of(value: object) -> str:
    """A number or a name as it is; what is neither by the name of its type."""
    if type(value) is str:
        return one_line(value[:LONGEST_NAME])
    return str(value) if _is_modest(value) else _called(value)


def _is_modest(value: object) -> bool:
    """Whether this is a whole number that fits in 64 bits."""
    return type(value) is int and value.bit_length() < 64


def _called(value: object) -> str:
    if isinstance(value, bool):
        return str(value)
    return one_line(f"{type(value).__module__}.{type(value).__name__}"[:LONGEST_NAME]).removeprefix(
        "builtins."
    )
