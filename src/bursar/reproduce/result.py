"""What a reproduction is: rows that set a published figure beside ours, and what was assumed.

A row has one of three verdicts, and it follows from the row's band alone:

- `yes`: ours lies within the band (both ends included), or equals what is printed;
- `no`: it does not, and `why` says what is known of the reason, in one line;
- `not judged`: the row has no band, and says nothing of whether a figure came out.

A band has two ends and a reason, and is stated where the row is defined, before anything is
computed. It comes from the source (the precision it prints, the spread it states, the range it
gives) or from the chance in so many draws, never from our result. Write a row with

- `judged(what, paper, ours, band, why=...)` where a source prints a figure;
- `same(what, paper, ours, why=...)` where ours must equal it (text, counts, exact money);
- `checked(what, ours, band)` for a demand of our own, of which no source prints a figure;
- `shown_only(what, paper, ours)` where nothing is demanded: not judged;

and a band with `rounded` (the source's own precision), `around` (a share of the figure either way)
or `between` (a range that the source states).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from importlib import import_module
from inspect import signature
from math import isfinite
from typing import Final

import msgspec

from bursar.model.errors import InputError, InvariantError, instead_of, shown
from bursar.report.plot import Plot

Figure = float | int | str | None


class Verdict(StrEnum):
    """Whether a figure came out."""

    YES = "yes"
    NO = "no"
    NOT_JUDGED = "not judged"


class Band(msgspec.Struct, frozen=True):
    """Where ours must lie: from low to high, and why just there, in one line."""

    low: float
    high: float
    reason: str

    def __post_init__(self) -> None:
        if not (isfinite(self.low) and isfinite(self.high) and self.low <= self.high):
            raise InvariantError(f"a band has two ends: {self.low} to {self.high}")

    def holds(self, figure: Figure) -> bool:
        """Text is within no band."""
        return isinstance(figure, int | float) and self.low <= figure <= self.high


class Exactly(msgspec.Struct, frozen=True):
    """Ours must equal the published figure."""

    reason: str = "as printed"


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One figure. `paper` is None where the source prints none."""

    what: str
    paper: Figure
    ours: Figure
    band: Band | Exactly | None = None
    note: str = ""
    why: str = ""
    """what is known of the reason, if the figure does not come out"""

    @property
    def verdict(self) -> Verdict:
        if self.band is None:
            return Verdict.NOT_JUDGED
        if isinstance(self.band, Exactly):
            holds = self.paper == self.ours
        else:
            holds = self.band.holds(self.ours)
        return Verdict.YES if holds else Verdict.NO

    @property
    def low(self) -> float | None:
        return self.band.low if isinstance(self.band, Band) else None

    @property
    def high(self) -> float | None:
        return self.band.high if isinstance(self.band, Band) else None

    @property
    def reason(self) -> str:
        """Of the band."""
        return "" if self.band is None else self.band.reason

    @property
    def remark(self) -> str:
        """The note, and of a figure that does not come out the reason."""
        why = (self.why or "not known why") if self.verdict is Verdict.NO else ""
        return "; ".join(part for part in (self.note, why) if part)


class Counts(msgspec.Struct, frozen=True):
    """How many rows there are, and what they say: of published figures, and of our own demands."""

    rows: int
    published: int
    of_published: Mapping[Verdict, int]
    of_own: Mapping[Verdict, int]

    @staticmethod
    def of(rows: Iterable[Row]) -> Counts:
        every = list(rows)
        published = Counter(row.verdict for row in every if row.paper is not None)
        own = Counter(row.verdict for row in every if row.paper is None)
        return Counts(
            len(every),
            published.total(),
            {verdict: published[verdict] for verdict in Verdict},
            {verdict: own[verdict] for verdict in Verdict},
        )

    @staticmethod
    def sum(several: Iterable[Counts]) -> Counts:
        every = list(several)
        return Counts(
            sum(one.rows for one in every),
            sum(one.published for one in every),
            {verdict: sum(one.of_published[verdict] for one in every) for verdict in Verdict},
            {verdict: sum(one.of_own[verdict] for one in every) for verdict in Verdict},
        )


