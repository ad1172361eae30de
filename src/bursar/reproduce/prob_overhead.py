"""`prob-overhead`: what Prob's prunings save, and what they cost in quality (Prob, section 6.3).

Seconds are of the machine that computes them, on one core. What is counted is the same everywhere.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.model.errors import InvariantError
from bursar.plan.published.prob_evaluation import Evaluation
from bursar.plan.published.prob_operations import EXACT, PUBLISHED, Tally, Techniques
from bursar.plan.published.prob_paths import Paths, preprocess
from bursar.plan.published.prob_problem import Problem, Solution, by_level_and_kind
from bursar.plan.published.prob_search import search
from bursar.plan.published.prob_times import SAMPLES, Distributions, Samples, T, Times
from bursar.reproduce import prob_setting
from bursar.reproduce.prob_methods import CHANCE, MethodChoice, Methods
from bursar.reproduce.prob_quality import mean_makespan, small_cases
from bursar.reproduce.prob_setting import DATA, TIGHT, ProbCase
from bursar.reproduce.result import (
    Reproduction,
    Row,
    between,
    checked,
    judged,
    rounded,
    same,
    shown_only,
)

Integers = NDArray[np.int64]

STATES: Final = 50
"""that a search looks at where techniques are switched off"""
JUDGED: Final = 2000
"""executions by which a makespan is known"""
JUDGING_SEED: Final = 11
SEED: Final = 5
SECONDS: Final[Mapping[str, float]] = {"Montage": 2.5, "CyberShake": 1.7, "Q1": 6.1, "Q9": 7.0}
PATHS: Final[Mapping[str, tuple[int, int]]] = {"Montage": (219_452, 1)}
"""before and after pre-processing"""
FEW_PATHS: Final = between(1, 1, "all paths of a query have one length, and are bound to one")
NO_WORSE: Final = between(0, 1.05, "no worse than the ratio of the paper")
TOO_LONG: Final = between(0.99, 2.0, "paths taken as independent are too long, not too short")
SPEEDUP: Final = 450
RATIO: Final = 1.05
BOUNDS: Final = "bounds in comparisons"
WITHOUT: Final[Mapping[str, Techniques]] = {
    "bundling": msgspec.structs.replace(PUBLISHED, bundle=False),
    "clustering": msgspec.structs.replace(PUBLISHED, cluster=1),
    "both of these": msgspec.structs.replace(PUBLISHED, bundle=False, cluster=1),
    "partial evaluation": msgspec.structs.replace(PUBLISHED, partial=False),
    BOUNDS: msgspec.structs.replace(PUBLISHED, bounds=False),
}
ASSUMED: Final = (
    *prob_setting.ASSUMED,
    "seconds of the paper are of another computer, and not judged",
    "the budget is the tight one; tasks of one level and kind move together in the published"
    " search, which looks at 200 states, as does the one by Monte-Carlo; the product's moves single"
    " tasks",
    "this Montage has 1,760 images: each of 14,084 ways through the differences goes on to each of"
    " 1,760 corrections; the structure of the paper's Montage, of 10,567 tasks, is not printed; one"
    " image overlaps no other, so that its path is shorter and cannot be bound: two are left",
    f"Monte-Carlo as in section 3.3: {SAMPLES:,} draws for every operation, on the pre-processed"
    " paths, nothing kept from one state to the next, a comparison by sorting instead of all pairs;"
    " one state is measured, and taken as many times as Prob looked at states; the paper does not"
    " tell its number of draws",
    f"techniques are switched off one at a time, nothing being kept from one state to the next,"
    f" in {STATES} states",
)


class Measured(msgspec.Struct, frozen=True, eq=False):
    """One workflow, searched in all ways."""

    case: ProbCase
    paths: Paths
    preparing: float
    """seconds"""
    prob: Solution
    prob_seconds: float
    carlo: Solution
    """by Monte-Carlo, with all that is known kept"""
    carlo_seconds: float
    state_seconds: float
    """what Monte-Carlo takes for a state, with nothing kept"""
    ours: MethodChoice
    by_chance: MethodChoice
    """by the product's search; the second has the budget as a percentile"""
    exact: Solution
    """Prob with nothing left out"""
    tallies: dict[str, tuple[Tally, float]]
    """by the technique that is switched off, with seconds; all are on: ''"""

    def mean(self, offers: Integers) -> float:
        return mean_makespan(self.case.times, offers, JUDGED, JUDGING_SEED)

    @property
    def naive_seconds(self) -> float:
        """Monte-Carlo with nothing kept, for as many states as Prob looked at."""
        return self.prob.tally.states * self.state_seconds


