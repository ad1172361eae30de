"""How the works and users of a service stand, for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Final

from bursar.cli.common import print_json, print_line, print_table, say
from bursar.client import Client
from bursar.model.errors import InputError, shown
from bursar.model.money import Money, format_money
from bursar.model.numbers import LARGEST_WHOLE, is_position
from bursar.model.text import counted, cut
from bursar.model.time import format_duration, seconds

FAILURES_SHOWN: Final = 3
COLUMNS = ("work", "status", "done", "failed", "priority", "user", "name")


def show_service(client: Client, work: str | None, *, as_json: bool) -> None:
    """All works and budgets, or one work."""
    if work is not None:
        if not is_position(work, LARGEST_WHOLE):
            raise InputError(f"{shown(work)} is not the number of a work")
        works, users = [client.work(int(work))], []
    else:
        works, users = list(client.works()), client.users()
    if as_json:
        print_json(works[0] if work is not None else {"users": users, "works": works})
        return
    for user in users:
        print_line(_budget(user))
    if works:
        print_table(COLUMNS, map(_row, works), right="work done failed priority")
    else:
        say("no works yet: submit one with bursar submit")
    if work is not None and works[0]["failed"]:
        _print_failures(client, works[0]["number"])


def _print_failures(client: Client, number: int) -> None:
    """Some of the tasks that failed, each with its reason and the way to see more."""
    for task in islice(client.tasks(number, "failed"), FAILURES_SHOWN):
        code = "" if task["exit_code"] is None else f" (exit code {task['exit_code']})"
        print_line(f"failed: task {task['task']}{code}: {cut(task['name'])}")
        for line in (task["why"] or "").splitlines():
            print_line(f"    {cut(line)}")
        print_line(f"    see more: bursar logs {task['task']} --work {number}")


def _row(work: Mapping[str, Any]) -> Sequence[str]:
    return (
        str(work["number"]),
        work["status"],
        f"{work['done']:,}/{work['tasks']:,}",
        str(work["failed"] or "-"),
        str(work["priority"]),
        work["owner"],
        work["name"],
    )


def _budget(user: Mapping[str, Any]) -> str:
    machines = counted(sum(user["machines"].values()), "machine")
    if user["budget"] is None:
        return f"{user['name']}: no limit, {machines}"
    refill = format_duration(seconds(user["refill_s"]))
    committed = format_money(Money.parse(user["committed"]), user["currency"])
    return (
        f"{user['name']}: {committed} committed of {user['budget']}, more in {refill}; {machines}"
    )
