"""What a reproduction is: rows that set a published figure beside ours, and what was assumed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Final

import msgspec

from bursar.model.errors import InputError, instead_of, shown
from bursar.reproduce.plot import Plot

Figure = float | int | str | None


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One published figure. `ok`: ours lies within low and high, or equals it where it is text.

    `paper` is None where the source prints no figure; low and high are None where nothing is
    demanded, and then the row is information.
    """

    what: str
    paper: Figure
    ours: Figure
    low: float | None = None
    high: float | None = None
    ok: bool = True
    note: str = ""


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
    def ok(self) -> bool:
        return all(row.ok for row in self.rows)


def within(
    what: str, paper: float | None, ours: float, low: float, high: float, note: str = ""
) -> Row:
    """A figure that must lie between two others."""
    ok = low <= ours <= high
    return Row(what=what, paper=paper, ours=ours, low=low, high=high, ok=ok, note=note)


def near(what: str, paper: float, ours: float, share: float, note: str = "") -> Row:
    """A figure that must be near the published one: 0.1 allows ten per cent either way."""
    reach = abs(paper) * share
    return within(what, paper, ours, paper - reach, paper + reach, note)


def same(what: str, paper: Figure, ours: Figure, note: str = "") -> Row:
    """A figure that must be the published one."""
    return Row(what=what, paper=paper, ours=ours, ok=paper == ours, note=note)


def shown_only(what: str, paper: Figure, ours: Figure, note: str = "") -> Row:
    """A figure worth knowing, of which nothing is demanded."""
    return Row(what=what, paper=paper, ours=ours, note=note)


ENTRIES: Final[Mapping[str, str]] = {
    "bats-table-2.1": "bats_table_2_1",
    "bats-table-3.1": "bats_table_3_1",
    "bats-table-3.2": "bats_table_3_2",
    "bats-fig-3.5": "bats_fig_3_5",
    "bats-table-4.2": "bats_table_4_2",
    "bats-violations": "bats_violations",
    "bats-kohonen": "bats_chapter_6",
    "bats-sarsa": "bats_chapter_6",
    "bats-tables-5": "bats_tables_5",
    "expert-fig-7": "expert_fig_7",
    "expert-fig-8": "expert_fig_8",
    "expert-fig-9a": "expert_fig_9",
    "expert-fig-9b": "expert_fig_9",
    "expert-fig-10": "expert_fig_10",
    "expert-fig-11": "expert_fig_11",
    "expert-table-5": "expert_table_5",
    "spot-traces": "spot_traces",
    "prob-fig-3": "prob_fig_3",
    "prob-fig-6": "prob_fig_6",
    "prob-fig-7": "prob_fig_7",
    "prob-table-3": "prob_table_3",
    "prob-overhead": "prob_overhead",
}
"""Name to the module of `bursar.reproduce` that has its `reproduce()`."""


def reproduce(name: str) -> Reproduction:
    """Compute a reproduction by its name."""
    module = ENTRIES.get(name)
    if module is None:
        raise InputError(f"no reproduction {shown(name)}; {instead_of(name, ENTRIES)}")
    entry: Callable[[str], Reproduction] = import_module(f"bursar.reproduce.{module}").reproduce
    return entry(name)
