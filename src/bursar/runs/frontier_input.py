"""What strategies are searched for: a bag and two pools, by options, a market, a history."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.beliefs.pool import FEWEST, Characterisation
from bursar.formats.files import read_text
from bursar.formats.history import read_history
from bursar.formats.market import read_market
from bursar.journal.runs import Home
from bursar.model.amount import parse_amount
from bursar.model.errors import InputError, shown
from bursar.model.market import Market
from bursar.model.money import ZERO, Money
from bursar.model.text import counted
from bursar.model.time import HOUR, Time, parse_duration
from bursar.plan.bag.plans import known_runtimes
from bursar.plan.pools.estimator import NOTHING, Conditions, Price
from bursar.plan.pools.split import PoolSizes, two_pools

Integers = NDArray[np.int64]

USUAL_SHARE: Final = 10
"""One reliable machine for so many unreliable ones, where neither user nor market says more."""
MOST_MACHINES: Final = 10_000


class Options(msgspec.Struct, frozen=True):
    """As the user wrote them; what is given beats the market and the history."""

    tasks: int
    market: str | None = None
    reliable_offer: str | None = None
    unreliable: int | None = None
    reliable: int | None = None
    reliability: float | None = None
    turnaround: str | None = None
    history: str | None = None
    reliable_time: str | None = None
    unreliable_price: str | None = None
    reliable_price: str | None = None
    faithful: bool = False


class Known(msgspec.Struct, frozen=True):
    """What the estimates are made of."""

    conditions: Conditions
    reliable: int
    """machines at most"""
    market: Market | None
    learned: Characterisation | None
    """from the history"""

    @property
    def ratio(self) -> float:
        return self.reliable / self.conditions.unreliable


def what_is_known(options: Options, home: Home) -> Known:
    """Put together what is given, or say in a line what is missing."""
    market = None if options.market is None else read_market(options.market)
    if market is None and options.reliable_offer is not None:
        raise InputError("--reliable-offer names an offer of a market; give --market, too")
    pools = None if market is None else two_pools(market, options.reliable_offer)
    given = None if options.turnaround is None else _turnarounds(options.turnaround)
    learned = _learned(options.history, home, market, given)
    times = _times(given, learned)
    unreliable = _unreliable(options, pools, learned)
    conditions = Conditions(
        tasks=options.tasks,
        unreliable=unreliable,
        reliability=_reliability(options, learned),
        turnarounds=times,
        reliable_time=_reliable_time(options, pools, learned, times),
        unreliable_price=_unreliable_price(options, pools, market),
        reliable_price=_reliable_price(options, pools, market),
        is_real=not options.faithful,
        losses=NOTHING if learned is None or options.faithful else learned.losses,
    )
    return Known(conditions, _reliable(options, pools, unreliable), market, learned)


# --- the unreliable pool -------------------------------------------------------------------------


def _learned(
    source: str | None, home: Home, market: Market | None, given: Integers | None
) -> Characterisation | None:
    if source is None:
        return None
    earlier = read_history(source, home, market)
    results = len(earlier.history.turnarounds())
    if results < FEWEST and given is None:
        raise InputError(
            f"{earlier.source}: {counted(results, 'result')} of unreliable machines to learn from;"
            f" at least {FEWEST} are needed, or --turnaround"
        )
    return earlier.characterise(given)


def _times(given: Integers | None, learned: Characterisation | None) -> Integers:
    if given is not None:
        return given
    if learned is not None:
        return learned.turnarounds
    raise InputError("turnaround times are missing: add --turnaround 35m~10m or --history LOG")


def _reliability(options: Options, learned: Characterisation | None) -> float:
    if options.reliability is not None:
        return options.reliability
    if learned is not None:
        return learned.gamma.after
    raise InputError("the reliability is missing: add --reliability 0.8 or --history LOG")


def _unreliable(options: Options, pools: PoolSizes | None, learned: Characterisation | None) -> int:
    """Machines: as given, or as many as the market has, or as there were."""
    count = options.unreliable
    if count is None and pools is not None:
        count = pools.unreliable
    if count is None and learned is not None:
        count = learned.machines
    if count is None:
        raise InputError("the number of unreliable machines is missing: add --unreliable 50")
    if count > MOST_MACHINES:
        raise InputError(
            f"{counted(count, 'unreliable machine')} in the market; give the number to use, at most"
            f" {MOST_MACHINES:,}: --unreliable 50"
        )
    return count


def _unreliable_price(options: Options, pools: PoolSizes | None, market: Market | None) -> Price:
    if options.unreliable_price is not None:
        return parse_price(options.unreliable_price, market)
    if pools is not None:
        return Price(pools.unreliable_rate.amount, pools.unreliable_rate.period)
    return Price(ZERO, HOUR)


# --- the reliable pool ---------------------------------------------------------------------------


def _reliable(options: Options, pools: PoolSizes | None, unreliable: int) -> int:
    """The most machines: as given, or as many as the market has, or a tenth of the others."""
    if options.reliable is not None:
        if options.reliable > unreliable:
            raise InputError(
                f"{options.reliable} reliable machines beside {unreliable} unreliable; use no more"
            )
        return options.reliable
    if pools is not None and pools.reliable is not None:
        return min(pools.reliable, unreliable)
    return max(1, unreliable // USUAL_SHARE)


def _reliable_time(
    options: Options, pools: PoolSizes | None, learned: Characterisation | None, times: Integers
) -> Time:
    """As given, or as it was, or the mean turnaround time by what the market says of speeds."""
    if options.reliable_time is not None:
        return parse_duration(options.reliable_time)
    if learned is not None and learned.reliable_time is not None:
        return max(1, learned.reliable_time)
    speedup = 1.0 if pools is None else pools.speedup
    return max(1, round(float(np.mean(times)) / speedup))


def _reliable_price(options: Options, pools: PoolSizes | None, market: Market | None) -> Price:
    if options.reliable_price is not None:
        return parse_price(options.reliable_price, market)
    if pools is not None:
        return Price(pools.reliable_rate.amount, pools.reliable_rate.period)
    raise InputError(
        "the price of reliable machines is missing: add --reliable-price 0.34/h/s or --market FILE"
    )


# --- reading -------------------------------------------------------------------------------------


def _turnarounds(text: str) -> Integers:
    """Read `35m`, `35m~10m`, or a file with a duration on each line."""
    mean, sign, deviation = text.partition("~")
    try:
        took, spread = parse_duration(mean), parse_duration(deviation) if sign else 0
    except InputError:
        if sign:
            raise
        lines = read_text(text, "file of turnaround times").split("\n")
        return _sample(_durations(lines, text), text)
    if took < 1:
        raise InputError("--turnaround: a time of 0; write for example 35m~10m")
    return known_runtimes(took, spread)


def _durations(lines: Sequence[str], path: str) -> Iterator[Time]:
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield parse_duration(line)
            except InputError as error:
                raise InputError(f"{path}, line {number}: {error}") from None


def _sample(times: Iterator[Time], path: str) -> Integers:
    found = np.sort(np.maximum(1, np.array(list(times), dtype=np.int64)))
    if len(found) < FEWEST:
        raise InputError(
            f"{path}: {counted(len(found), 'result')} to learn from; at least {FEWEST} are needed"
        )
    return found


def money_of(text: str, market: Market | None) -> Money:
    """An amount, in the currency of the market if there is one."""
    amount = parse_amount(text)
    return amount.money if market is None else amount.within(market.currency)


def parse_price(text: str, market: Market | None = None) -> Price:
    """Read `0.34/h`, charged for each hour begun, or `0.34/h/s`, by the hour but by the second.

    What a second costs is rounded up to a billionth. A currency must be that of the market.
    """
    amount, *units = text.split("/")
    if len(units) not in (1, 2):
        raise InputError(f"{shown(text)} is not a price; write for example 0.34/h or 0.34/h/s")
    money = money_of(amount, market)
    unit, period = parse_duration(units[0]), parse_duration(units[-1])
    if min(unit, period) < 1:
        raise InputError(f"{shown(text)}: a price for a time of 0; write for example 0.34/h")
    return Price(Money(-(-money.nanos * period // unit)), period)