def measure(case: ProbCase, samples: int = SAMPLES, states: int = STATES) -> Measured:
    began = time.perf_counter()
    paths = preprocess(case.dag)
    preparing = time.perf_counter() - began
    problem, on = case.problem(case.budget(TIGHT)), case.performances
    prob, prob_seconds = _searched(problem, Distributions(on), paths, PUBLISHED)
    exact, _ = _searched(problem, Distributions(on), paths, EXACT)
    drawn = Samples(on, np.random.default_rng(SEED), samples)
    carlo, carlo_seconds = _searched(problem, drawn, paths, EXACT)
    methods = Methods(case)
    ours, by_chance = methods.prob(problem.budget), methods.prob(problem.budget, CHANCE)
    if ours is None or by_chance is None:
        raise InvariantError(f"{case.name}: nothing was found within the tight budget")
    return Measured(
        case=case,
        paths=paths,
        preparing=preparing,
        prob=prob,
        prob_seconds=prob_seconds,
        carlo=carlo,
        carlo_seconds=carlo_seconds,
        state_seconds=_naive_state(problem, paths, samples),
        ours=ours,
        by_chance=by_chance,
        exact=exact,
        tallies={
            name: _without_memory(problem, paths, techniques, states)
            for name, techniques in {"": PUBLISHED, **WITHOUT}.items()
        },
    )


def _searched(
    problem: Problem, times: Times[T], paths: Paths, techniques: Techniques
) -> tuple[Solution, float]:
    began = time.perf_counter()
    found = search(problem, times, paths=paths, techniques=techniques)
    if found is None:
        raise InvariantError("a budget above that of the cheapest offer, and nothing was found")
    return found, time.perf_counter() - began


def _naive_state(problem: Problem, paths: Paths, samples: int) -> float:
    """Seconds to evaluate a state and to compare it with another, with nothing known before."""
    times = Samples(problem.performances, np.random.default_rng(SEED), samples)
    groups = by_level_and_kind(problem)
    evaluation = Evaluation(problem, times, paths, groups, EXACT)
    began = time.perf_counter()
    found = evaluation.makespan((0,) * (int(groups.max()) + 1))
    times.is_greater(found, found, bounds=False)
    return time.perf_counter() - began


def _without_memory(
    problem: Problem, paths: Paths, techniques: Techniques, states: int
) -> tuple[Tally, float]:
    """What a search does that keeps nothing of one state for the next."""
    times = Distributions(problem.performances)
    times.most_kept = 1
    began = time.perf_counter()
    search(problem, times, paths=paths, techniques=techniques, iterations=states)
    return times.tally, time.perf_counter() - began


# --- rows ----------------------------------------------------------------------------------------


def reproduce(
    name: str,
    folder: Path = DATA,
    given: Sequence[ProbCase] | None = None,
    samples: int = SAMPLES,
    states: int = STATES,
) -> Reproduction:
    cases = prob_setting.cases(folder) if given is None else given
    _warm_up()
    found = [measure(case, samples, states) for case in cases]
    return Reproduction(
        name=name,
        title="What it takes to find an assignment: Prob beside Monte-Carlo",
        source="Prob, section 6.3",
        rows=(
            *(row for one in found for row in _rows_of_paths(one)),
            *(row for one in found for row in _rows_of_techniques(one)),
            *_rows_of_all_techniques(found),
            *(row for one in found for row in _rows_of_time(one)),
            *_rows_of_speedup(found),
            *_rows_of_quality(found),
            *(row for one in found for row in _rows_of_independence(one)),
        ),
        assumed=ASSUMED,
    )


def _warm_up() -> None:
    """Compile whatever is compiled once, so that it is not measured."""
    case = small_cases()[0]
    methods, budget = Methods(case), case.budget(TIGHT)
    methods.prob(budget)
    methods.published(budget)


def _rows_of_paths(one: Measured) -> Iterator[Row]:
    name, paths = one.case.name, one.paths
    before, after = PATHS.get(name, (None, None))
    note = f"{float(paths.enumerated.total):,.3g} operations to evaluate all of them"
    if before is None:
        yield shown_only(f"{name}: paths", None, float(paths.enumerated.paths), note)
    else:
        why = "the paper's Montage has another structure, which is not printed"
        yield same(f"{name}: paths", before, paths.enumerated.paths, note, why=why)
    note = f"{paths.bound.total:,} operations; {one.preparing:.2f} s"
    what = f"{name}: paths after pre-processing"
    if after is not None:
        why = "one image overlaps no other here, so that its path is shorter and cannot be bound"
        yield same(what, after, paths.bound.paths, note, why=why)
    elif name.startswith("Q"):
        yield checked(what, paths.bound.paths, FEW_PATHS, note=note)
    else:
        yield shown_only(what, None, paths.bound.paths, note)


