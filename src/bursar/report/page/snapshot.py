"""A snapshot of a run: all that its page shows, as texts and short series.

A pure function of the state, the log of machines, the reasons and the time: the same for a run that
goes on, one that has ended and one that was simulated. Its size does not grow with the tasks.
"""

from __future__ import annotations

import platform
import shlex
from fractions import Fraction
from functools import cache
from importlib.metadata import version
from typing import Final

import msgspec

from bursar.model.money import NANOS
from bursar.model.plan import Plan
from bursar.model.text import counted
from bursar.model.time import SECOND, Time
from bursar.model.workflow import Workflow
from bursar.report.page.demand import demand_series
from bursar.report.page.forecasts import RestForecast, forecasts_of
from bursar.report.page.graph import WorkflowGraph, workflow_graphs
from bursar.report.page.headline import Headline, PageTile, PageVerdict
from bursar.report.page.ledger import LedgerTable, ledger_table
from bursar.report.page.machine_log import MachineLog
from bursar.report.page.money_split import PLACES, USES, OfferMoney, Use, split_money
from bursar.report.page.numbers import amount, moment, share
from bursar.report.page.reasons import Reasons, WhyGroup
from bursar.report.page.runtimes import OfferRunTimes, run_times
from bursar.report.page.series import (
    AttemptColumns,
    OfferFleet,
    Steps,
    done_series,
    failed_series,
    fleet_series,
    fleets_by_offer,
    money_series,
    running_series,
    supply_series,
    tail_begin,
)
from bursar.report.page.service_headline import ServiceHeadline, takes_work
from bursar.report.page.tables import (
    FailureGroup,
    LongAttempt,
    OfferRow,
    PromiseRow,
    exact,
    failures,
    longest,
    offer_rows,
    promises,
    shown_command,
    tries_failed,
)
from bursar.report.page.timeline import MachineTimeline, timeline
from bursar.report.page.users import AccountRow, account_rows
from bursar.report.summary import NOT_INCLUDED, STATUS_TEXT, prices_text
from bursar.state.state import RunState
from bursar.state.work_plans import FIRST_WORK

WORDS: Final[dict[Use, str]] = {
    "useful": "useful",
    "running": "running",
    "replica": "replica",
    "off": "called off",
    "failed": "failed",
    "lost": "lost",
    "booting": "booting",
    "idle": "idle",
    "rounded": "rounded up",
    "ahead": "paid ahead",
}
"""the words for the uses of money and of time, in the order of the key"""


class PlanPoint(msgspec.Struct, frozen=True, omit_defaults=True):
    """A plan on the plane of time and money, from the beginning of the run on."""

    name: str
    end: float
    end_upper: float
    cost: float
    cost_upper: float
    fleet: str = ""
    chosen: bool = False


class ChartData(msgspec.Struct, frozen=True):
    """Times in seconds since the run began, money in the currency."""

    now: float
    total: int
    currency: str
    budget: float | None
    budget_text: str
    deadline: float | None
    pauses: list[tuple[float, float]]
    begun: float
    tail: float | None
    money: Steps
    done: Steps
    failed: Steps
    running: Steps
    fleet: Steps
    fleets: list[OfferFleet]
    demand: Steps
    """slots that tasks could use ..."""
    supply: Steps
    """... and those of machines that are up"""
    plans: list[PlanPoint]


class ForecastData(msgspec.Struct, frozen=True):
    now: RestForecast | None
    history: list[RestForecast]
    text: str


class MoneyPart(msgspec.Struct, frozen=True):
    use: str
    word: str
    text: str
    share_text: str
    share: float
    exact: str
    """a fraction of whole numbers, in the currency"""


class OfferBar(msgspec.Struct, frozen=True):
    offer: str
    pool: str
    text: str
    parts: list[float]
    """of all money"""


class MoneyData(msgspec.Struct, frozen=True):
    total: str
    exact: str
    not_included: str
    parts: list[MoneyPart]
    offers: list[OfferBar]


class FailureData(msgspec.Struct, frozen=True):
    total: int
    tries: int
    blocked: int
    groups: list[FailureGroup]
    retry: str


class WhyData(msgspec.Struct, frozen=True):
    total: int
    groups: list[WhyGroup]


class LongestData(msgspec.Struct, frozen=True):
    title: str
    rows: list[LongAttempt]


class AboutRun(msgspec.Struct, frozen=True):
    """What it takes to make the same run again, and who made this page."""

    run: str
    events: int
    policies: str
    prices: str
    seed: int
    began: float
    command: str
    then: str
    """the command that chose a plan of it; empty: none did"""
    template: str
    version: str
    python: str
    promises: list[PromiseRow]
    accounts: list[AccountRow]


