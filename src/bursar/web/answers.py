"""Answers: JSON, and one clear line for every mistake."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.responses import Response


def answer(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A value as JSON."""
    return Response(
        msgspec.json.encode(value),
        status,
        {"cache-control": "no-store", **(headers or {})},
        "application/json",
    )


def mistake(status: int, line: str, headers: Mapping[str, str] | None = None) -> Response:
    """What was wrong, in one line: `{"error": "..."}`."""
    return answer({"error": line}, status, headers)