class Reproduction(msgspec.Struct, frozen=True, kw_only=True):
    """A table or figure of a source. `assumed` says what the source leaves open."""

    name: str
    title: str
    source: str
    rows: tuple[Row, ...]
    assumed: tuple[str, ...] = ()
    plots: tuple[Plot, ...] = ()
    """drawn from the same computation as the rows"""

    @property
    def failed(self) -> tuple[Row, ...]:
        """Rows that say no."""
        return tuple(row for row in self.rows if row.verdict is Verdict.NO)

    @property
    def counts(self) -> Counts:
        return Counts.of(self.rows)


# --- bands ---------------------------------------------------------------------------------------


def between(low: float, high: float, reason: str) -> Band:
    """A range that the source states, or that follows from what it says."""
    return Band(low, high, reason)


def around(paper: float, share: float, reason: str) -> Band:
    """A share of the figure either way: 0.1 allows ten per cent."""
    reach = abs(paper) * share
    return Band(paper - reach, paper + reach, reason)


def rounded(paper: float, unit: float, reason: str = "") -> Band:
    """Half a unit of the last printed digit either way: 0.78 is printed in units of 0.01."""
    reason = reason or f"printed to {unit:g}"
    return Band(paper - unit / 2, paper + unit / 2, reason)


# --- rows ----------------------------------------------------------------------------------------


def judged(
    what: str, paper: Figure, ours: Figure, band: Band, *, note: str = "", why: str = ""
) -> Row:
    """A published figure and its band, in which it must lie itself; `why` is shown if it fails."""
    if isinstance(paper, int | float) and not band.holds(paper):
        raise InvariantError(f"{what}: the band must hold the published figure, {paper}")
    return Row(what=what, paper=paper, ours=ours, band=band, note=note, why=why)


def checked(what: str, ours: Figure, band: Band, *, note: str = "", why: str = "") -> Row:
    """A demand of our own: no source prints a figure."""
    return Row(what=what, paper=None, ours=ours, band=band, note=note, why=why)


def same(what: str, paper: Figure, ours: Figure, note: str = "", *, why: str = "") -> Row:
    """A figure that must be the published one."""
    return Row(what=what, paper=paper, ours=ours, band=Exactly(), note=note, why=why)


def shown_only(what: str, paper: Figure, ours: Figure, note: str = "") -> Row:
    """A figure worth knowing, of which nothing is demanded."""
    return Row(what=what, paper=paper, ours=ours, note=note)


# --- entries -------------------------------------------------------------------------------------


