"""`regret`: the default policy beside the best plain fleet, which is chosen with hindsight.

A user could always write `--fleet` by hand. With what is known before a run, the default policy
should finish as surely, and about as fast, as the best of all such fleets would have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from statistics import fmean, median
from typing import Final

import msgspec
import numpy as np

from bursar.model.goal import Goal
from bursar.model.market import Market
from bursar.model.past_runtimes import PastRuntimes
from bursar.model.text import counted
from bursar.model.time import SECOND, Time
from bursar.model.work import Bag
from bursar.report.plot import Plot, Series
from bursar.report.summary import Summary
from bursar.reproduce.regret_bound import (
    OTHERS,
    SAFE_AT,
    Unaided,
    oracle_time,
    without_hindsight,
)
from bursar.reproduce.regret_cases import (
    ALL,
    BEFORE,
    HEAVY,
    HOURS,
    KNOWN,
    MOMENTS,
    NOTHING,
    SPEEDS,
    RegretCase,
    Runtimes,
    cases,
)
from bursar.reproduce.regret_rival import PlainFleet, Rival
from bursar.reproduce.result import Reproduction, Row, between, checked, shown_only
from bursar.runs.faults import Faults
from bursar.runs.request import Request
from bursar.runs.study import Subject, study
from bursar.simulate.faults import Runtimes as Simulated
from bursar.state.view import Machine

AT_ONCE: Final = 2
CASES: Final = 16
"""for each thing that may be known"""
RUNS: Final = 20
QUICK_CASES: Final = 4
"""one for each way of billing"""
QUICK_RUNS: Final = 5
FACTORS: Final = (1.1, 1.25, 1.6, 3.0)
"""budgets, by the least that the bag could cost"""
HOPELESS: Final = 0.85
HOPELESS_RUNS: Final = 6
NO_FAULTS: Final = Faults(0.0, 1.0, None, 0, ())
LATE: Final = 0.5
"""Share of its first tasks that have ended when the late oracle learns run times."""
MANY: Final = 3
"""Tasks a slot of the market from which on a first result comes long before the end."""
GAVE_UP: Final = 0.9
"""A run that ends unfinished with less of its budget spent has given up."""
ASSUMED: Final = (
    "a budget is a multiple of the work's cost on the offer that is cheapest for it, were no"
    " machine ever idle, booting, or paid for longer than used",
    "plain fleets: one offer at any count, two offers, all machines, halves, quarters; only cases"
    " count in which one of them finishes all executions within the budget",
    "times are the 90 % quantile of the executions that finish, by that of the best plain fleet",
    f"where run times are known, those of {BEFORE:,} earlier tasks are given as a history; of the"
    " same bags, mean and deviation alone",
    "the oracle begins with a plain fleet that finishes 85 % of the executions were the budget 1.1"
    " times the least, which nobody can tell before the first result, and rents the best at that;"
    " the late oracle, which learns as much once half of its first tasks have ended, at that time",
    f"a plain fleet without hindsight is the fastest that finishes {OTHERS} other executions",
)


WAITS: Final = (
    "before its first results nobody knows what a budget is worth, so that the first fleet is one"
    " that is safe with 1.1 times the least; an oracle that knows all from its first result on"
    " loses little by that, one that knows all once half of its first tasks have ended loses more"
    " (see their rows); and first results themselves do not tell run times well enough to rent"
    " more: tails are still possible that would hold large machines for long, and most bags here"
    " fit all machines at once"
)
SHAPE: Final = (
    "mean and deviation are known, and the form is not: half of the bags are Pareto, Weibull or of"
    " two kinds, and are planned for as lognormal; the rival knows every run time"
)
LUCK: Final = (
    "run times are known from 5,000 earlier tasks; the rival is the best of hundreds of fleets for"
    " these very executions, and keeps no money for others (see the rows of a plain fleet without"
    " hindsight)"
)
EDGE: Final = (
    "a few tasks are left in most of these executions: the first fleet was a little too large, and"
    " no later plan makes up for its boots"
)
REASONS: Final = {
    ALL: (LUCK, LUCK),
    MOMENTS: (SHAPE, SHAPE),
    SPEEDS: (EDGE, WAITS),
    HEAVY: (EDGE, WAITS),
    NOTHING: ("", WAITS),
}
"""Why executions do not finish, and why they take longer, by what is known."""


class Demand(msgspec.Struct, frozen=True):
    """What a prototype reached; None: shown only."""

    done: float | None = None
    least: float | None = None
    median: float | None = None
    worst: float | None = None


DEMANDS: Final[Mapping[tuple[str, float], Demand]] = {
    (ALL, 1.1): Demand(0.97, 0.85, 0.9, 2.0),
    (ALL, 1.25): Demand(0.99, 0.95, 1.0, 1.7),
    (ALL, 1.6): Demand(1.0, 1.0, 1.0, 1.2),
    (ALL, 3.0): Demand(1.0, 1.0, 1.0, 1.2),
    (SPEEDS, 1.1): Demand(0.85, None, 1.0, 1.9),
    (SPEEDS, 1.25): Demand(0.98, 0.85, 1.05, 1.7),
    (SPEEDS, 1.6): Demand(0.99, 0.9, 1.1, 1.7),
    (SPEEDS, 3.0): Demand(1.0, 1.0, 1.1, 1.5),
    (HEAVY, 1.6): Demand(0.9),
    (HEAVY, 3.0): Demand(1.0),
    (NOTHING, 1.25): Demand(0.8),
    (NOTHING, 1.6): Demand(0.95, None, 1.1, 1.6),
    (NOTHING, 3.0): Demand(1.0, 1.0, 1.1, 2.0),
}


class CaseOutcome(msgspec.Struct, frozen=True):
    """Executions of a case within a budget, beside the best plain fleet."""

    case: str
    rival: PlainFleet | None
    done: float
    """share of the executions that finish"""
    gave_up: float
    """share that ends unfinished with money left"""
    ratio: float | None
    """of times; None: none finishes"""
    spent: float
    """of the budget, the median"""
    tasks_a_slot: float = 0.0
    """of the bag, by all slots of the market"""
    bound: float | None = None
    """the time of an oracle that knows run times from its first result on, by the rival's ..."""
    late_bound: float | None = None
    """... and of one that learns them only when half of its first tasks have ended"""
    unaided: Unaided | None = None
    """a plain fleet that was chosen without hindsight, where run times are known"""


