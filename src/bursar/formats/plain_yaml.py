"""YAML without its traps: mappings, lists and scalars, and nothing that surprises.

Keys are text as it stands (`no:` is `no`). Plain scalars are numbers, true, false and null as in
YAML 1.2, else text: `on` and `12:30` are what they look like. A key may stand once. Anchors, tags
and several documents are refused, for a line of them can stand for very much.
"""

from __future__ import annotations

import re
from typing import Any, Final

from bursar.model.errors import InputError, one_line, shown

DEEPEST: Final = 50
_CONSTANTS: Final = {
    "": None,
    "~": None,
    **dict.fromkeys(("null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_WHOLE: Final = re.compile(r"[-+]?\d{1,18}", re.ASCII)
_DECIMAL: Final = re.compile(r"[-+]?(\d{1,40}\.\d{0,40}|\.\d{1,40})([eE][-+]?\d{1,3})?", re.ASCII)


def read_yaml(text: str, source: str) -> Any:
    """What the text holds; a mistake is reported with its line."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    builder = _Builder(source)
    try:
        for event in yaml.parse(text, Loader=loader):
            builder.take(event)
    except yaml.YAMLError as error:
        raise InputError(f"{source}{_reason(error)}") from None
    except UnicodeEncodeError:
        raise InputError(f"{source}: not valid YAML: it is not Unicode text") from None
    return builder.result


def _reason(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    why = getattr(error, "problem", None) or getattr(error, "reason", None) or "cannot be read"
    line = "" if mark is None else f", line {mark.line + 1}"
    return f"{line}: not valid YAML: {one_line(str(why))}"


class _Builder:
    """Builds the value from the parser's events, without recursion."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.result: Any = None
        self.documents = 0
        self.open: list[dict[str, Any] | list[Any]] = []
        self.keys: list[str | None] = []
        """of the open mappings, the key whose value comes next"""

    def take(self, event: Any) -> None:
        kind = type(event).__name__
        if kind == "DocumentStartEvent":
            self.documents += 1
            if self.documents > 1:
                raise self._error(event, "a second document begins; put it into a file of its own")
        elif kind == "AliasEvent" or getattr(event, "anchor", None):
            raise self._error(event, "anchors and aliases are not supported; write it out")
        elif kind == "ScalarEvent":
            self._scalar(event)
        elif kind in ("MappingStartEvent", "SequenceStartEvent"):
            self._check_tag(event, event.implicit)
            self._begin({} if kind == "MappingStartEvent" else [], event)
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            self.open.pop()
            self.keys.pop()

    def _begin(self, container: dict[str, Any] | list[Any], event: Any) -> None:
        if len(self.open) >= DEEPEST:
            raise self._error(event, "nested too deeply")
        if self._wants_key():
            raise self._error(event, "a key must be text")
        self._put(container)
        self.open.append(container)
        self.keys.append(None)

    def _scalar(self, event: Any) -> None:
        plain = event.implicit[0]
        self._check_tag(event, plain or event.implicit[1])
        if not self._wants_key():
            self._put(_value(event.value) if plain else event.value)
            return
        key, mapping = event.value, self.open[-1]
        if key in mapping:
            raise self._error(event, f"{shown(key)} appears a second time; rename or remove it")
        self.keys[-1] = key

    def _wants_key(self) -> bool:
        return bool(self.open) and isinstance(self.open[-1], dict) and self.keys[-1] is None

    def _put(self, value: Any) -> None:
        if not self.open:
            self.result = value
            return
        container, key = self.open[-1], self.keys[-1]
        if isinstance(container, list):
            container.append(value)
        elif key is not None:
            container[key] = value
            self.keys[-1] = None

    def _check_tag(self, event: Any, is_implicit: bool) -> None:
        if event.tag is not None and not is_implicit:
            raise self._error(event, f"the tag {shown(event.tag)} is not supported; remove it")

    def _error(self, event: Any, message: str) -> InputError:
        return InputError(f"{self.source}, line {event.start_mark.line + 1}: {message}")


def _value(text: str) -> Any:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else text
