"""`none`: a run keeps to what it began with."""

from __future__ import annotations

from typing import Any

from bursar.engine.roles import Advisor
from bursar.model.time import Time
from bursar.state.view import View


class NoAdvice(Advisor):
    def question(self, view: View, now: Time) -> None:
        return None

    def answer(self, question: Any) -> None:
        return None
