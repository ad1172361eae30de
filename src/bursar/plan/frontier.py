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
from bursar.plan.dominance import Point, beaten_by, knee

Utility = Callable[[float, float], float]
"""Of makespan and cost; the less, the better."""

NAMED: Final[Mapping[str, Utility]] = {
    "cheapest": lambda _, cost: cost,
    "fastest": lambda makespan, _: makespan,
}
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
    """The points that no other beats, from the cheapest to the fastest."""
    beaters = beaten_by(points)
    front = [index for index, beater in enumerate(beaters) if beater is None]
    return sorted(front, key=lambda index: points[index][::-1])


def parse_preference(text: str) -> Utility:
    """Read `cheapest`, `fastest`, or arithmetic such as `makespan * cost`.

    Allowed are numbers, `makespan`, `cost`, + - * / **, parentheses, `min` and `max`. Nothing of it
    is ever given to Python to execute.
    """
    named = NAMED.get(text.strip())
    if named is not None:
        return named
    if len(text) > LONGEST_EXPRESSION:
        raise _mistake(text, f"is longer than {LONGEST_EXPRESSION} characters")
    try:
        with warnings.catch_warnings(action="ignore"):  # of odd strings, which are refused anyway
            tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise _mistake(text, "is no preference") from None
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
            return knee(points)
        utility = NAMED["cheapest" if budget is None else "fastest"]
    return min(allowed, key=lambda index: utility(*points[index]))


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
            raise _mistake(text, "is no preference")
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
        f"{shown(text)} {what}; write cheapest, fastest, or arithmetic of makespan and cost such as"
        " makespan*cost"
    )