def _saved(one: Measured, without: str) -> float:
    """Per cent of the operations."""
    return 100 * (1 - one.tallies[""][0].operations / one.tallies[without][0].operations)


def _rows_of_techniques(one: Measured) -> Iterator[Row]:
    whole, seconds = one.tallies[""]
    for without, (tally, taken) in one.tallies.items():
        if without not in ("", BOUNDS):
            note = (
                f"{whole.operations:,} instead of {tally.operations:,}; {seconds:.2f} instead of"
                f" {taken:.2f} s"
            )
            what = f"{one.case.name}: operations saved by {without}, %"
            yield shown_only(what, None, _saved(one, without), note)
    decided = whole.compared_by_bounds
    share = 100 * decided / max(1, decided + whole.compared_fully)
    note = f"{seconds:.2f} instead of {one.tallies[BOUNDS][1]:.2f} s"
    yield shown_only(f"{one.case.name}: comparisons decided by bounds, %", None, share, note)


def _rows_of_all_techniques(found: Sequence[Measured]) -> Iterator[Row]:
    specific = fmean(_saved(one, "both of these") for one in found)
    note = "mean of the workflows; that clusters take twice as long is not counted"
    why = "operations are counted here; the paper does not say what is, and its workflows differ"
    what = "bundling and clustering save, %"
    yield judged(what, 20, specific, rounded(20, 1), note=note, why=why)
    partial = max(_saved(one, "partial evaluation") for one in found)
    yield judged("partial evaluation saves up to, %", 78, partial, rounded(78, 1), why=why)


def _rows_of_time(one: Measured) -> Iterator[Row]:
    name = one.case.name
    states = one.prob.tally.states
    paper = SECONDS.get(name)
    yield shown_only(f"{name}: published search, s", paper, one.prob_seconds, f"{states} states")
    note = f"{one.by_chance.seconds:.2f} s with the budget as a 99th percentile"
    yield shown_only(f"{name}: the product's search, s", None, one.ours.seconds, note)


def _rows_of_speedup(found: Sequence[Measured]) -> Iterator[Row]:
    for one in found:
        name, factor = one.case.name, one.naive_seconds / one.prob_seconds
        note = f"{one.naive_seconds:,.1f} s; {one.carlo_seconds:.2f} s if all that is known is kept"
        yield shown_only(f"{name}: speed over Monte-Carlo", None, factor, note)
    mean = fmean(one.naive_seconds / one.prob_seconds for one in found)
    kept = fmean(one.carlo_seconds / one.prob_seconds for one in found)
    note = (
        f"mean of the workflows; {kept:.1f} beside a Monte-Carlo that keeps all it knows, as Prob"
    )
    why = f"it grows with the draws of Monte-Carlo, {SAMPLES:,} here and not told in the paper"
    band = rounded(SPEEDUP, 10)
    yield judged("speed over Monte-Carlo", SPEEDUP, mean, band, note=note, why=why)
    ours = fmean(one.naive_seconds / one.ours.seconds for one in found)
    yield shown_only("the product's search: speed over Monte-Carlo", None, ours)


def _rows_of_quality(found: Sequence[Measured]) -> Iterator[Row]:
    prob = fmean(one.mean(one.prob.offers) / one.mean(one.carlo.offers) for one in found)
    what = "published search: time by that of Monte-Carlo"
    why = "the workflows and the histograms of the paper are not printed"
    if prob < RATIO:
        why = f"less is lost here than there; {why}"
    yield judged(what, RATIO, prob, rounded(RATIO, 0.01), note="mean", why=why)
    for one in found:
        carlo = one.mean(one.carlo.offers)
        what = f"{one.case.name}: the product's search, time by that of Monte-Carlo"
        note = (
            f"published search {one.mean(one.prob.offers) / carlo:.3f}; Monte-Carlo {carlo:,.0f} s"
        )
        yield checked(what, one.mean(one.ours.offers) / carlo, NO_WORSE, note=note)


def _rows_of_independence(one: Measured) -> Iterator[Row]:
    """Prob's makespan is too long: it takes paths as independent, and binds what no path joins."""
    exact = one.exact.expected_time / one.mean(one.exact.offers)
    published = one.prob.expected_time / one.mean(one.prob.offers)
    what = f"{one.case.name}: expected makespan of Prob by that of executions"
    note = f"nothing left out; {published:.2f} with clusters, which take twice as long"
    yield checked(what, exact, TOO_LONG, note=note)
