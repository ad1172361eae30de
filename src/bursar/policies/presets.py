"""Presets: named combinations of entries, and what only makes sense together.

A user combines entries freely. Where an entry reads what another one knows, or does a part of what
another one decides, any other combination would do nothing of use: it is refused in one line.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bursar.model.errors import InputError

Entries = Mapping[str, str]
"""Role to the name of its entry."""

ROUND_ROBIN: Final = {"provisioner": "fixed", "placer": "random", "replicator": "none"}
"""For machines that the user chose."""
IN_ORDER: Final = {"provisioner": "fixed", "placer": "fifo", "replicator": "none"}
"""For free machines: there is nothing to learn from the first tasks."""
BATS: Final = {"provisioner": "bats", "placer": "fitting", "replicator": "at-risk"}
"""For machines that cost money, and a deadline or a budget per interval."""
FRONTIER: Final = {"provisioner": "frontier", "placer": "kept", "replicator": "at-risk"}
"""For machines that cost money, and one budget for a bag."""
CALLS: Final = {"provisioner": "calls", "placer": "fifo", "replicator": "none"}
"""For calls that are submitted while others run, on machines that cost money."""
HEDGED: Final = {"provisioner": "hedged", "placer": "kept", "replicator": "silent"}
"""For a budget on a market that has unreliable machines, too ..."""
HEDGED_BATS: Final = {"provisioner": "hedged", "placer": "fitting", "replicator": "silent"}
"""... and for a deadline, or a budget per interval."""
FAITHFUL: Final = {"provisioner": "bats", "placer": "random", "replicator": "none"}
"""BaTS as published."""
PLANNED: Final = {"provisioner": "planned", "placer": "fitting", "replicator": "at-risk"}
"""For a plan that was chosen."""
SAMPLING: Final = {"provisioner": "sample", "placer": "sample", "replicator": "none"}
EXPERT: Final = {
    "provisioner": "mixed",
    "placer": "pooled",
    "replicator": "ntdmr",
    "advisor": "tail",
}
"""For unreliable machines."""
UNIFORM_PROGRESS: Final = {
    "provisioner": "uniform-progress",
    "placer": "kept",
    "replicator": "none",
}
"""For a deadline on unreliable machines, as Can't Be Late has it."""
PROB: Final = {
    "provisioner": "prob",
    "placer": "assigned",
    "replicator": "none",
    "advisor": "replan",
}
"""For a workflow, whose tasks are each meant for one offer."""
PLANNING_FIRST: Final = {"provisioner": "plf", "placer": "follow", "replicator": "none"}
"""For a workload within a budget per interval, planned interval by interval."""
SCALING_FIRST: Final = {"provisioner": "scf", "placer": "follow", "replicator": "none"}
"""The same, for as many machines as the budget buys."""
FEEDBACK: Final = {"provisioner": "pfa", "placer": "priority", "replicator": "none"}
"""For a workload within a budget per interval, by what machines were seen to do."""
UNPLANNED: Final = {"provisioner": "fixed", "placer": "assigned", "replicator": "none"}
"""For a workflow on machines that cost nothing, or that the user chose."""

PRESETS: Final[Mapping[str, Entries]] = {
    "round-robin": ROUND_ROBIN,
    "in-order": IN_ORDER,
    "bats": BATS,
    "bats-published": FAITHFUL,
    "calls": CALLS,
    "frontier": FRONTIER,
    "hedged": HEDGED,
    "planned": PLANNED,
    "sample": SAMPLING,
    "expert": EXPERT,
    "uniform-progress": UNIFORM_PROGRESS,
    "prob": PROB,
    "workflow": UNPLANNED,
    "pfa": FEEDBACK,
    "plf": PLANNING_FIRST,
    "scf": SCALING_FIRST,
}