class RunSnapshot(msgspec.Struct, frozen=True):
    """One section for each panel; a live page gets those that changed."""

    run: str
    seq: int
    live: bool
    state: str
    """in a word: running, done, ..."""
    verdict: PageVerdict
    tiles: list[PageTile]
    charts: ChartData
    forecast: ForecastData
    machines: MachineTimeline
    money: MoneyData
    failures: FailureData
    why: WhyData
    longest: LongestData
    runtimes: list[OfferRunTimes]
    offers: list[OfferRow]
    ledger: LedgerTable
    graphs: list[WorkflowGraph]
    about: AboutRun


def snapshot(
    state: RunState,
    machines: MachineLog,
    reasons: Reasons,
    now: Time,
    *,
    is_live: bool,
    redact: bool = False,
) -> RunSnapshot:
    """How a run stands at `now`, which is not before its last event."""
    now = max(now, state.now) if state.ended is None and is_live else state.now
    columns = AttemptColumns.of(state)
    split = split_money(columns, machines, now)
    times = run_times(state, columns, machines)
    history = forecasts_of(state)
    ahead = _latest(state, history, is_live=is_live)
    money = _money(split, state.market.currency)
    useful = Fraction(money.parts[PLACES["useful"]].exact) / max(Fraction(1, NANOS), _total(split))
    head = _headline(state, now, ahead, is_live=is_live, useful=useful)
    return RunSnapshot(
        run=state.run,
        seq=state.events,
        live=is_live and state.ended is None,
        state=_word(state, is_live=is_live),
        verdict=head.verdict(),
        tiles=head.tiles(),
        charts=_charts(state, columns, machines, now),
        forecast=ForecastData(ahead, history, _judged(history, state)),
        machines=timeline(columns, machines, now),
        money=money,
        failures=_failures(state, columns, redact=redact),
        why=WhyData(reasons.total, reasons.groups(now)),
        longest=LongestData(
            "Running longest" if state.ended is None else "Took longest",
            longest(state, columns, machines, times, now),
        ),
        runtimes=times,
        offers=offer_rows(state, columns, machines, split, times),
        ledger=ledger_table(state, columns, machines, now),
        graphs=workflow_graphs(state),
        about=_about(state, now, redact=redact),
    )


def headline(
    state: RunState, now: Time, *, is_live: bool
) -> tuple[PageVerdict, list[PageTile], RestForecast | None]:
    """The verdict and the tiles of a run that goes on, alone: no time grows with the run."""
    now = max(now, state.now) if state.ended is None and is_live else state.now
    ahead = _latest(state, forecasts_of(state), is_live=is_live)
    head = _headline(state, now, ahead, is_live=is_live, useful=Fraction(0))
    return head.verdict(), head.tiles(), ahead


def _headline(
    state: RunState, now: Time, ahead: RestForecast | None, *, is_live: bool, useful: Fraction
) -> Headline:
    made = ServiceHeadline if is_live and takes_work(state) else Headline
    return made(state, now, ahead, is_live=is_live, useful=useful)


def _latest(state: RunState, history: list[RestForecast], *, is_live: bool) -> RestForecast | None:
    """What is to be expected of a run that goes on."""
    goes_on = is_live and state.ended is None and state.stopping is None
    return history[-1] if goes_on and history else None


def _word(state: RunState, *, is_live: bool) -> str:
    if state.ended is not None:
        return STATUS_TEXT[state.ended.status]
    if not is_live:
        return "abandoned"
    return "stopping" if state.stopping is not None else "running"


def _charts(state: RunState, columns: AttemptColumns, machines: MachineLog, now: Time) -> ChartData:
    budget = state.goal.total_budget
    return ChartData(
        now=now / SECOND,
        total=state.total,
        currency=state.market.currency,
        budget=None if budget is None else float(budget),
        budget_text="" if budget is None else amount(budget, state.market.currency),
        deadline=None if state.goal.deadline is None else state.goal.deadline / SECOND,
        pauses=[(since / SECOND, to / SECOND) for since, to in state.pauses],
        begun=state.begun / SECOND,
        tail=_tail(state, columns),
        money=money_series(machines),
        done=done_series(columns),
        failed=failed_series(state),
        running=running_series(columns),
        fleet=fleet_series(machines),
        fleets=fleets_by_offer(machines, now),
        demand=demand_series(state, columns, now),
        supply=supply_series(machines, now),
        plans=_plan_points(state),
    )


def _tail(state: RunState, columns: AttemptColumns) -> float | None:
    """When the tail of a bag began: by its strategy, or when its last task was first started."""
    strategy = state.plans_of(FIRST_WORK).strategy
    if strategy is not None:
        return strategy.at / SECOND
    is_bag = len(state.work) == 1 and not isinstance(state.work[0][1].tasks, Workflow)
    begin = tail_begin(columns, state.total) if is_bag and not state.arrivals_open else None
    return None if begin is None else begin / SECOND


