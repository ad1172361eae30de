"""Tables of the page: failures, what runs longest, offers, plan against actual."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Final

import msgspec
import numpy as np

from bursar.model.errors import one_line
from bursar.model.money import NANOS, Money
from bursar.model.text import cut
from bursar.model.time import SECOND, Time
from bursar.report.page.machine_log import NEVER, MachineLog
from bursar.report.page.money_split import PLACES, USES, OfferMoney, Use, uses_of_attempts
from bursar.report.page.numbers import amount, duration, price
from bursar.report.page.runtimes import OfferRunTimes
from bursar.report.page.series import AttemptColumns
from bursar.state.digest import digest_of
from bursar.state.failures import failures_alike
from bursar.state.state import RunState

_OTHERS: Final[tuple[tuple[Use, str], ...]] = (
    ("off", "called off"),
    ("failed", "failed"),
    ("lost", "lost"),
    ("running", "running"),
    ("replica", "replicas running"),
)
MOST_GROUPS: Final = 12
MOST_LONGEST: Final = 10
MOST_LETTERS: Final = 2_000
"""of what a task printed"""
MOST_TASKS: Final = 20
"""numbers of tasks in a group"""


class FailureGroup(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tasks that failed alike; texts are as the tasks wrote them."""

    count: int
    line: str
    code: str
    tasks: list[int]
    command: str = ""
    stderr: str = ""


class LongAttempt(msgspec.Struct, frozen=True):
    task: int
    copies: int
    machine: str
    age: float
    p50: float | None
    p90: float | None
    text: str


class OfferRow(msgspec.Struct, frozen=True):
    """Texts, as they are shown."""

    offer: str
    pool: str
    price: str
    up: str
    rented: str
    lost: str
    p50: str
    useful: str
    others: str
    money: str
    each: str


class PromiseRow(msgspec.Struct, frozen=True):
    """What was predicted, and what was."""

    what: str
    predicted: str
    at_most: str
    actual: str
    kept: bool | None


def failures(state: RunState, *, redact: bool = False) -> list[FailureGroup]:
    """Those that befell most tasks come first."""
    groups = []
    for tasks in failures_alike(state)[:MOST_GROUPS]:
        failure = state.failed_tasks[tasks[0]]
        text = (failure.why or "").strip()
        lines = text.splitlines() or [""]
        code = "" if failure.exit_code is None else f"exit code {failure.exit_code}"
        line = cut(one_line(lines[-1].strip() or code or "no output"), 300)
        groups.append(
            FailureGroup(
                count=len(tasks),
                line="not shown" if redact else line,
                code=code,
                tasks=tasks[:MOST_TASKS],
                command="" if redact else cut(state.describe(tasks[0]), 300),
                stderr="" if redact else text[-MOST_LETTERS:],
            )
        )
    return groups


def tries_failed(columns: AttemptColumns) -> int:
    """Attempts that failed, also of tasks that were tried again."""
    return int(np.count_nonzero((columns.outcome == 1) | (columns.outcome == 2)))


def longest(
    state: RunState,
    columns: AttemptColumns,
    machines: MachineLog,
    times: list[OfferRunTimes],
    now: Time,
) -> list[LongAttempt]:
    """Attempts that run, against what such tasks took; after the end, those that count."""
    known = {one.offer: one for one in times}
    live = columns.is_live
    ends = np.where(live, now, columns.ended)
    chosen = np.flatnonzero(live if state.ended is None else columns.is_winner)
    took = (ends - columns.started)[chosen]
    found = []
    for place in chosen[np.argsort(-took, kind="stable")][:MOST_LONGEST].tolist():
        machine = int(columns.machine[place])
        seen = known.get(machines.offer_of(machine).name)
        age = int(ends[place] - columns.started[place])
        task = int(columns.task[place])
        found.append(
            LongAttempt(
                task=task,
                copies=max(1, len(state.attempts_of(task))),
                machine=machines.name(machine),
                age=age / SECOND,
                p50=None if seen is None else seen.p50,
                p90=None if seen is None else seen.p90,
                text=duration(age),
            )
        )
    return found


def offer_rows(
    state: RunState,
    columns: AttemptColumns,
    machines: MachineLog,
    split: list[OfferMoney],
    times: list[OfferRunTimes],
) -> list[OfferRow]:
    currency = machines.market.currency
    known = {one.offer: one for one in times}
    uses = uses_of_attempts(columns, machines)
    of_attempt = np.array(machines.offer)[columns.machine] if len(columns.task) else uses
    rented = Counter(machines.offer[1:])
    up = Counter(_offers(machines, lambda one: machines.gone[one] == NEVER))
    lost = Counter(_offers(machines, lambda one: machines.cause_of(one) in ("lost", "expired")))
    rows = []
    for place, offer in enumerate(machines.market.offers):
        counts = np.bincount(uses[of_attempt == place], minlength=len(USES)).tolist()
        useful = counts[PLACES["useful"]]
        others = [f"{counts[PLACES[use]]:,} {name}" for use, name in _OTHERS if counts[PLACES[use]]]
        total, seen = split[place].total, known.get(offer.name)
        rows.append(
            OfferRow(
                offer=offer.name,
                pool="may vanish" if offer.pool == "unreliable" else "stays",
                price=price(offer, currency),
                up=_or_none(up[place]),
                rented=_or_none(rented[place]),
                lost=_or_none(lost[place]),
                p50="–" if seen is None or seen.p50 is None else duration(round(seen.p50 * SECOND)),
                useful=_or_none(useful),
                others=", ".join(others) or "–",
                money=amount(total, currency),
                each=amount(total / useful, currency) if useful else "–",
            )
        )
    return rows


def _offers(machines: MachineLog, wanted: Callable[[int], bool]) -> list[int]:
    """The offer of each machine of which this holds."""
    return [machines.offer[one] for one in range(1, len(machines) + 1) if wanted(one)]


def _or_none(number: int) -> str:
    return f"{number:,}" if number else "–"


def promises(state: RunState) -> list[PromiseRow]:
    """The plan against what came of it; empty: no plan was chosen."""
    digest = digest_of(state)
    plan = digest.promise
    if plan is None:
        return []
    over = digest.settled >= digest.total
    currency, cost = digest.currency, digest.committed - plan.committed_before
    return [
        PromiseRow(
            "time, from the choice on",
            duration(plan.makespan_p50),
            duration(plan.makespan_upper),
            duration(digest.makespan) if over else "not finished",
            digest.makespan <= plan.makespan_upper if over else None,
        ),
        PromiseRow(
            "cost, from the choice on",
            amount(plan.cost_p50, currency),
            amount(plan.cost_upper, currency),
            amount(cost, currency),
            cost <= plan.cost_upper if over else None,
        ),
    ]


def shown_command(state: RunState) -> str:
    """What was typed, where the journal has it; else the command of the first task."""
    if not state.total or state.created is None:
        return ""
    bag = state.work[0][1].tasks
    template = getattr(bag, "template", ())
    return cut(one_line(shlex.join(template)), 300) if template else ""


def exact(total: Fraction) -> str:
    """A sum of money as the ledger writes it."""
    nanos = total * NANOS
    assert nanos.denominator == 1, "the parts sum to whole billionths"  # noqa: S101
    return str(Money(nanos.numerator))
