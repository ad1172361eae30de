"""What a task instance of Airflow becomes for the service, and what its work says of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Final

import msgspec

from bursar.model.errors import InputError, shown

MOST_PRIORITY: Final = 2**31
MODULE: Final = "bursar.airflow.execute"
SETTINGS: Final = "bursar"
"""the key of a task's `executor_config` that is meant for bursar"""
LIVE: Final = frozenset({"queued", "running"})
"""states of a task instance in which its process may run"""
CLEARED: Final = "restarting"
"""the state of one that was cleared while it ran"""


class TaskFile(msgspec.Struct, frozen=True):
    """A task instance as it waits in a file: who pays, and what Airflow wants to be executed."""

    account: str
    priority: int
    workload: msgspec.Raw
    """Airflow's own JSON; it holds the token of the task instance"""


def task_file(account: str, priority: int, workload: bytes) -> TaskFile:
    return TaskFile(account, priority, msgspec.Raw(workload))


def account_of(config: Mapping[str, Any] | None, owner: str) -> str:
    """Who pays: `executor_config={"bursar": {"account": ...}}`, else the owner.

    Whether that is allowed says the service: the executor's token decides for whom it submits.
    """
    settings = (config or {}).get(SETTINGS, {})
    if not isinstance(settings, Mapping) or not set(settings) <= {"account"}:
        raise InputError(
            f"executor_config[{SETTINGS!r}] is {shown(settings)}; it may have an account:"
            f" {{{SETTINGS!r}: {{'account': 'ann'}}}}"
        )
    account = settings.get("account", owner)
    if not isinstance(account, str) or not account:
        raise InputError(f"the account {shown(account)} of a task must be the name of a user")
    return account


def priority_of(weight: int) -> int:
    """Airflow's priority weight, where larger is more urgent, too."""
    return max(-MOST_PRIORITY, min(MOST_PRIORITY, weight))


def command_of(python: str, file: str) -> Sequence[str]:
    """What runs on the machine; nothing secret, for it stands in the journal."""
    return python, "-m", MODULE, file


class Fate(Enum):
    """What a work says of its task instance."""

    GOES_ON = "goes on"
    ENDED = "ended"
    """the process did all that it should"""
    BROKEN = "broken"
    """it ended with a mistake, was stopped, or lost its machine"""
    UNWANTED = "unwanted"
    """Airflow does not want it any more: cancel the work, and say nothing"""


def fate_of(
    status: str | None, state: str | None, *, was_running: bool, is_overdue: bool
) -> tuple[Fate, str]:
    """What is to be done about a work, and why.

    `status` is that of the work (None: the service does not know it), `state` that of the task
    instance with this id (None: there is none, or it was queued again). A process that nobody wants
    any more ends itself with its next heartbeat; only one that `is_overdue` is cancelled.
    """
    if status is None:
        return Fate.BROKEN, "the service does not know this work any more"
    if status == "done" or (status == "failed" and state == CLEARED):
        return Fate.ENDED, ""
    if status in ("failed", "cancelled"):
        return Fate.BROKEN, f"its work in bursar is {status}"
    if state == "running" and status == "waiting" and was_running:
        return Fate.BROKEN, "its machine was lost, or its next billing unit could not be paid"
    if state not in LIVE and (is_overdue or (status == "waiting" and not was_running)):
        return Fate.UNWANTED, f"Airflow has it as {state or 'replaced'}"
    return Fate.GOES_ON, ""


def waiting_line(number: int, user: Mapping[str, Any]) -> str:
    """Why a work does not begin, as far as money is concerned; `user` is what the service says."""
    name = user["name"]
    slots = f"{name} has {user['supply']} of the {user['demand']} slots that its tasks could use"
    if user["budget"] is None:
        return f"work {number} waits for a machine: {slots}; no budget limits it"
    again = "" if user["refill_s"] is None else f", more in {user['refill_s']:.0f} s"
    money = f"{user['left']} {user['currency']} is left of {user['budget']}{again}"
    return f"work {number} waits for money or a machine: {money}; {slots}"
