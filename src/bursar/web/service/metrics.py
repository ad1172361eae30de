"""`/metrics`: figures for Prometheus, in its text format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from bursar.web.service.guarding import Guarding
from bursar.web.service.users import UserStatus

Samples = Iterable[tuple[str, str | float | int]]
Metric = tuple[str, str, Samples]
"""its name, what it tells, and values by labels"""


def metrics_text(
    users: Sequence[UserStatus],
    works: Mapping[str, tuple[int, int]],
    guarding: Guarding | None,
) -> str:
    """The users' figures; of works how many were submitted, and their tasks that are left.

    Requests are counted for all users together, which only the administrator sees.
    """
    lines: list[str] = []
    for name, help_text, samples in (
        *_works(works),
        ("bursar_budget", "the most that may be committed in an interval", _money(users, "amount")),
        ("bursar_committed", "money committed in this interval", _money(users, "committed")),
        (
            "bursar_committed_total",
            "money committed in all intervals",
            _money(users, "committed_total"),
        ),
        *_slots(users),
        *_requests(guarding),
    ):
        kind = "counter" if name.endswith("_total") else "gauge"
        lines += [f"# HELP {name} {help_text}", f"# TYPE {name} {kind}"]
        lines += [f"{name}{{{labels}}} {value}" for labels, value in samples]
    return "\n".join(lines) + "\n"


def _works(works: Mapping[str, tuple[int, int]]) -> Iterable[Metric]:
    counts = [(f'user="{name}"', count) for name, (count, _) in works.items()]
    yield "bursar_works_submitted_total", "works that a user has submitted", counts
    tasks = [(f'user="{name}"', left) for name, (_, left) in works.items()]
    yield "bursar_tasks_unsettled", "tasks of works that are not settled", tasks


def _slots(users: Sequence[UserStatus]) -> Iterable[Metric]:
    demand = [(f'user="{user.name}"', user.demand) for user in users]
    yield "bursar_demand_slots", "slots that tasks which are ready or run could use", demand
    supply = [(f'user="{user.name}"', user.supply) for user in users]
    yield "bursar_supply_slots", "slots of the machines that are rented", supply
    machines = [
        (f'user="{user.name}",offer="{_escaped(offer)}"', count)
        for user in users
        for offer, count in user.machines.items()
    ]
    yield "bursar_machines", "machines that boot or are up", machines


def _money(users: Sequence[UserStatus], field: str) -> Samples:
    return [
        (f'user="{user.name}",currency="{user.currency}"', value)
        for user in users
        if (value := getattr(user, field)) is not None
    ]


def _requests(guarding: Guarding | None) -> Iterable[Metric]:
    if guarding is None:
        return
    statuses = sorted(guarding.answered.items())
    counts = [(f'status="{status}"', count) for status, count in statuses]
    yield "bursar_http_requests_total", "requests by the status of the answer", counts
    seconds = [("", f"{guarding.seconds:.6f}")]
    yield "bursar_http_seconds_total", "time until answers began", seconds


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
