"""`bursar generate`: a workload that is drawn."""

from __future__ import annotations

from typing import Any, Final

import rich_click as click

from bursar.cli.common import print_json, read_as, say
from bursar.cli.numbers import Number, Whole
from bursar.cli.options import MACHINES, OUTPUT, WORK, json_option, option, settings
from bursar.model.numbers import LAST_SEED
from bursar.model.text import counted
from bursar.model.time import SECOND, format_duration

MOST_WORKFLOWS: Final = 10_000_000
MOST_MACHINES: Final = 1_000_000
KINDS: Final = "montage, ligo, sipht, cybershake, epigenomics, daggen"
USUAL: Final = "montage,ligo,sipht"
CLASSES: Final = "30-38:75,40-198:20,200-600:5"


@click.command(context_settings=settings)
@option(
    WORK,
    "--kind",
    "kinds",
    metavar="KIND,...",
    default=USUAL,
    help=f"Kinds of workflows, in equal shares: {KINDS} (default: {USUAL}).",
)
@option(
    WORK,
    "--count",
    metavar="N",
    type=Whole(1, MOST_WORKFLOWS),
    default=3000,
    help="Number of workflows (default: 3000).",
)
@option(
    WORK,
    "--seed",
    metavar="N",
    type=Whole(0, LAST_SEED),
    default=0,
    help="The same seed gives the same workload (default: 0).",
)
@option(
    WORK,
    "--classes",
    metavar="SIZES",
    default=CLASSES,
    help=f"Sizes in tasks with their shares (default: {CLASSES}).",
)
@option(
    WORK,
    "--totals",
    metavar="HOW",
    default="hyper-gamma",
    help="Run time of all tasks of a workflow: generated, a mean such as 30m, or"
    " hyper-gamma with a mean of 1h (default: hyper-gamma).",
)
@option(
    MACHINES,
    "--utilization",
    metavar="SHARE",
    type=Number(0.001, 10),
    default=0.9,
    help="Let workflows arrive so that they keep this share of the machines busy (default: 0.9).",
)
@option(
    MACHINES,
    "--machines",
    metavar="N",
    type=Whole(1, MOST_MACHINES),
    default=100,
    help="Number of machines of speed 1 (default: 100).",
)
@option(OUTPUT, "--out", "-o", metavar="FILE", required=True, help="File to write, .jsonl.gz.")
@json_option
def command(kinds: str, classes: str, totals: str, out: str, as_json: bool, **options: Any) -> None:
    """Draw workflows and their arrivals, and write them as a workload for bursar simulate.

    The shapes and run times of montage, ligo, sipht, cybershake and epigenomics are those of the
    generator of Bharathi et al.; daggen makes random ones. Arrivals are a Poisson process, scaled
    so that the utilization is exact.
    """
    from bursar.formats.workload import write_workload  # late: they bring numpy
    from bursar.formats.workload_toml import read_classes, read_kinds, read_totals
    from bursar.runs.workload_facts import facts_of
    from bursar.simulate.workloads.generate import generate
    from bursar.simulate.workloads.spec import Poisson, WorkloadSpec

    spec = WorkloadSpec(
        kinds=read_as("--kind", read_kinds, kinds),
        count=options["count"],
        seed=options["seed"],
        classes=read_as("--classes", read_classes, classes),
        totals=read_as("--totals", read_totals, totals),
        arrivals=Poisson(utilization=options["utilization"], speed=options["machines"]),
    )
    workload = generate(spec)
    write_workload(workload, out)
    facts = facts_of(workload, options["machines"])
    if as_json:
        print_json({"file": out, **facts.values()})
        return
    mean = format_duration(round(facts.total_mean_s * SECOND))
    say(
        f"{out}: {counted(facts.works, 'workflow')}, {counted(facts.tasks, 'task')}, in"
        f" {format_duration(facts.last_arrival)}; {100 * facts.utilization:.1f} % of"
        f" {counted(options['machines'], 'machine')}; a workflow has {facts.size_p50:,.0f} tasks"
        f" (P90 {facts.size_p90:,.0f}) and takes {mean} of machine time in the mean"
    )