# --- the runs ------------------------------------------------------------------------------------


def outcome(case: RegretCase, factor: float, runs: int, rival: Rival | None) -> CaseOutcome:
    """Execute a case under the default policy, and compare; not where it would not count."""
    budget = case.budget(factor)
    best = None if rival is None else rival.best(float(budget))
    is_refused = budget < case.market.cheapest_entry  # before anything is spent
    if is_refused or (rival is not None and best is None):
        return CaseOutcome(case.name, None, 0.0, 0.0, None, 0.0)
    ours = study(subject(case, Goal(budget=budget)), NO_FAULTS, range(runs)).runs
    finished = [one.makespan_s * SECOND for one in ours if one.tasks.done == case.tasks]
    p90 = float(np.quantile(finished, 0.9)) if finished else None
    return CaseOutcome(
        case=case.name,
        rival=best,
        done=len(finished) / runs,
        gave_up=sum(_gave_up(one, case, float(budget)) for one in ours) / runs,
        ratio=None if p90 is None or best is None else p90 / best.p90,
        spent=median(float(one.money.committed) for one in ours) / float(budget),
        tasks_a_slot=case.tasks / sum(one.slots * (one.limit or 1) for one in case.market.offers),
        bound=None if best is None else _bound(case, factor, runs, best),
        late_bound=None if best is None else _bound(case, factor, runs, best, LATE),
        unaided=None if best is None else _unaided(case, factor, runs, best),
    )


def _bound(
    case: RegretCase, factor: float, runs: int, best: PlainFleet, after: float = 0.0
) -> float | None:
    """Where speeds are known and run times are not, as most users have it."""
    if case.known != SPEEDS or factor <= SAFE_AT:
        return None
    time = oracle_time(case, factor, runs, after)
    return None if time is None else time / best.p90


def _unaided(case: RegretCase, factor: float, runs: int, best: PlainFleet) -> Unaided | None:
    """Where run times are known."""
    return without_hindsight(case, factor, runs, best) if case.known == ALL else None


def _gave_up(one: Summary, case: RegretCase, budget: float) -> bool:
    return one.tasks.done < case.tasks and float(one.money.committed) < GAVE_UP * budget


def subject(case: RegretCase, goal: Goal) -> Subject:
    """What is asked for: no more than is known before the run."""
    request = Request(market=shown_market(case), goal=goal, bag=Bag(count=case.tasks))
    if case.known == ALL:
        request = request.knowing(PastRuntimes.of(case.history().tolist()))
    if case.known == MOMENTS:
        deviation = round(case.spread.deviation * case.mean)
        request = msgspec.structs.replace(request, runtime=case.mean, deviation=deviation)
    return Subject(request, lambda seed: _true_runtimes(case, case.runtimes(seed)))


