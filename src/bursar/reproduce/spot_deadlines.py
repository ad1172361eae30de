"""`spot-deadlines`: long work with a deadline, on real spot traces and on-demand machines.

The setting of "Can't Be Late" (Wu et al., NSDI 2024): two days of work on one machine at a time,
which may be spot or on-demand; a new machine loses some minutes; the deadline leaves some hours of
slack. The score is the share of what spot machines could save at most that a rule saves:
(on-demand - cost) / (on-demand - spot). Beside the rules stands the least cost with hindsight.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.formats.spot_trace import read_spot_trace
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.text import counted
from bursar.model.time import HOUR, MINUTE, SECOND, Time
from bursar.model.work import Bag
from bursar.reproduce.result import Reproduction, Row, between, checked, shown_only
from bursar.reproduce.spot_traces import DATA, ON_DEMAND, OURS, SPOT, trace_files
from bursar.runs.faults import Faults
from bursar.runs.request import Request
from bursar.runs.study import Subject, study
from bursar.simulate.faults import given
from bursar.simulate.spot_trace import SpotTrace

Floats = NDArray[np.float64]

WORK: Final = 48 * HOUR
TASK: Final = 2 * MINUTE
"""What is done is kept at the end of each task."""
SLACKS: Final = (4 * HOUR, 22 * HOUR)
OVERHEADS: Final = (3 * MINUTE, 12 * MINUTE)
BEGINS: Final = 3
"""Moments of a trace at which the work begins."""
UNIFORM: Final = "Uniform Progress"
RULES: Final[Mapping[str, Mapping[str, str]]] = {
    OURS: {},
    UNIFORM: {"provisioner": "uniform-progress"},
}
"""Entries that are asked for."""
HINDSIGHT: Final = "with hindsight"
ASSUMED: Final = (
    f"{WORK // HOUR} hours of work in tasks of {TASK // MINUTE} minutes, one machine of each kind"
    " at a time; a machine boots for as long as the changeover takes, and that is paid",
    f"every trace of a single machine, from {BEGINS} moments each; at its end a trace begins again",
    "spot at $1.08 an hour, a third of $3.24 on demand; by the second, at least a minute; losses"
    " come unannounced",
    "the least cost with hindsight is that of one machine at a time, by steps of a minute",
)


class Setting(msgspec.Struct, frozen=True):
    """How long the deadline leaves beyond the work, and what a new machine loses."""

    slack: Time
    overhead: Time

    @property
    def deadline(self) -> Time:
        return WORK + self.slack

    @property
    def name(self) -> str:
        return f"slack {self.slack // HOUR} h, changeover {self.overhead // MINUTE} min"

    def market(self) -> Market:
        spot = Offer("spot", SPOT, SECOND, MINUTE, 1, self.overhead, pool="unreliable")
        sure = Offer("on-demand", ON_DEMAND, SECOND, MINUTE, 1, self.overhead)
        return Market("USD", "undated", (spot, sure))

    def score(self, cost: float) -> float:
        """What was saved, by what could be saved at most."""
        whole = (WORK + self.overhead) / SECOND
        dear, cheap = whole * float(ON_DEMAND), whole * float(SPOT)
        return (dear - cost) / (dear - cheap)


SETTINGS: Final = tuple(Setting(slack, lost) for slack in SLACKS for lost in OVERHEADS)


class DeadlineOutcome(msgspec.Struct, frozen=True):
    """Over all traces and moments."""

    score: float
    missed: int
    runs: int


# --- the runs ------------------------------------------------------------------------------------


def read_traces(folder: Path = DATA) -> dict[str, SpotTrace]:
    """Those of single machines, by name."""
    paths = trace_files("*_1-node_*.json", folder)
    return {path.stem.split("_1-node_")[1]: read_spot_trace(path) for path in paths}


def execute(rule: str, setting: Setting, trace: SpotTrace, seeds: Sequence[int]) -> list[float]:
    """The cost of each run that meets the deadline, and infinity of those that do not."""
    tasks = WORK // TASK
    request = Request(
        market=setting.market(),
        goal=Goal(deadline=setting.deadline),
        bag=Bag(count=tasks),
        policies=RULES[rule],
    )
    subject = Subject(request, lambda seed: given([TASK] * tasks))
    faults = Faults(0.0, 1.0, None, 0, (trace,))
    runs = study(subject, faults, seeds).runs
    return [float(one.money.committed) if one.tasks.done == tasks else float("inf") for one in runs]


def least_cost(setting: Setting, trace: SpotTrace, offset: Time) -> float:
    """With one machine at a time, were the trace known before.

    Backwards from the deadline, for each minute and each amount of work that is left: what the rest
    costs from no machine, from a spot machine that is up, and from an on-demand machine.
    """
    minutes, work, lost = (
        setting.deadline // MINUTE,
        WORK // MINUTE,
        setting.overhead // MINUTE,
    )
    there = [trace.has(0, offset + minute * MINUTE) for minute in range(minutes)]
    dear, cheap = float(ON_DEMAND) * 60, float(SPOT) * 60
    none = np.full(work + 1, np.inf)
    none[0] = 0.0
    spot, sure = {minutes: none}, {minutes: none}
    for minute in range(minutes - 1, -1, -1):
        up = minute + lost
        begin = none
        if up <= minutes:
            begin = np.minimum(begin, lost * dear + sure[up])
            if all(there[minute:up]):
                begin = np.minimum(begin, lost * cheap + spot[up])
        none = begin
        sure[minute] = np.minimum(none, _worked(sure[minute + 1], dear))
        on_spot = _worked(spot[minute + 1], cheap) if there[minute] else none
        spot[minute] = np.minimum(none, on_spot)
        spot.pop(up + 1, None)
        sure.pop(up + 1, None)
    return float(none[work])


def _worked(after: Floats, price: float) -> Floats:
    """One minute of work less is left after it."""
    done = np.empty_like(after)
    done[0], done[1:] = 0.0, after[:-1] + price
    return done


def begin_of(seed: int, trace: SpotTrace) -> Time:
    """Where in the trace a run of this seed begins; as `runs.faults` has it."""
    return Random(seed).randrange(trace.length)


# --- the table -----------------------------------------------------------------------------------


def reproduce(name: str, folder: Path = DATA, begins: int = BEGINS) -> Reproduction:
    traces = read_traces(folder)
    found = {setting: outcomes(setting, traces, range(begins)) for setting in SETTINGS}
    return Reproduction(
        name=name,
        title="Two days of work with a deadline on real spot machines",
        source="traces and setting of Can't Be Late, NSDI 2024; no figure of the paper",
        rows=(
            *_overall(list(found.values())),
            *(row for setting in SETTINGS for row in _rows(setting, found[setting])),
        ),
        assumed=ASSUMED,
    )


def outcomes(
    setting: Setting, traces: Mapping[str, SpotTrace], seeds: Sequence[int]
) -> dict[str, DeadlineOutcome]:
    """By rule; a run that misses its deadline has no score."""
    found = {}
    for rule in RULES:
        costs = [one for trace in traces.values() for one in execute(rule, setting, trace, seeds)]
        found[rule] = _outcome(setting, costs)
    least = [
        least_cost(setting, trace, begin_of(seed, trace))
        for trace in traces.values()
        for seed in seeds
    ]
    return {**found, HINDSIGHT: _outcome(setting, least)}


def _outcome(setting: Setting, costs: Sequence[float]) -> DeadlineOutcome:
    met = [setting.score(cost) for cost in costs if cost < float("inf")]
    score = fmean(met) if met else float("nan")
    return DeadlineOutcome(score, len(costs) - len(met), len(costs))


def _overall(found: Sequence[Mapping[str, DeadlineOutcome]]) -> Iterator[Row]:
    missed = sum(one[OURS].missed for one in found)
    runs = sum(one[OURS].runs for one in found)
    yield checked(
        f"{OURS}: deadlines missed",
        missed,
        between(0, 0, "none may be missed"),
        note=counted(runs, "run"),
    )
    means = {rule: fmean(one[rule].score for one in found) for rule in (*RULES, HINDSIGHT)}
    yield checked(
        f"{OURS}: mean score",
        round(means[OURS], 3),
        between(round(means[UNIFORM], 3), 1.0, "no lower than Uniform Progress's"),
        note=f"{UNIFORM} {means[UNIFORM]:.3f}, {HINDSIGHT} {means[HINDSIGHT]:.3f}",
        why="how often spot machines will be lost is estimated from the losses so far",
    )


def _rows(setting: Setting, found: Mapping[str, DeadlineOutcome]) -> Iterator[Row]:
    for rule, one in found.items():
        note = f"{counted(one.missed, 'deadline')} missed in {counted(one.runs, 'run')}"
        yield shown_only(f"{setting.name}: {rule}, score", None, round(one.score, 3), note)
