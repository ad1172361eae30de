"""`bursar compare`: placers beside each other, on one workload."""

from __future__ import annotations

from typing import Any

import rich_click as click

from bursar.cli.common import print_json
from bursar.cli.numbers import Whole
from bursar.cli.options import OUTPUT, WORK, json_option, option, settings
from bursar.cli.workload_options import setting_of, workload_options
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
@option(OUTPUT, "--plot", metavar="FILE.svg", help="Draw mean slowdowns into this file.")
@json_option
def command(workload: str, alone: bool, plot: str | None, as_json: bool, **options: Any) -> None:
    """Compare placers on a workload: slowdown, utilization, fairness and stability.

    WORKLOAD is a workload file, see bursar generate. Without --place, all placers are compared at
    the utilization of the file. The fairness of slowdowns is Jain's index (1: all are alike) and
    P90 by P10. A run is stable if two tests of the works in the system say so: Wieland's, and the
    Lyapunov drift.
    """
    from bursar.cli.workload_table import draw, show_comparison, values, watched
    from bursar.formats.workload import read_workload
    from bursar.runs.workload_study import study_workload
    from bursar.simulate.placing import RULES

    if not is_workload(workload):
        raise InputError(f"{shown(workload)} is not a workload file; bursar generate makes one")
    everything = ",".join(name for name in RULES if ":" not in name)
    setting = setting_of({**options, "place": options["place"] or everything}, alone=alone)
    study = study_workload(read_workload(workload), setting, watched)
    if as_json:
        print_json(values(study))
    else:
        show_comparison(study)
    if plot is not None:
        draw(study, plot)
