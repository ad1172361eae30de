"""The frontier of `bursar frontier` for Python programs and notebooks."""

from __future__ import annotations

import os

from bursar.journal.runs import Home
from bursar.model.option_words import PYTHON
from bursar.model.time import SECOND, parse_duration
from bursar.plan.pools.frontier import check_preference
from bursar.plan.pools.refine import Grid
from bursar.runs.frontier import StrategyFrontier, StrategyRequest, find_strategies
from bursar.runs.frontier_input import Options, money_of, what_is_known

REPETITIONS = 100


def find_frontier(
    tasks: int,
    market: str | os.PathLike[str] | None = None,
    *,
    history: str | None = None,
    unreliable: int | None = None,
    reliable: int | None = None,
    reliability: float | None = None,
    turnaround: str | None = None,
    unreliable_price: str | None = None,
    reliable_price: str | None = None,
    prefer: str | None = None,
    budget: str | None = None,
    deadline: str | None = None,
    grid: Grid = "adaptive",
    repetitions: int = REPETITIONS,
    seed: int = 0,
) -> StrategyFrontier:
    """Ways to mix unreliable and reliable machines that no other beats, cheapest to fastest.

    Arguments are the options of `bursar frontier`, written as there. In a notebook the frontier
    shows itself; `frontier` is the list of its strategies.
    """
    options = Options(
        tasks=tasks,
        market=None if market is None else os.fspath(market),
        unreliable=unreliable,
        reliable=reliable,
        reliability=reliability,
        turnaround=turnaround,
        history=history,
        unreliable_price=unreliable_price,
        reliable_price=reliable_price,
    )
    check_preference(
        prefer, has_budget=budget is not None, has_deadline=deadline is not None, asked=PYTHON
    )
    known = what_is_known(options, Home.of(os.environ))
    request = StrategyRequest(
        prefer=prefer,
        budget=None if budget is None else float(money_of(budget, known.market)) / tasks,
        deadline=None if deadline is None else parse_duration(deadline) / SECOND,
    )
    return find_strategies(known, request, grid, repetitions, seed)
