"""How a study of autoscalers is shown: a table, a ranking, users, a plot of demand and supply."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from bursar.cli.common import print_json, print_table, say, write_text
from bursar.cli.workload_table import watched
from bursar.model.money import Money, format_money
from bursar.model.text import counted
from bursar.model.workload import Workload
from bursar.report.comparison import ComparedTable, comparison_html
from bursar.report.plot import Plot, svg
from bursar.report.workload import demand_plot
from bursar.runs.scaling_figures import ScaledWorkload
from bursar.runs.scaling_study import ScalingSetting, ScalingStudy, study_scaling

_COLUMNS: Final = (
    *("autoscaler", "placer", "under", "over", "under-t", "over-t", "up"),
    *("slowdown", "P90", "elastic", "hours", "cost"),
)
_UNITS: Final = {
    **dict.fromkeys(("under", "over", "under-t", "over-t", "most"), "%"),
    **{"up": "slots", "P90": "slowdown", "hours": "h"},
}
_USERS: Final = ("autoscaler", "user", "under", "over", "slowdown", "P90", "cost", "most")
_MOST: Final = "most: the largest part of a user's budget that an interval committed, in percent."
_SCORES: Final = (
    "pairwise: points over all others in nine metrics; fractional: mean distance from the best,"
    " less is better; elasticity, user, overall: above 1 is better than machines that are"
    " always up."
)
_OF_SCORES: Final = {
    "pairwise": "points",
    **dict.fromkeys(("fractional", "elasticity", "user", "overall"), "score"),
}
_RANKED: Final = ("rank", "name", "pairwise", "fractional", "elasticity", "user", "overall")


def simulate_scaled(
    workload: Workload,
    setting: ScalingSetting,
    plot: str | None,
    *,
    ranked: bool,
    as_json: bool,
    html: str | None = None,
) -> None:
    """Simulate a workload with autoscalers, and show what came of it."""
    study = study_scaling(workload, setting, watched)
    if as_json:
        print_json(values(study, ranked=ranked))
    else:
        show(study, setting)
        if ranked:
            show_ranking(study)
    if plot is not None:
        write_text(plot, svg(_plot(study)))
    if html is not None:
        write_text(html, page(study, setting, ranked=ranked))


def page(study: ScalingStudy, setting: ScalingSetting, *, ranked: bool) -> str:
    """The tables and the plot as a file."""
    less = ("under", "over", "under-t", "over-t", "slowdown", "P90", "elastic", "hours", "cost")
    rows = tuple(_row(run, setting) for run in study.runs)
    tables = [
        ComparedTable("Autoscalers", _COLUMNS, rows, _note(study), left=2, less=less, units=_UNITS)
    ]
    if len(setting.goal.accounts) > 1:
        users = tuple(row for run in study.runs for row in _account_rows(run, setting))
        tables.append(ComparedTable("Users", _USERS, users, _MOST, left=2, units=_UNITS))
    if ranked:
        scores = tuple(_ranking(study))
        better = ("pairwise", "elasticity", "user", "overall")
        tables.append(
            ComparedTable(
                "Ranking", _RANKED, scores, _SCORES, 2, ("fractional",), better, units=_OF_SCORES
            )
        )
    title = f"{counted(len(study.runs), 'run')} of one workload, side by side"
    return comparison_html(title, tables, [_plot(study)])


def show(study: ScalingStudy, setting: ScalingSetting) -> None:
    rows = [_row(run, setting) for run in study.runs]
    print_table(_COLUMNS, rows, right=" ".join(_COLUMNS[2:]))
    accounts = [row for run in study.runs for row in _account_rows(run, setting)]
    if len(setting.goal.accounts) > 1:
        print_table(_USERS, accounts, right=" ".join(_USERS[2:]))
        say(_MOST)
    say(_note(study))
    for run in study.runs:
        if run.ended != "done":
            say(f"{run.name} did not finish: {run.ended}.")


def _note(study: ScalingStudy) -> str:
    return (
        f"{counted(study.works, 'work')}, {counted(study.tasks, 'task')}, a system of"
        f" {counted(study.size, 'slot')}. under, over: what supply lacked or exceeded, on average,"
        " in percent of the system; under-t, over-t: in percent of the time. up: slots, on average."
        " slowdown: mean response by critical path; elastic: by the response where machines are"
        " always up. hours: charged for each slot of the system."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _row(run: ScaledWorkload, setting: ScalingSetting) -> tuple[str, ...]:
    one = run.elasticity
    return (
        run.provisioner,
        run.placer,
        _percent(one.under),
        _percent(one.over),
        _percent(one.under_time),
        _percent(one.over_time),
        f"{one.supply:.1f}",
        f"{run.slowdown.mean:.2f}",
        f"{run.slowdown.p90:.2f}",
        f"{run.elastic.mean:.2f}",
        f"{run.charged_hours:.2f}",
        "-" if run.is_base else _cost(run.cost, setting),
    )


def _cost(cost: str, setting: ScalingSetting) -> str:
    market = setting.market
    return "free" if market.is_free else format_money(Money.recall(cost), market.currency)


def _account_rows(run: ScaledWorkload, setting: ScalingSetting) -> Iterator[tuple[str, ...]]:
    for one in run.accounts:
        yield (
            run.provisioner,
            one.name,
            _percent(one.elasticity.under),
            _percent(one.elasticity.over),
            f"{one.slowdown.mean:.2f}",
            f"{one.slowdown.p90:.2f}",
            _cost(one.cost, setting),
            "-" if one.most_of_budget is None else _percent(one.most_of_budget),
        )


def show_ranking(study: ScalingStudy) -> None:
    print_table(_RANKED, _ranking(study), right=" ".join((_RANKED[0], *_RANKED[2:])))
    say(_SCORES)


def _ranking(study: ScalingStudy) -> list[tuple[str, ...]]:
    """The best overall first."""
    scores = sorted(study.scores().items(), key=lambda one: -one[1].overall)
    return [
        (
            str(place),
            name,
            f"{one.pairwise:.1f}",
            f"{one.fractional:.2f}",
            f"{one.elasticity:.2f}",
            f"{one.user:.2f}",
            f"{one.overall:.2f}",
        )
        for place, (name, one) in enumerate(scores, 1)
    ]


def values(study: ScalingStudy, *, ranked: bool) -> dict[str, Any]:
    """For programs: everything, with demand and supply over time."""
    found: dict[str, Any] = msgspec.to_builtins(study)
    for run, entry in zip(study.runs, found["runs"], strict=True):
        entry["name"] = run.name
    if ranked:
        found["scores"] = msgspec.to_builtins(study.scores())
    return found


def _plot(study: ScalingStudy) -> Plot:
    runs = [run for run in study.runs if not run.is_base]
    return demand_plot(
        [(run.name, run.series.demand, run.series.supply) for run in runs],
        study.step_s,
        study.size,
    )