ENTRIES: Final[Mapping[str, str]] = {
    "bats-table-2.1": "bats_table_2_1",
    "bats-failures": "bats_failures",
    "bats-regression": "bats_regression",
    "bats-table-3.1": "bats_table_3_1",
    "bats-table-3.2": "bats_table_3_2",
    "bats-fig-3.4": "bats_fig_3_4",
    "bats-fig-3.5": "bats_fig_3_5",
    "bats-interval-size": "bats_interval_size",
    "bats-table-4.2": "bats_table_4_2",
    "bats-violations": "bats_violations",
    "bats-kohonen": "bats_chapter_6",
    "bats-sarsa": "bats_chapter_6",
    "bats-table-6.2": "bats_tables_6",
    "bats-table-6.3": "bats_tables_6",
    "bats-kohonen-runs": "bats_chapter_6_runs",
    "bats-sarsa-runs": "bats_chapter_6_runs",
    "bats-tables-5": "bats_tables_5",
    "expert-fig-7": "expert_fig_7",
    "expert-fig-8": "expert_fig_8",
    "expert-fig-9a": "expert_fig_9",
    "expert-fig-9b": "expert_fig_9",
    "expert-ar": "expert_ar",
    "expert-fig-10": "expert_fig_10",
    "expert-fig-11": "expert_fig_11",
    "expert-table-5": "expert_table_5",
    "expert-tail-start": "expert_tail_start",
    "expert-runtime": "expert_runtime",
    "spot-traces": "spot_traces",
    "spot-deadlines": "spot_deadlines",
    "spot-added": "spot_added",
    "regret": "regret",
    "plan-bounds": "plan_bounds",
    "forecasts": "forecasts",
    "prob-fig-3": "prob_fig_3",
    "prob-fig-6": "prob_fig_6",
    "prob-fig-7": "prob_fig_7",
    "prob-table-3": "prob_table_3",
    "prob-overhead": "prob_overhead",
    "prob-arrivals": "prob_arrivals",
    "prob-network-cost": "prob_network_cost",
    "autoscaling-table-4.2": "autoscaling_table_4_2",
    "autoscaling-table-4.3": "autoscaling_table_4_3",
    "autoscaling-table-4.4": "autoscaling_table_4_3",
    "autoscaling-table-4.5": "autoscaling_table_4_3",
    "autoscaling-table-4.6": "autoscaling_table_4_6",
    "autoscaling-deadlines": "autoscaling_table_4_6",
    "autoscaling-boot": "autoscaling_table_4_6",
    "autoscaling-table-4.7": "autoscaling_table_4_7",
    "autoscaling-table-5.2": "budgets_slowdown",
    "autoscaling-fig-5.3": "budgets_times",
    "autoscaling-fig-5.4": "budgets_times",
    "autoscaling-fig-5.5": "budgets_slowdown",
    "autoscaling-fig-5.6": "budgets_slowdown",
    "autoscaling-fig-5.7": "budgets_slowdown",
    "autoscaling-fig-5.8": "budgets_elasticity",
    "autoscaling-fig-5.9": "budgets_elasticity",
    "autoscaling-fig-5.10": "budgets_elasticity",
    "autoscaling-fig-5.11": "budgets_elasticity",
    "autoscaling-fig-5.12": "budgets_elasticity",
    "autoscaling-fig-5.13": "budgets_elasticity",
    "autoscaling-fig-5.14": "budgets_elasticity",
    "autoscaling-fig-5.15": "budgets_elasticity",
    "autoscaling-beyond": "autoscaling_beyond",
    "optimum-fig-5.17": "optimum_figures",
    "optimum-fig-5.18": "optimum_figures",
    "workflows-generator": "workflows_generator",
    "workflows-fig-2.2": "workflows_fig_2_2",
    "workflows-fig-2.5": "workflows_fig_2_5",
    "workflows-fig-2.6": "workflows_fig_2_5",
    "workflows-fig-2.7": "workflows_fig_2_7",
    "workflows-table-2.1": "workflows_table_2_1",
    "workflows-table-2.2": "workflows_table_2_2",
    "workflows-table-3.1": "workflows_table_3_1",
    "workflows-fig-3.1": "workflows_fig_3_1",
    "workflows-fig-3.2": "workflows_fig_3_1",
    "workflows-fig-3.3": "workflows_dynamic",
    "workflows-fig-3.4": "workflows_dynamic",
    "workflows-fig-3.5": "workflows_dynamic",
    "workflows-fig-3.6": "workflows_dynamic",
    "workflows-fig-3.7": "workflows_fig_3_7",
    "workflows-fig-3.8": "workflows_fig_3_8",
    "workflows-fig-3.9": "workflows_fig_3_9",
    "workflows-stretch": "workflows_stretch",
}
"""Name to the module of `bursar.reproduce` that has its `reproduce()`."""


def reproduce(name: str, *, quick: bool = False) -> Reproduction:
    """Compute a reproduction by its name; `quick` with fewer draws, where it has that."""
    module = ENTRIES.get(name)
    if module is None:
        raise InputError(f"no reproduction {shown(name)}; {instead_of(name, ENTRIES)}")
    entry: Callable[..., Reproduction] = import_module(f"bursar.reproduce.{module}").reproduce
    if not quick:
        return entry(name)
    if "quick" not in signature(entry).parameters:
        raise InputError(f"{name} has no quick form; compute it as it is")
    return entry(name, quick=True)
