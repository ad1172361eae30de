"""`bursar compare`: placers or autoscalers beside each other, on one workload."""

from __future__ import annotations

from typing import Any

import rich_click as click

from bursar.cli.common import print_json, write_text
from bursar.cli.numbers import Whole
from bursar.cli.options import (
    GOAL,
    MACHINES,
    OUTPUT,
    WORK,
    fleet_option,
    json_option,
    option,
    settings,
)
from bursar.cli.workload_options import (
    is_scaled,
    scaling_of,
    setting_of,
    workload_of,
    workload_options,
)
from bursar.formats.recognise import is_workload
from bursar.model.errors import InputError, shown
from bursar.model.numbers import LAST_SEED


@click.command(context_settings=settings)
@click.argument("workload", metavar="WORKLOAD")
@workload_options
@option(
    WORK,
    "--alone",
    is_flag=True,
    help="Take slowdowns by the makespan of a work alone, not by its critical path.",
)
@option(
    WORK,
    "--seed",
    metavar="N",
    type=Whole(0, LAST_SEED),
    default=0,
    help="Seed of what placers and estimates draw (default: 0).",
)
@option(
    GOAL,
    "--budget",
    "-b",
    metavar="MONEY",
    help="With --provision, never commit more money than this, e.g. 100/min.",
)
@option(
    MACHINES,
    "--market",
    "-m",
    metavar="FILE",
    help="Market file with offers and prices, for --provision (default: free machines).",
)
@fleet_option
@option(OUTPUT, "--rank", is_flag=True, help="Rank autoscalers by elasticity and what users feel.")
@option(
    OUTPUT,
    "--plot",
    metavar="FILE.svg",
    help="Draw mean slowdowns into this file; with --provision, demand and supply.",
)
@option(
    OUTPUT,
    "--html",
    metavar="FILE",
    help="Write tables and plot into one page that opens in any browser.",
)
@json_option
def command(
    workload: str,
    alone: bool,
    rank: bool,
    plot: str | None,
    html: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Compare placers on a workload: slowdown, utilization, fairness and stability.

    With --provision, compare autoscalers: how supply follows demand, what works feel of it, what
    it costs; with --rank, which of them is best by all of that together.

    WORKLOAD is a workload file, see bursar generate. Without --place, all placers are compared at
    the utilization of the file. The fairness of slowdowns is Jain's index (1: all are alike) and
    P90 by P10. A run is stable if two tests of the works in the system say so: Wieland's, and the
    Lyapunov drift.
    """
    from bursar.cli.workload_table import draw, page, show_comparison, values, watched
    from bursar.runs.workload_study import study_workload
    from bursar.simulate.placing import RULES

    if not is_workload(workload):
        raise InputError(f"{shown(workload)} is not a workload file; bursar generate makes one")
    if is_scaled(options):
        from bursar.cli.scaling_table import simulate_scaled

        if alone:
            raise InputError("--alone is for placers; leave out --provision, or --alone")
        setting = scaling_of(options)
        works = workload_of(workload, options)
        simulate_scaled(works, setting, plot, ranked=rank, as_json=as_json, html=html)
        return
    if rank:
        raise InputError("--rank ranks autoscalers; add for example --provision react,plan")
    everything = ",".join(name for name in RULES if ":" not in name)
    placing = setting_of({**options, "place": options["place"] or everything}, alone=alone)
    study = study_workload(workload_of(workload, options), placing, watched)
    if as_json:
        print_json(values(study))
    else:
        show_comparison(study)
    if plot is not None:
        draw(study, plot)
    if html is not None:
        write_text(html, page(study))