def shown_market(case: RegretCase) -> Market:
    """The market that the user has: without speeds where they are not known."""
    if case.known != NOTHING:
        return case.market
    offers = tuple(msgspec.structs.replace(one, speed=1.0) for one in case.market.offers)
    return msgspec.structs.replace(case.market, offers=offers)


def _true_runtimes(case: RegretCase, runtimes: Runtimes) -> Simulated:
    speeds = {offer.name: offer.speed for offer in case.market.offers}

    def runtime(task: int, machine: Machine) -> Time:
        return max(1, round(int(runtimes[task - 1]) / speeds[machine.offer.name]))

    return runtime


def outcomes_of(case: RegretCase, runs: int) -> list[tuple[float, CaseOutcome]]:
    """With each budget; with a hopeless one, too, unless another set has the same bags."""
    rival = Rival(case.market, [case.runtimes(run) for run in range(runs)])
    found = [(factor, outcome(case, factor, runs, rival)) for factor in FACTORS]
    if case.known == MOMENTS:
        return found
    return [*found, (HOPELESS, outcome(case, HOPELESS, HOPELESS_RUNS, None))]


# --- the table -----------------------------------------------------------------------------------


def reproduce(name: str, *, quick: bool = False) -> Reproduction:
    """All cases; `quick`: some of each thing known, with few executions."""
    count, runs = (QUICK_CASES, QUICK_RUNS) if quick else (CASES, RUNS)
    every = [case for known in KNOWN for case in cases(known, count)]
    with ProcessPoolExecutor(AT_ONCE, mp_context=get_context("spawn")) as pool:
        found = list(pool.map(partial(outcomes_of, runs=runs), every))
    return _table(name, every, found, count, runs)


def _table(
    name: str,
    every: Sequence[RegretCase],
    found: Sequence[Sequence[tuple[float, CaseOutcome]]],
    count: int,
    runs: int,
) -> Reproduction:
    """All rows, of the cases and what was found of each."""
    by_cell: dict[tuple[str, float], list[CaseOutcome]] = {}
    hopeless = []
    for case, outcomes in zip(every, found, strict=True):
        for factor, one in outcomes:
            by_cell.setdefault((case.known, factor), []).append(one)
            if factor == HOPELESS and case.billing != HOURS:
                hopeless.append(one.spent)
    return Reproduction(
        name=name,
        title="The default policy beside the best plain fleet, chosen with hindsight",
        source="a demand of our own; no figure of a paper",
        rows=(
            *(row for cell, some in by_cell.items() for row in _rows(*cell, some)),
            *(row for factor in FACTORS for row in _without_hindsight(factor, by_cell)),
            *(row for factor in FACTORS for row in _split(factor, by_cell[SPEEDS, factor])),
            *_stops(by_cell, hopeless),
        ),
        assumed=(
            f"{count} markets and bags for each thing known, {runs} executions each; every market,"
            " bag and execution is drawn from its name",
            *ASSUMED,
        ),
        plots=(_plot(by_cell),),
    )


def _rows(known: str, factor: float, every: Sequence[CaseOutcome]) -> Iterator[Row]:
    """Of the cases that a plain fleet finishes."""
    some = [one for one in every if one.rival is not None]
    if factor == HOPELESS or not some:
        return
    demand = DEMANDS.get((known, factor), Demand())
    where = f"{known}, {factor:g} x least"
    note = f"{counted(len(some), 'case')} of {len(every)} that a plain fleet finishes"
    worst = min(some, key=lambda one: one.done)
    unfinished, slow = REASONS[known]
    done = fmean(one.done for one in some)
    yield _row(f"{where}: finished", done, demand.done, note=note, why=unfinished)
    least = f"{where}: finished, least case"
    yield _row(least, worst.done, demand.least, note=worst.case, why=unfinished)
    timed = [one for one in some if one.ratio is not None]
    ratios = {one.case: one.ratio for one in timed if one.ratio is not None}
    if not ratios:
        return
    slowest = max(ratios, key=lambda case: ratios[case])
    middle, most = median(ratios.values()), ratios[slowest]
    yield _row(f"{where}: time, median", middle, demand.median, below=True, why=slow)
    yield _row(f"{where}: time, worst", most, demand.worst, below=True, note=slowest, why=slow)


