"""Which of many strategies are worth a choice, and which one a person prefers (ExPERT, 4.4, 4.5).

A point is (makespan in seconds, cost), both estimated; less is better. Any preference for less of
both finds its best point on the frontier.
"""

from __future__ import annotations

import ast
import math
import operator
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from bursar.model.errors import InputError, shown
from bursar.model.option_words import PYTHON, OptionWords
from bursar.plan.dominance import Point, knee

Utility = Callable[[float, float], float]
"""A number for a makespan and a cost; the less, the better."""

NAMED: Final[Mapping[str, Utility]] = {
    "cheapest": lambda _, cost: cost,
    "fastest": lambda makespan, _: makespan,
}
WITHIN: Final[Mapping[str, str]] = {"within-budget": "fastest", "within-deadline": "cheapest"}
"""What is preferred among the strategies within the limit."""
LONGEST_EXPRESSION: Final = 200

_BINARY: Final[Mapping[type[ast.operator], Callable[[float, float], float]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_UNARY: Final[Mapping[type[ast.unaryop], Callable[[float], float]]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}
_CALLS: Final[Mapping[str, Callable[..., float]]] = {"min": min, "max": max}


def frontier(points: Sequence[Point]) -> list[int]:
    """The points that no other beats, from the cheapest to the fastest; of equals the first."""
    front: list[int] = []
    least = math.inf
    for index in sorted(range(len(points)), key=lambda one: (points[one][1], points[one][0], one)):
        makespan = points[index][0]
        if makespan < least or not front:
            least = makespan
            front.append(index)
    return front


def knee_of(points: Sequence[Point]) -> int:
    """The point that saves the most time for its money; see `bursar.plan.dominance.knee`."""
    front = frontier(points)
    return front[knee([points[index] for index in front])]


def parse_preference(text: str) -> Utility:
    """Read a name of a preference, or arithmetic such as `makespan * cost`.

    Allowed are numbers, `makespan`, `cost`, + - * / **, parentheses, `min` and `max`. Nothing of it
    is ever given to Python to execute.
    """
    named = NAMED.get(WITHIN.get(text.strip(), text.strip()))
    if named is not None:
        return named
    if len(text) > LONGEST_EXPRESSION:
        raise _mistake(text, f"is longer than {LONGEST_EXPRESSION} characters")
    try:
        with warnings.catch_warnings(action="ignore"):  # of odd strings, which are refused anyway
            tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise _mistake(text, "is not a preference") from None
    _check(tree, text)

    def utility(makespan: float, cost: float) -> float:
        try:
            value = _value(tree, {"makespan": makespan, "cost": cost})
        except (ArithmeticError, ValueError):
            value = math.nan
        if not isinstance(value, float) or not math.isfinite(value):
            raise _mistake(text, f"has no value at makespan {makespan:g} and cost {cost:g}")
        return value

    return utility


def prefer(
    points: Sequence[Point],
    preference: str | None = None,
    *,
    budget: float | None = None,
    deadline: float | None = None,
) -> int | None:
    """The point preferred among those that cost and take no more than is allowed; None: none does.

    Without a preference it is the fastest within a budget, the cheapest within a deadline, and else
    the knee. Of equals, the cheaper and then the faster is taken.
    """
    check_preference(preference, has_budget=budget is not None, has_deadline=deadline is not None)
    utility = None if preference is None else parse_preference(preference)
    allowed = [
        index
        for index in frontier(points)
        if (budget is None or points[index][1] <= budget)
        and (deadline is None or points[index][0] <= deadline)
    ]
    if not allowed:
        return None
    if utility is None:
        if budget is None and deadline is None:
            return knee_of(points)
        utility = NAMED["cheapest" if budget is None else "fastest"]
    return min(allowed, key=lambda index: utility(*points[index]))


def check_preference(
    preference: str | None,
    *,
    has_budget: bool,
    has_deadline: bool,
    asked: OptionWords = PYTHON,
) -> None:
    """Refuse what cannot be understood, and a limit that nobody gave."""
    if preference is None:
        return
    parse_preference(preference)
    wanted = preference.strip()
    if (wanted == "within-budget" and not has_budget) or (
        wanted == "within-deadline" and not has_deadline
    ):
        limit = wanted.removeprefix("within-")
        raise InputError(
            f"{wanted} is preferred, but there is no {limit}; give {asked.option(limit)}, too"
        )


def _check(node: ast.expr, text: str) -> None:
    """Refuse all but arithmetic."""
    match node:
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _BINARY:
            parts = [left, right]
        case ast.UnaryOp(op=sign, operand=operand) if type(sign) in _UNARY:
            parts = [operand]
        case ast.Call(func=ast.Name(id=name), args=[_, *_] as given, keywords=[]) if name in _CALLS:
            parts = given
        case ast.Constant(value=value) if type(value) in (int, float):
            parts = []
        case ast.Name(id="makespan" | "cost"):
            parts = []
        case _:
            raise _mistake(text, "is not a preference")
    for part in parts:
        _check(part, text)


def _value(node: ast.expr, known: Mapping[str, float]) -> float:
    """The value of checked arithmetic, in floats, so that no power takes long."""
    match node:
        case ast.BinOp(left=left, op=sign, right=right):
            return _BINARY[type(sign)](_value(left, known), _value(right, known))
        case ast.UnaryOp(op=minus, operand=operand):
            return _UNARY[type(minus)](_value(operand, known))
        case ast.Call(func=ast.Name(id=name), args=given):
            values = [_value(one, known) for one in given]
            return values[0] if len(values) == 1 else _CALLS[name](*values)
        case ast.Name(id=name):
            return known[name]
        case ast.Constant(value=int() | float() as value):
            return float(value)
    raise AssertionError("checked before")


def _mistake(text: str, what: str) -> InputError:
    return InputError(
        f"{shown(text)} {what}; write {', '.join([*NAMED, *WITHIN])}, or arithmetic of makespan and"
        " cost such as makespan*cost"
    )
