"""A script whose functions and classes live in `__main__`, for a test."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from bursar.engine.loop import Engine
from bursar.execute.calls import Calls
from bursar.model.goal import Goal, Limits
from bursar.model.market import Market, Offer
from bursar.model.money import ZERO
from bursar.model.work import Bag, Work
from bursar.policies.registry import make_policy
from bursar.runs.worlds import local_world
from bursar.state import events as ev
from bursar.state.state import RunState


class Point:
    def __init__(self, x: int) -> None:
        self.x = x


class OwnError(Exception):
    pass


def double(point: Point) -> Point:
    return Point(2 * helper(point.x))


def helper(x: int) -> int:
    return x


def fail() -> None:
    raise OwnError("mine")


def make_adder(n: int):
    return lambda x: x + n


state = RunState()
market = Market("USD", "undated", (Offer("desk", ZERO, limit=2),))
state.apply(ev.RunCreated(0, "main", market, Goal(), Limits(), 0, {}, {}, time.time()))
calls = Calls()
doubled = calls.add(1, double, (Point(21),))
added = calls.add(2, make_adder(3), (4,))
failed = calls.add(3, fail)
state.apply(ev.WorkArrived(0, Work(Bag(3))))
state.apply(ev.ArrivalsEnded(0))
world = local_world(state, Path(sys.argv[1]), calls=calls)
Engine(state, make_policy(options={"provisioner": {"fleet": {"desk": 1}}}), world).run()
print(doubled.result().x, isinstance(doubled.result(), Point), added.result())
print(type(failed.exception()) is OwnError, failed.exception())