def _without_hindsight(
    factor: float, by_cell: Mapping[tuple[str, float], Sequence[CaseOutcome]]
) -> Iterator[Row]:
    """Where run times are known: what a plain fleet does that was chosen by other executions."""
    some = [one for one in by_cell[ALL, factor] if one.rival is not None]
    found = [one.unaided for one in some if one.unaided is not None]
    if not found:
        return
    where = f"{ALL}, {factor:g} x least, a plain fleet without hindsight"
    note = f"there is one in {counted(len(found), 'case')} of {len(some)}"
    yield _row(f"{where}: finished", fmean(one.done for one in found), None, note=note)
    yield _row(f"{where}: time, median", median(one.ratio for one in found), None)
    yield _row(f"{where}: time, worst", max(one.ratio for one in found), None)


def _split(factor: float, every: Sequence[CaseOutcome]) -> Iterator[Row]:
    """Where speeds are known: bags that all machines can have at once nearly, and larger ones."""
    some = [one for one in every if one.rival is not None and one.ratio is not None]
    few = [one for one in some if one.tasks_a_slot < MANY]
    many = [one for one in some if one.tasks_a_slot >= MANY]
    everywhere = f"{SPEEDS}, {factor:g} x least"
    yield from _oracles(everywhere, some)
    for cases_, which in ((few, f"fewer than {MANY}"), (many, f"{MANY} or more")):
        if not cases_:
            continue
        where = f"{everywhere}, {which} tasks a slot of the market"
        note = counted(len(cases_), "case")
        yield _row(f"{where}: finished", fmean(one.done for one in cases_), None, note=note)
        ratios = [one.ratio for one in cases_ if one.ratio is not None]
        yield _row(f"{where}: time, median", median(ratios), None, note=note)
        yield from _oracles(where, cases_)


def _oracles(where: str, some: Sequence[CaseOutcome]) -> Iterator[Row]:
    """The times of those who learn all run times at once, early or late."""
    early = [one.bound for one in some if one.bound is not None]
    late = [one.late_bound for one in some if one.late_bound is not None]
    if early:
        note = f"{counted(len(early), 'case')}; it knows all from its first result on"
        yield _row(f"{where}: time of an oracle, median", median(early), None, note=note)
    if late:
        note = f"{counted(len(late), 'case')}; it knows all once half of its first tasks have ended"
        yield _row(f"{where}: time of a late oracle, median", median(late), None, note=note)


def _row(
    what: str,
    ours: float,
    demand: float | None,
    *,
    below: bool = False,
    note: str = "",
    why: str = "",
) -> Row:
    ours = round(ours, 3)
    if demand is None:
        return shown_only(what, None, ours, note)
    low, high = (0.0, demand) if below else (demand, 1.0)
    return checked(what, ours, between(low, high, "what a prototype reached"), note=note, why=why)


def _stops(
    by_cell: Mapping[tuple[str, float], Sequence[CaseOutcome]], hopeless: Sequence[float]
) -> Iterator[Row]:
    """Hopeless budgets are given up early; those that would do are not."""
    yield checked(
        f"{HOPELESS:g} x least: money spent, median",
        round(median(hopeless), 3),
        between(0.0, 0.3, "stop with at most 30 % of the money spent"),
        note=f"{counted(len(hopeless), 'case')} billed by the second or minute",
    )
    could = [
        one
        for known in KNOWN
        if known != MOMENTS
        for one in by_cell[known, 1.25]
        if one.rival is not None
    ]
    yield checked(
        "1.25 x least: given up",
        round(fmean(one.gave_up for one in could), 4),
        between(0.0, 0.02, "a plain fleet could have finished"),
        note=f"{counted(len(could), 'case')} that a plain fleet finishes",
    )


def _plot(by_cell: Mapping[tuple[str, float], Sequence[CaseOutcome]]) -> Plot:
    return Plot(
        title="Executions that finish within the budget, where a plain fleet finishes all",
        across="budget by the least possible cost",
        upward="share that finishes",
        series=tuple(
            Series(
                known,
                tuple(
                    (float(place), fmean(one.done for one in some))
                    for place, factor in enumerate(FACTORS)
                    if (some := [one for one in by_cell[known, factor] if one.rival is not None])
                ),
                "bars",
            )
            for known in KNOWN
        ),
        categories=tuple(f"{factor:g}" for factor in FACTORS),
        top=1.0,
    )