SUITED: Final[Mapping[str, Entries]] = {
    "bats": BATS,
    "calls": CALLS,
    "frontier": FRONTIER,
    "hedged": HEDGED,
    "mixed": EXPERT,
    "planned": PLANNED,
    "prob": PROB,
    "sample": SAMPLING,
    "uniform-progress": UNIFORM_PROGRESS,
    "pfa": FEEDBACK,
    "plf": PLANNING_FIRST,
    "scf": SCALING_FIRST,
}
"""What goes with a provisioner, unless the user says otherwise."""
FOR_BAGS: Final = ("bats", "frontier", "hedged", "mixed", "planned", "sample", "uniform-progress")
"""Provisioners that count on tasks which do not wait for each other."""
AUTOSCALERS: Final = (
    *("react", "adapt", "hist", "reg", "conpaas", "plan", "token", "forecast", "pfa"),
    *("plf", "scf"),
)
"""Provisioners that follow the demand of work that keeps arriving."""
FOR_SEVERAL_ACCOUNTS: Final[Mapping[str, tuple[str, ...]]] = {
    "provisioner": ("fixed", *AUTOSCALERS),
    "placer": (
        *("fifo", "random", "priority", "follow"),
        *("backfill", "cpp", "owm", "fdws", "hr", "fwp", "stretch", "sr", "slop", "fes", "wheft"),
    ),
    "replicator": ("none",),
    "advisor": ("none",),
}
"""Entries by role that serve a run with several accounts, each with its own money and machines."""

_KNOW_RUN_TIMES: Final = ("bats", "frontier", "hedged", "planned")
GOES_WITH: Final[Mapping[tuple[str, str], Mapping[str, tuple[str, ...]]]] = {
    # `mixed` rents for the process that `ntdmr` starts attempts of; `pooled` leaves them to it.
    ("provisioner", "mixed"): {"placer": ("pooled",), "replicator": ("ntdmr",)},
    ("placer", "pooled"): {"provisioner": ("mixed",), "replicator": ("ntdmr",)},
    ("replicator", "ntdmr"): {"provisioner": ("mixed",), "placer": ("pooled",)},
    ("advisor", "tail"): {"provisioner": ("mixed",)},
    # Others than `assigned` start tasks on offers that they were not planned for.
    ("provisioner", "prob"): {"placer": ("assigned",)},
    ("advisor", "replan"): {"provisioner": ("prob",)},
    # Others than `sample` compare no offers, so that its sample is never complete.
    ("provisioner", "sample"): {"placer": ("sample",)},
    ("placer", "sample"): {"provisioner": ("sample",)},
    # Nothing starts by `follow` that no plan has.
    ("placer", "follow"): {"provisioner": ("plf", "scf")},
    ("placer", "fitting"): {"provisioner": _KNOW_RUN_TIMES},
    ("replicator", "at-risk"): {"provisioner": _KNOW_RUN_TIMES},
    ("replicator", "silent"): {"provisioner": ("hedged",)},
}
"""Entries that need some other entry, with the role that it has and the names that do."""


def check_together(policies: Entries) -> None:
    """Refuse an entry that makes no sense with the others."""
    for role, name in policies.items():
        for other, partners in GOES_WITH.get((role, name), {}).items():
            if policies.get(other) not in partners:
                raise InputError(
                    f"the {role} '{name}' goes with the {other} '{partners[0]}' only;"
                    " choose another"
                )


def check_accounts(policies: Entries, count: int, own: Mapping[str, Entries]) -> None:
    """Refuse bursar's own entries that serve one account, where there are several."""
    for role, name in policies.items() if count > 1 else ():
        able = FOR_SEVERAL_ACCOUNTS[role]
        if name in own[role] and name not in able:
            raise InputError(
                f"the {role} '{name}' serves one account, and the run has {count}; choose"
                f" {' or '.join(able)}"
            )


def advisor_for(provisioner: str) -> str | None:
    """The advisor of a run that names none, as runs of earlier versions do."""
    return SUITED.get(provisioner, {}).get("advisor")
