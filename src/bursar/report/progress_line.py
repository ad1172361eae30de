"""One line of a run that goes on: tasks done, money committed, machines, expected end."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Final

from bursar.model.budget_text import format_budget
from bursar.model.fleet import format_fleet
from bursar.model.goal import Budget
from bursar.model.money import format_money
from bursar.model.text import counted, printable
from bursar.model.time import SECOND, Time, format_duration
from bursar.report.forecast import Forecast
from bursar.report.summary import refill_text
from bursar.state.digest import interval_money, refill_awaited
from bursar.state.state import RunState

_BAR: Final = 24
_SHORT_BAR: Final = 10
_BETWEEN: Final = "   "


def line(state: RunState, forecast: Forecast, width: int) -> str:
    """What matters most, as far as there is room for it."""
    from rich.cells import cell_len, set_cell_size

    count = f"{state.settled:,}/{state.total:,}"
    for parts in _versions(state, forecast, count):
        text = printable(_BETWEEN.join(part for part in parts if part))
        if cell_len(text) <= width:
            return text
    return text if cell_len(text) <= width else set_cell_size(text, max(0, width)).rstrip()


def _versions(state: RunState, forecast: Forecast, count: str) -> Iterator[Sequence[str]]:
    """The line, shorter and shorter: first the bar gives way, then what can be asked for later."""
    failed = f"{state.failed:,} failed" if state.failed else ""
    machines = dict(state.fleet)  # a copy: another thread draws than drives the run
    waits, fleet = _awaited(state), format_fleet(machines)
    many = counted(sum(machines.values()), "machine")
    end, remaining = _end(forecast, state)
    money, committed = _money(state, budget=True), _money(state, budget=False)
    yield [f"{count} {_bar(state, _BAR)}", waits, money, failed, end, fleet]
    yield [f"{count} {_bar(state, _SHORT_BAR)}", waits, money, failed, end, fleet]
    yield [f"{count} {_bar(state, _SHORT_BAR)}", waits, money, failed, end, many]
    yield [f"{count} {_bar(state, _SHORT_BAR)}", waits, money, failed, remaining, many]
    yield [count, waits, money, failed, remaining]
    yield [count, waits, committed, failed, remaining]
    yield [count, waits, committed, failed]
    yield [count, waits or committed]
    yield [count]


def _bar(state: RunState, length: int) -> str:
    full = round(length * state.settled / max(1, state.total))
    return "#" * full + "." * (length - full)


def _awaited(state: RunState) -> str:
    """While a run stops, or sleeps until there is money: what it waits for."""
    if state.stopping is None:
        refill = refill_awaited(state)
        began = 0.0 if state.created is None else state.created.began
        return "" if refill is None else refill_text(began, refill)
    running = {attempt.task for attempt in list(state.attempts.values())}
    if running and not state.stopping.now:
        return f"stopping, waiting for {counted(len(running), 'task')} to finish"
    if state.machines:
        return f"stopping, releasing {counted(len(state.machines), 'machine')}"
    return "stopping"


def _end(forecast: Forecast, state: RunState) -> tuple[str, str]:
    """When the run will end, with the clock and without."""
    remaining = None if state.stopping is not None else _remaining(forecast, state)
    if remaining is None:
        return "", ""
    end = time.strftime("%H:%M:%S", time.localtime(time.time() + remaining / SECOND))
    left = format_duration(remaining)
    return f"ends {end} (in {left})", f"ends in {left}"


def _remaining(forecast: Forecast, state: RunState) -> Time | None:
    """By the last simulations of what is left, where there are some."""
    made = state.forecasts[-1] if state.forecasts else None
    if made is not None and made.at >= state.periods[-1][0]:
        return max(0, made.end[1] - state.now)
    return forecast.remaining(state)


def _money(state: RunState, *, budget: bool) -> str:
    if state.market.is_free:
        return ""
    currency, cap = state.market.currency, state.ledger.budget
    total, interval = format_money(state.ledger.committed, currency), interval_money(state)
    committed = f"{total} committed"
    if not budget or not cap or len(state.ledger.accounts) > 1:
        return committed
    if interval is None:
        return f"{committed} of {format_money(cap, currency)}"
    now = format_money(interval.committed, currency)
    return (
        f"{now} committed of {format_budget(Budget(cap, interval.every), currency)}, {total} in all"
    )
