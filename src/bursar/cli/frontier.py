"""`bursar frontier`: spot or grid machines beside reliable ones, and which mixture is worth it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
import numpy as np
import rich_click as click
from numpy.typing import NDArray

from bursar.cli.common import json_option, print_json, print_table, say
from bursar.formats.joblog import read_joblog
from bursar.model.errors import InputError, shown
from bursar.model.files import read_text
from bursar.model.money import Money
from bursar.model.time import SECOND, Time, format_duration, parse_duration, seconds
from bursar.model.wording import counted
from bursar.plan.dominance import Point, knee
from bursar.plan.frontier import frontier, parse_preference, prefer
from bursar.plan.plans import known_runtimes
from bursar.plan.strategies import Kind, Strategy, sampled_strategies, static_strategies
from bursar.simulate.estimator import Conditions, Estimates, Price, estimate

Integers = NDArray[np.int64]

USUAL_SHARE: Final = 10
"""One reliable machine for so many unreliable ones, unless the user says otherwise."""
LAST_SEED: Final = (1 << 64) - 1
FEWEST: Final = 2
"""So many successes are needed: one alone says nothing of how they differ."""


class Choice(msgspec.Struct, frozen=True):
    """A strategy, with means of what was estimated."""

    name: str
    copies: int | None
    timeout_s: float
    deadline_s: float
    reliable: int
    makespan_s: float
    tail_s: float
    cost_per_task: float
    cost: float
    marks: list[str]


class Found(msgspec.Struct, frozen=True):
    tasks: int
    unreliable: int
    reliability: float
    mean_turnaround_s: float
    repetitions: int
    sampled: int
    frontier: list[Choice]
    """from the cheapest to the fastest"""
    usual: list[Choice]
    """the static strategies"""
    preferred: int | None
    """its number on the frontier, from 1"""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--tasks", type=click.IntRange(1, 1_000_000), required=True, help="Of the bag.")
@click.option(
    "--unreliable", type=click.IntRange(1, 10_000), required=True, help="Spot or grid machines."
)
@click.option("--reliable", type=click.IntRange(1), help="Reliable machines at most (a tenth).")
@click.option("--reliability", type=float, help="Share of attempts with a result, 0 to 1.")
@click.option(
    "--turnaround",
    metavar="TIMES",
    help="Of results on unreliable machines: 35m~10m, or a FILE with a duration on each line.",
)
@click.option(
    "--history", metavar="JOBLOG", help="Take both from a job log of unreliable machines."
)
@click.option("--reliable-time", metavar="TIME", help="Of a task there (the mean turnaround).")
@click.option("--unreliable-price", metavar="PRICE", default="0/h", help="Such as 0.01/h (free).")
@click.option(
    "--reliable-price",
    metavar="PRICE",
    required=True,
    help="0.34/h: for each hour begun; 0.34/h/s: by the hour, charged by the second.",
)
@click.option("--prefer", "wish", metavar="EXPR", help="cheapest, fastest, or e.g. makespan*cost.")
@click.option("--budget", "-b", metavar="MONEY", help="Prefer the fastest within, for the bag.")
@click.option("--deadline", metavar="TIME", help="Prefer the cheapest within.")
@click.option("--repetitions", type=click.IntRange(1, 10_000), default=100, help="Of each (100).")
@click.option(
    "--seed", type=click.IntRange(0, LAST_SEED), default=0, metavar="N", help="Of the simulation."
)
@json_option
def command(
    tasks: int,
    unreliable: int,
    reliable: int | None,
    reliability: float | None,
    turnaround: str | None,
    history: str | None,
    reliable_time: str | None,
    unreliable_price: str,
    reliable_price: str,
    wish: str | None,
    budget: str | None,
    deadline: str | None,
    repetitions: int,
    seed: int,
    as_json: bool,
) -> None:
    """Show how to mix spot or grid machines with reliable ones, from cheapest to fastest.

    \b
    bursar frontier --tasks 150 --unreliable 50 --reliability 0.8 \\
        --turnaround 35m~10m --reliable-price 0.34/h/s
    bursar frontier --tasks 150 --unreliable 50 --history old.log --reliable-price 0.34/h/s

    When fewer tasks are left than there are unreliable machines, a strategy sends each of them to
    unreliable machines up to N times, T apart, gives an attempt up after D, and sends it to one of
    a few reliable machines at last.
    """  # noqa: D301 (click wants the character)
    if wish is not None:
        parse_preference(wish)
    share, times = _known(reliability, turnaround, history)
    conditions = Conditions(
        tasks=tasks,
        unreliable=unreliable,
        reliability=share,
        turnarounds=times,
        reliable_time=_mean(times) if reliable_time is None else parse_duration(reliable_time),
        unreliable_price=parse_price(unreliable_price),
        reliable_price=parse_price(reliable_price),
    )
    most = max(1, unreliable // USUAL_SHARE) if reliable is None else reliable
    if most > unreliable:
        raise InputError(f"{most} reliable machines beside {unreliable} unreliable; use no more")
    allowed = None if budget is None else float(Money.parse(budget)) / tasks
    latest = None if deadline is None else parse_duration(deadline) / SECOND
    found = _find(conditions, most / unreliable, repetitions, seed, wish, allowed, latest)
    if as_json:
        print_json(found)
    else:
        _show(found)
    if found.preferred is None:
        say("no strategy is expected to keep within that; allow more money or time")


# --- what is known -------------------------------------------------------------------------------


def _known(
    reliability: float | None, turnaround: str | None, history: str | None
) -> tuple[float, Integers]:
    """The reliability and the turnaround times, ascending; what is given beats what was learned."""
    learned: tuple[float, Integers] | None = None if history is None else _learned(history)
    if turnaround is not None:
        times = _turnarounds(turnaround)
    elif learned is not None:
        times = learned[1]
    else:
        raise InputError("say how long results take: --turnaround 35m~10m or --history JOBLOG")
    if reliability is not None:
        return reliability, times
    if learned is None:
        raise InputError("say how many attempts return a result: --reliability 0.8")
    return learned[0], times


def _learned(path: str) -> tuple[float, Integers]:
    """From attempts on the unreliable pool: how many succeeded, and what those took."""
    rows = read_joblog(path)
    took = [row.runtime for row in rows if row.exitval == 0 and row.signal == 0]
    return len(took) / max(1, len(rows)), _sample(map(seconds, took), path)


def _turnarounds(text: str) -> Integers:
    """Read `35m`, `35m~10m`, or a file with a duration on each line."""
    mean, sign, deviation = text.partition("~")
    try:
        took, spread = parse_duration(mean), parse_duration(deviation) if sign else 0
    except InputError:
        if sign:
            raise
        lines = read_text(text, "file of turnaround times").split("\n")
        return _sample(_durations(lines, text), text)
    if took < 1:
        raise InputError("--turnaround: a time of nothing; write for example 35m~10m")
    return known_runtimes(took, spread)


def _durations(lines: Sequence[str], path: str) -> Iterator[Time]:
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield parse_duration(line)
            except InputError as error:
                raise InputError(f"{path}, line {number}: {error}") from None


def _sample(times: Iterator[Time], path: str) -> Integers:
    found = np.sort(np.maximum(1, np.array(list(times), dtype=np.int64)))
    if len(found) < FEWEST:
        raise InputError(
            f"{path}: {counted(len(found), 'result')} to learn from; at least {FEWEST} are needed"
        )
    return found


def _mean(times: Integers) -> Time:
    return max(1, round(float(np.mean(times))))


def parse_price(text: str) -> Price:
    """Read `0.34/h`, charged for each hour begun, or `0.34/h/s`, by the hour but by the second.

    What a second costs is rounded up to a billionth.
    """
    amount, *units = text.split("/")
    if len(units) not in (1, 2):
        raise InputError(f"{shown(text)} is no price; write for example 0.34/h or 0.34/h/s")
    money = Money.parse(amount)
    unit, period = parse_duration(units[0]), parse_duration(units[-1])
    if min(unit, period) < 1:
        raise InputError(f"{shown(text)}: a price for no time; write for example 0.34/h")
    return Price(Money(-(-money.nanos * period // unit)), period)


# --- what is found -------------------------------------------------------------------------------


def _find(
    conditions: Conditions,
    ratio: float,
    repetitions: int,
    seed: int,
    wish: str | None,
    budget: float | None,
    deadline: float | None,
) -> Found:
    mean, unreliable = conditions.mean, conditions.unreliable
    sampled = sampled_strategies(mean, ratio, unreliable)
    usual = static_strategies(mean, ratio, conditions.tasks)
    strategies = [*sampled, *usual]
    estimates = estimate(conditions, strategies, repetitions, seed=seed)
    means = estimates.means()
    points = means[: len(sampled)]
    front = frontier(points)
    best = prefer(points, wish, budget=budget, deadline=deadline)
    marks = {front[0]: ["cheapest"]}
    marks.setdefault(front[-1], []).append("fastest")
    marks.setdefault(knee(points), []).append("knee")
    if best is not None:
        marks.setdefault(best, []).append("preferred")

    def choice(index: int, told: list[str]) -> Choice:
        return _choice(strategies[index], estimates, index, means[index], conditions, told)

    return Found(
        tasks=conditions.tasks,
        unreliable=unreliable,
        reliability=conditions.reliability,
        mean_turnaround_s=mean / SECOND,
        repetitions=repetitions,
        sampled=len(sampled),
        frontier=[choice(index, marks.get(index, [])) for index in front],
        usual=[
            choice(index, _beaten(means[index], [points[one] for one in front]))
            for index in range(len(sampled), len(strategies))
        ],
        preferred=None if best is None else front.index(best) + 1,
    )


def _beaten(point: Point, front: Sequence[Point]) -> list[str]:
    """Which strategy of the frontier is better than a static one, the fastest of those."""
    better = [
        number
        for number, (makespan, cost) in enumerate(front, 1)
        if makespan <= point[0] and cost <= point[1] and (makespan, cost) != point
    ]
    return [f"see {better[-1]}"] if better else []


def _choice(
    strategy: Strategy,
    estimates: Estimates,
    index: int,
    mean: Point,
    conditions: Conditions,
    marks: list[str],
) -> Choice:
    is_alone = strategy.copies is None and strategy.kind == Kind.NTDMR
    return Choice(
        name=strategy.name,
        copies=strategy.copies,
        timeout_s=strategy.timeout / SECOND,
        deadline_s=strategy.deadline / SECOND,
        reliable=0 if is_alone else strategy.reliable_machines(conditions.unreliable),
        makespan_s=mean[0],
        tail_s=float(estimates.tails[index].mean()) / SECOND,
        cost_per_task=mean[1],
        cost=mean[1] * conditions.tasks,
        marks=marks,
    )


def _show(found: Found) -> None:
    click.echo(
        f"{counted(found.tasks, 'task')}, {counted(found.unreliable, 'unreliable machine')}:"
        f" {found.reliability:.1%} of attempts return a result,"
        f" after {format_duration(seconds(found.mean_turnaround_s))} on average."
    )
    columns = ("#", "N", "T", "D", "reliable", "makespan", "tail", "cost/task", "cost", "")
    rows = [_row(str(number), one) for number, one in enumerate(found.frontier, 1)]
    rows += [_row(one.name, one) for one in found.usual]
    print_table(columns, rows, right="N T D reliable makespan tail cost/task cost")
    for line in (
        f"Means of {counted(found.repetitions, 'simulation')} of each of {found.sampled}"
        " strategies; no other of them is both faster and cheaper than those with numbers.",
        "N: attempts of a task on unreliable machines in the tail; T: time between them;"
        " D: after it an attempt is given up;",
        "names: the usual strategies; see 3: number 3 is neither slower nor dearer",
    ):
        click.echo(line, err=True)


def _row(title: str, one: Choice) -> tuple[str, ...]:
    return (
        title,
        "inf" if one.copies is None else str(one.copies),
        format_duration(seconds(one.timeout_s)) if one.timeout_s else "0",
        format_duration(seconds(one.deadline_s)),
        str(one.reliable),
        *(format_duration(seconds(time)) for time in (one.makespan_s, one.tail_s)),
        f"{one.cost_per_task:.4g}",
        f"{one.cost:.2f}",
        ", ".join(one.marks).replace("preferred", "<- preferred"),
    )