def _plan_points(state: RunState) -> list[PlanPoint]:
    """The plans that were offered, and the one that was chosen, from the choice on."""
    plans = state.plans_of(FIRST_WORK)
    chosen, before = plans.chosen, float(plans.committed_before)
    begun = state.begun / SECOND
    points = []
    for plan in () if plans.offered is None else plans.offered.plans:
        if chosen is not None and _is_same(plan, chosen.name):
            continue
        points.append(
            PlanPoint(
                name=plan.name,
                end=begun + plan.makespan_s.p50,
                end_upper=begun + plan.makespan_s.upper,
                cost=before + float(plan.cost_p50),
                cost_upper=before + float(plan.bound),
                fleet=", ".join(f"{n} {name}" for name, n in plan.fleet.items() if n),
            )
        )
    if chosen is not None:
        points.append(
            PlanPoint(
                name=chosen.name,
                end=begun + chosen.makespan_p50 / SECOND,
                end_upper=begun + chosen.makespan_upper / SECOND,
                cost=before + float(chosen.cost_p50),
                cost_upper=before + float(chosen.cost_upper),
                fleet=", ".join(f"{n} {name}" for name, n in chosen.fleet.items() if n),
                chosen=True,
            )
        )
    return points


def _is_same(plan: Plan, name: str) -> bool:
    return name == plan.name or name in plan.names


def _total(split: list[OfferMoney]) -> Fraction:
    return sum((one.total for one in split), Fraction(0))


def _money(split: list[OfferMoney], currency: str) -> MoneyData:
    sums = [sum((one.parts[place] for one in split), Fraction(0)) for place in range(len(USES))]
    total = sum(sums, Fraction(0))
    whole = total or Fraction(1)
    return MoneyData(
        total=amount(total, currency),
        exact=exact(total),
        not_included=NOT_INCLUDED,
        parts=[
            MoneyPart(
                use=use,
                word=WORDS[use],
                text=amount(part, currency),
                share_text=share(part / whole),
                share=float(part / whole),
                exact=f"{part.numerator}/{part.denominator}",
            )
            for use, part in zip(USES, sums, strict=True)
        ],
        offers=[
            OfferBar(
                offer=one.offer,
                pool="",
                text=amount(one.total, currency),
                parts=[float(part / whole) for part in one.parts],
            )
            for one in split
            if one.total
        ],
    )


def _failures(state: RunState, columns: AttemptColumns, *, redact: bool) -> FailureData:
    return FailureData(
        total=state.failed,
        tries=tries_failed(columns),
        blocked=state.blocked,
        groups=failures(state, redact=redact),
        retry=_retry(state),
    )


def _retry(state: RunState) -> str:
    """The run whose failed tasks can be tried again; empty: none failed, or they cannot."""
    is_service = bool(state.goal.accounts) and state.arrivals_open
    return "" if state.is_of_calls or is_service or not state.failed else state.run


def _judged(history: list[RestForecast], state: RunState) -> str:
    """How good the forecasts were. A run that was cut off does not tell."""
    if not history:
        return ""
    first, last = history[0], history[-1]
    if state.ended is None or state.ended.status not in ("done", "failed"):
        moved = last.end[1] - first.end[1]
        since = moment(round(first.at * SECOND))
        sign = "later" if moved >= 0 else "earlier"
        return f"Since {since} the forecast of the end has moved by {abs(moved):.3g} s, {sign}."
    end, cost = state.last_settled / SECOND, float(state.ledger.committed)
    held = sum(one.end[0] <= end <= one.end[2] for one in history)
    within = sum(one.cost[0] <= cost + 1e-9 and cost - 1e-9 <= one.cost[2] for one in history)
    return (
        f"Of {counted(len(history), 'forecast')} on the way, the band from P10 to P90 held the end"
        f" in {held} and the cost in {within}. They share the luck of one run: whether"
        " bands hold is judged over many."
    )


def _choice(state: RunState) -> str:
    """Where the plans were offered first and one was chosen later."""
    plans = state.plans_of(FIRST_WORK)
    if plans.chosen is None or not state.begun:
        return ""
    return f"bursar run {shlex.quote(state.run)} --choose {shlex.quote(plans.chosen.name)}"


@cache
def _version() -> str:
    """It takes a file to be read."""
    return version("bursar")


def _about(state: RunState, now: Time, *, redact: bool) -> AboutRun:
    created = state.created
    assert created is not None  # noqa: S101
    options = created.made_with
    return AboutRun(
        run=state.run,
        events=state.events,
        policies=", ".join(f"{role} {entry}" for role, entry in created.policies.items()),
        prices=prices_text(state.market, first=False),
        seed=created.seed,
        began=created.began,
        command="" if redact else options.typed,
        then=_choice(state) if options.typed and not redact else "",
        template="" if redact else shown_command(state),
        version=_version(),
        python=platform.python_version(),
        promises=promises(state),
        accounts=account_rows(state, now),
    )
