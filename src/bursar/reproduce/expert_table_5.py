"""`expert-table-5`: estimates beside real runs (ExPERT, table 5 and section 6.3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean, stdev
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.beliefs.incidence import Incidence, current_reliability
from bursar.beliefs.pool_forecast import PoolForecast, foresee
from bursar.beliefs.reliability import (
    History,
    Instance,
    LastEnding,
    effective_size,
    offline_reliability,
    online_reliability,
)
from bursar.model.strategy import Strategy
from bursar.model.text import counted
from bursar.model.time import SECOND, Time
from bursar.plan.pools.estimator import (
    LEAST_RELIABILITY,
    NOTHING,
    Conditions,
    Estimates,
    Price,
    estimate,
)
from bursar.report.plot import Plot, Series
from bursar.reproduce.expert_reality import (
    DRIFT,
    EXPERIMENTS,
    JOINING,
    RELIABLE,
    SPREAD,
    Experiment,
    RealRun,
    execute,
)
from bursar.reproduce.expert_setting import (
    CENT,
    RELIABLE_PRICE,
    UNRELIABLE_PRICE,
    cost_band,
    span_band,
)
from bursar.reproduce.result import (
    Reproduction,
    Row,
    between,
    checked,
    judged,
    shown_only,
)

ESTIMATES: Final = 100
"""Simulated experiments whose mean is compared with the real one."""
PUBLISHED_ESTIMATES: Final = 10
"""The same in the paper, which saw no gain from 100."""
BASES: Final = range(8)
"""Of seeds; the table is made with each, since a real run is a single sample."""

Integers = NDArray[np.int64]

ASSUMED: Final = (
    "the real runs are executed by the engine in a simulated grid, one model for all experiments;"
    " tables 3 to 5 give tasks, T, D, run times, machines and the mean reliability of each",
    "run times have a PERT distribution by the average, minimum and maximum of table 3; of WL5 to"
    " WL7, where the average is below the minimum, the two are exchanged. OSG is slower than WM by"
    " the means of WL1 in experiment 11 and in table 3",
    f"of the model: the last tasks are {DRIFT:.0%} longer than the first; hosts are up to"
    f" {SPREAD:.0%} faster or slower; a third of failures are those of hosts that fail always,"
    " until they are excluded; where a pool preempts (WM), a third are machines that are taken"
    f" away, which is reported at once; machines join within {JOINING:g} mean run times",
    "the time of a task on a reliable machine follows from the reliable instances and the cost of"
    " table 5, at 34/3600 cent/s on Tech as on EC2; the costs of experiments 2 and 3 are 0.39 and"
    " 0.41, as the average shows. The combined pool of experiment 3 has 220 machines alike",
    "as published: the whole bag is simulated, no loss is known before its deadline, the tail"
    " begins when as many tasks remain as in the real run (cause 4 of section 6.3), if these are"
    f" fewer than machines of the pool; means of {PUBLISHED_ESTIMATES} estimates",
    "a run decides in another way, which stands beside: the tail is simulated from what is under"
    " way, with losses known when they were reported",
    "online, gamma is that of machines of the same kind, and turnaround times have the trend that"
    " they show (`beliefs.pool_forecast`), as in a run; in the other ways gamma is that of all",
    f"the other ways are means of {ESTIMATES} estimates. Mean deviations are of {len(BASES)} such"
    " tables, each of its own base of seeds; the other rows are of the first, where the seed is the"
    " experiment's number",
)


class TailOutcome(msgspec.Struct, frozen=True):
    """Of a run, real or estimated."""

    tail: float
    """makespan in seconds"""
    cost: float
    """cents for a task"""

    def deviation(self, real: TailOutcome) -> TailOutcome:
        """From the real one, in per cent of it."""
        return TailOutcome(
            100 * (self.tail / real.tail - 1),
            100 * (self.cost / real.cost - 1),
        )


class Way(msgspec.Struct, frozen=True):
    """How an estimate is made."""

    is_online: bool
    """with what was known when the tail began; else with all that was known in the end"""
    from_tail: bool
    """the tail is simulated, from what was under way; else the whole bag"""
    reported: bool
    """losses may be known before the deadline, and what is under way is counted; else they
    never are, and gamma is as published"""
    is_published: bool = False
    """the simulated tail begins when as many tasks remain as in the real run (section 6.3)"""

    def __str__(self) -> str:
        model = "online" if self.is_online else "offline"
        if self.is_published:
            return f"{model}, as published"
        scope = "from the tail on" if self.from_tail else "whole bag"
        return f"{model}, {scope}, losses {'told' if self.reported else 'silent'}"


OFFLINE: Final = Way(is_online=False, from_tail=True, reported=True)
ONLINE: Final = Way(is_online=True, from_tail=True, reported=True)
OURS: Final = (OFFLINE, ONLINE)
"""the way in which a run decides"""
PUBLISHED: Final = (
    Way(is_online=False, from_tail=False, reported=False, is_published=True),
    Way(is_online=True, from_tail=False, reported=False, is_published=True),
)
OTHER_WAYS: Final = (
    Way(is_online=False, from_tail=False, reported=False),
    Way(is_online=True, from_tail=False, reported=False),
    Way(is_online=False, from_tail=True, reported=False),
    Way(is_online=True, from_tail=True, reported=False),
    Way(is_online=False, from_tail=False, reported=True),
    Way(is_online=True, from_tail=False, reported=True),
)
PAPER: Final = {False: (10, 7), True: (20, 13)}
"""By whether it is online: mean deviations of tail makespan and of cost, in per cent."""
PARTS: Final = ("tail makespan", "cost")
LEAST_REACH: Final = 3.0
"""a count of 0 is compatible with a mean of up to 3"""
MEAN_BAND: Final = "2 standard errors of the mean of the 13 that are printed"
SINGLE_BAND: Final = "2 standard deviations of the 13 that are printed, a run being one sample"
OFFLINE_WHY: Final = (
    "a third of the losses are reported at once here (cause 3 of section 6.3), which the estimator"
    " takes for silent until the deadline"
)
ONLINE_WHY: Final = (
    "equation 2 takes many of those sent shortly before the tail for lost, the more so as tasks"
    " late in the bag take longer here (cause 2 of section 6.3); and losses told count as silent"
)
SINGLE_WHY: Final = "a real run is a single sample (cause 1 of section 6.3), and ours is another"
GRID_WHY: Final = "one run on a real grid, whose conditions are not printed; the grid here is ours"


class ComparedExperiment(msgspec.Struct, frozen=True):
    """An experiment: what was measured, and how far estimates are from it, in per cent."""

    experiment: Experiment
    reliability: float
    reliable_instances: int
    real: TailOutcome
    deviations: dict[Way, TailOutcome]


def compare(
    experiment: Experiment, base: int = 0, ways: Sequence[Way] = (*PUBLISHED, *OURS)
) -> ComparedExperiment:
    """One real run, and the mean estimates; the seed is the experiment's number, with any base."""
    seed = base * 100 + experiment.number
    run, strategy = execute(experiment, seed), experiment.strategy
    history = history_of(run, strategy)
    real = TailOutcome(run.tail / SECOND, _cents(_paid(run, strategy), experiment.work.tasks))
    seer = Seer(experiment, run, history, seed)
    return ComparedExperiment(
        experiment,
        len(history.turnarounds()) / len(history),
        len(run.reliable),
        real,
        {way: seer.foresee(way).deviation(real) for way in ways},
    )


def history_of(run: RealRun, strategy: Strategy) -> History:
    """All that was sent to the unreliable pool, and what came of it in the end."""
    standings: dict[int, LastEnding] = {}

    def reported(attempt: int) -> Instance:
        one, deadline = run.instances[attempt], run.deadline(attempt, strategy)
        turnaround, before = (
            one.turnaround(deadline),
            standings.get(one.machine, LastEnding.UNTRIED),
        )
        if turnaround is not None:
            standings[one.machine] = LastEnding.RETURNED
            return Instance(one.sent, turnaround, standing=before)
        standings[one.machine] = LastEnding.FAILED
        return Instance(one.sent, until=one.known_lost(deadline), standing=before)

    return History.of(map(reported, run.instances))


# --- money ---------------------------------------------------------------------------------------


class Paid(msgspec.Struct, frozen=True):
    """Seconds of results, which alone are paid for (section 2.1)."""

    unreliable: int
    reliable: int


def _seconds(takes: Time) -> int:
    return -(-takes // SECOND)


def _paid(run: RealRun, strategy: Strategy, before: Time | None = None) -> Paid:
    """For all results, or for those that were there before a moment.

    What was sent to the reliable pool before it is sure to return, and counts as well.
    """
    unreliable = sum(
        _seconds(takes)
        for attempt, one in run.instances.items()
        if (takes := one.turnaround(run.deadline(attempt, strategy))) is not None
        and (before is None or one.sent + takes <= before)
    )
    reliable = sum(
        _seconds(takes) for sent, takes in run.reliable.values() if before is None or sent < before
    )
    return Paid(unreliable, reliable)


def _cents(paid: Paid, tasks: int, more: float = 0.0) -> float:
    """For a task; `more` is in dollars."""

    def dollars(seconds: int, price: Price) -> float:
        return seconds * float(price.amount)

    total = dollars(paid.unreliable, UNRELIABLE_PRICE) + dollars(paid.reliable, RELIABLE_PRICE)
    return CENT * (total + more) / tasks


# --- estimates -----------------------------------------------------------------------------------


class Seer:
    """Estimates of one experiment."""

    def __init__(self, experiment: Experiment, run: RealRun, history: History, seed: int) -> None:
        self._experiment = experiment
        self._run = run
        self._history = history
        self._seed = seed

    def foresee(self, way: Way) -> TailOutcome:
        """The mean estimate of the tail makespan, and of the cost of the whole bag."""
        run, tasks = self._run, self._experiment.work.tasks
        if not way.from_tail:
            found = self._whole_bag(way)
            return TailOutcome(_mean_tail(found), CENT * float(found.costs.mean()))
        known, ages = self._known(way), np.array(_ages(run), dtype=np.int64)
        since = PoolForecast(known.turnarounds, known.losses, known.gamma.since(run.tail_start))
        found = self._estimate(since, len(ages), max(self._machines, len(ages)), ages)
        before = _paid(run, self._experiment.strategy, run.tail_start)
        dollars = float(found.costs.mean()) * len(ages)
        return TailOutcome(_mean_tail(found), _cents(before, tasks, dollars))

    def tail_begins(self, way: Way) -> float:
        """When the tail of the whole bag begins, by the mean estimate, in seconds."""
        found = self._whole_bag(way)
        return float((found.makespans - found.tails).mean()) / SECOND

    def _whole_bag(self, way: Way) -> Estimates:
        tasks, machines = self._experiment.work.tasks, self._machines
        tail = min(self._run.tail_tasks, machines - 1) if way.is_published else None
        repetitions = PUBLISHED_ESTIMATES if way.is_published else ESTIMATES
        return self._estimate(self._known(way), tasks, machines, NOTHING, tail, repetitions)

    def _known(self, way: Way) -> PoolForecast:
        """When the tail began, or in the end."""
        history, tail, timeout = self._history, self._run.tail_start, self._run.timeout
        if way == ONLINE:
            return foresee(history, tail)
        known, gamma, now = history, offline_reliability(history), history.end
        if way.is_online:
            of = current_reliability if way.reported else online_reliability
            known, gamma, now = history.seen_at(tail), of(history, tail, timeout), tail
        if not way.reported:
            return PoolForecast(known.turnarounds(), NOTHING, gamma)
        incidence = Incidence.of(known, now)
        return PoolForecast(incidence.turnarounds(), incidence.losses(), gamma)

    @property
    def _machines(self) -> int:
        """The effective size of the unreliable pool until the tail."""
        run = self._run
        seen = self._history.seen_at(run.tail_start)
        return effective_size(seen, run.timeout, run.tail_start, self._experiment.machines)

    def _estimate(
        self,
        known: PoolForecast,
        tasks: int,
        machines: int,
        ages: Integers = NOTHING,
        tail_tasks: int | None = None,
        repetitions: int = ESTIMATES,
    ) -> Estimates:
        """With all reliable machines, whatever the size of the unreliable pool."""
        conditions = Conditions(
            tasks=tasks,
            unreliable=machines,
            reliability=known.gamma.at_least(LEAST_RELIABILITY),
            turnarounds=known.turnarounds,
            reliable_time=_reliable_time(self._experiment, self._run),
            unreliable_price=UNRELIABLE_PRICE,
            reliable_price=RELIABLE_PRICE,
            losses=known.losses,
            ages=ages,
            tail_tasks=tail_tasks,
        )
        ratio = RELIABLE / machines if self._experiment.has_reliable else 0.0
        strategy = msgspec.structs.replace(self._experiment.strategy, ratio=ratio)
        return estimate(conditions, [strategy], repetitions, seed=self._seed)


def _mean_tail(found: Estimates) -> float:
    return float(found.tails.mean()) / SECOND


def _ages(run: RealRun) -> list[Time]:
    """Of the instances under way on the unreliable pool when the tail began, a task each."""
    last: dict[int, Time] = {}
    for attempt, one in run.instances.items():
        if attempt not in run.in_tail and run.results[one.task] > run.tail_start:
            last[one.task] = max(one.sent, last.get(one.task, 0))
    return [run.tail_start - sent for sent in last.values()]


def _reliable_time(experiment: Experiment, run: RealRun) -> Time:
    """The mean time of reliable instances (table 2)."""
    if not run.reliable:
        return experiment.reliable_time
    return round(fmean(takes for _, takes in run.reliable.values()))


# --- rows -----------------------------------------------------------------------------------------


def reproduce(name: str) -> Reproduction:
    every = (*PUBLISHED, *OURS, *OTHER_WAYS)
    found = [compare(one, ways=every) for one in EXPERIMENTS]
    ways = (*PUBLISHED, *OURS)
    others = [[compare(one, base, ways) for one in EXPERIMENTS] for base in BASES[1:]]
    return Reproduction(
        name=name,
        title="Estimates beside real runs, deviations in per cent of the real figure",
        source="ExPERT, table 5 and section 6.3",
        rows=(
            *mean_rows([found, *others]),
            *own_rows([found, *others]),
            *other_rows(found),
            *(row for each in found for row in experiment_rows(each)),
        ),
        assumed=ASSUMED,
        plots=(_plot(found),),
    )


def mean_deviation(found: Sequence[ComparedExperiment], way: Way) -> TailOutcome:
    """Over experiments, of the absolute deviations."""
    each = [one.deviations[way] for one in found]
    return TailOutcome(fmean(abs(one.tail) for one in each), fmean(abs(one.cost) for one in each))


def mean_rows(tables: Sequence[Sequence[ComparedExperiment]]) -> Iterator[Row]:
    """The published estimates, over tables with seeds of their own."""
    for way in PUBLISHED:
        for part, what in enumerate(PARTS):
            paper = PAPER[way.is_online][part]
            ours = [mean_deviation(table, way) for table in tables]
            figures = [(one.tail, one.cost)[part] for one in ours]
            error = stdev(map(abs, printed(way, part))) / len(EXPERIMENTS) ** 0.5
            yield judged(
                f"{way}: mean deviation of {what}, %",
                paper,
                fmean(figures),
                between(paper - 2 * error, paper + 2 * error, MEAN_BAND),
                note=_spread(figures),
                why=_why(way),
            )


def printed(way: Way, part: int) -> list[int]:
    """The deviations of the thirteen experiments in table 5."""
    return [(one.online if way.is_online else one.offline)[part] for one in EXPERIMENTS]


def own_rows(tables: Sequence[Sequence[ComparedExperiment]]) -> Iterator[Row]:
    """What a run of bursar does instead; demanded is what the paper reached."""
    for way in OURS:
        for part, what in enumerate(PARTS):
            ours = [mean_deviation(table, way) for table in tables]
            figures = [(one.tail, one.cost)[part] for one in ours]
            yield checked(
                f"{way}: mean deviation of {what}, %",
                fmean(figures),
                between(0, PAPER[way.is_online][part], "no more than the paper's estimates"),
                note=_spread(figures),
            )


def _spread(values: Sequence[float]) -> str:
    reported = ", ".join(f"{value:.1f}" for value in values)
    return f"mean of {counted(len(values), 'base')} of seeds: {reported}"


def other_rows(found: Sequence[ComparedExperiment]) -> Iterator[Row]:
    """The same by other ways to estimate."""
    for way in OTHER_WAYS:
        ours = mean_deviation(found, way)
        for what, deviation in zip(PARTS, (ours.tail, ours.cost), strict=True):
            yield shown_only(f"{way}: mean deviation of {what}, %", None, deviation)


def experiment_rows(each: ComparedExperiment) -> Iterator[Row]:
    """What was measured, and how far the published estimates are from it."""
    table, title = each.experiment, f"experiment {each.experiment.number}"
    sent = table.work.tasks / table.reliability
    error = 2 * (table.reliability * (1 - table.reliability) / sent) ** 0.5
    band = between(
        table.reliability - error, table.reliability + error, f"2 errors of {sent:,.0f} instances"
    )
    what = f"{title}: reliability"
    yield judged(what, table.reliability, each.reliability, band, why=GRID_WHY)
    count = table.reliable_instances
    reach = 2 * count**0.5
    band = between(max(0.0, count - reach), count + max(reach, LEAST_REACH), "2 errors of a count")
    what = f"{title}: reliable instances"
    yield judged(what, count, each.reliable_instances, band, why=GRID_WHY)
    what = f"{title}: tail makespan, s"
    yield judged(what, table.tail, round(each.real.tail), span_band(table.tail), why=GRID_WHY)
    what = f"{title}: cost, cent/task"
    yield judged(what, table.cost, each.real.cost, cost_band(table.cost), why=GRID_WHY)
    for way, own in zip(PUBLISHED, OURS, strict=True):
        ours, beside = each.deviations[way], each.deviations[own]
        deviations = ((ours.tail, beside.tail), (ours.cost, beside.cost))
        for part, (deviation, instead) in enumerate(deviations):
            every = printed(way, part)
            paper, reach = every[table.number - 1], 2 * stdev(every)
            yield judged(
                f"{title}: {way}, {PARTS[part]}, %",
                paper,
                round(deviation),
                between(paper - reach, paper + reach, SINGLE_BAND),
                note=f"{instead:.0f} % by what a run does",
                why=_why(way) if deviation > paper else SINGLE_WHY,
            )


def _why(way: Way) -> str:
    """Why estimates are too long and too dear here."""
    return ONLINE_WHY if way.is_online else OFFLINE_WHY


def _plot(found: Sequence[ComparedExperiment]) -> Plot:
    """Of tail makespans, by experiment."""
    offline, online = PUBLISHED
    models: dict[str, list[float]] = {
        "offline, paper": [abs(each.experiment.offline[0]) for each in found],
        "offline, as published": [abs(each.deviations[offline].tail) for each in found],
        "offline, ours": [abs(each.deviations[OFFLINE].tail) for each in found],
        "online, paper": [abs(each.experiment.online[0]) for each in found],
        "online, as published": [abs(each.deviations[online].tail) for each in found],
        "online, ours": [abs(each.deviations[ONLINE].tail) for each in found],
    }
    return Plot(
        title="Deviation of the estimated tail makespan from the real one",
        across="experiment",
        upward="% of the real one",
        series=tuple(
            Series(name, tuple((float(x), y) for x, y in enumerate(values)), "bars")
            for name, values in models.items()
        ),
        categories=tuple(str(each.experiment.number) for each in found),
    )
