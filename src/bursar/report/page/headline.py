"""The sentence at the top of a page, and its five figures."""

from __future__ import annotations

import time
from fractions import Fraction
from typing import Final, Literal

import msgspec

from bursar.model.fleet import format_fleet
from bursar.model.money import NANOS, Money
from bursar.model.text import counted
from bursar.model.time import HOUR, SECOND, Time, seconds
from bursar.report.page.forecasts import RestForecast
from bursar.report.page.numbers import amount, duration, moment, share
from bursar.report.summary import refill_text
from bursar.state.digest import Digest, digest_of
from bursar.state.state import RunState

Tone = Literal["good", "warn", "bad", "wait"]
SURE: Final = 0.99
LIKELY: Final = 0.5
_ENDED: Final = {
    "done": "Done",
    "failed": "Ended",
    "budget": "Stopped by its budget",
    "deadline": "Stopped by its deadline",
    "interrupted": "Interrupted",
    "planned": "Planned",
}


class PageVerdict(msgspec.Struct, frozen=True):
    tone: Tone
    text: str
    more: str = ""


class PageTile(msgspec.Struct, frozen=True, omit_defaults=True):
    """One figure; a bar has parts of 1, by the name of a state."""

    id: str
    label: str
    value: str
    unit: str = ""
    more: str = ""
    alert: str = ""
    """what comes first below, in the colour of failures"""
    bar: dict[str, float] = {}
    exact: str = ""


class Headline:
    """What is known of a run at a moment; `is_live`: a process executes it."""

    def __init__(
        self,
        state: RunState,
        now: Time,
        forecast: RestForecast | None,
        *,
        is_live: bool,
        useful: Fraction,
    ) -> None:
        self._state, self._now, self._forecast = state, now, forecast
        self._is_live = is_live
        self._useful = useful
        """of the money, the part that was useful"""
        self._digest: Digest = digest_of(state)
        self._currency = state.market.currency

    # --- the sentence ----------------------------------------------------------------------------

    def verdict(self) -> PageVerdict:
        digest = self._digest
        if digest.status is not None:
            return self._ended(digest)
        if not self._is_live:
            text = f"Abandoned: {self._done()}{self._for_money()}. No process executes it."
            return PageVerdict("warn", text, self._resume())
        if digest.refill_awaited is not None:
            waits = refill_text(digest.began, digest.refill_awaited)
            return PageVerdict("wait", f"{waits.capitalize()}.", self._at_work())
        forecast = self._forecast
        if self._state.stopping is not None:
            return PageVerdict(
                "wait", f"Stopping: {self._done()}{self._for_money()}.", self._at_work()
            )
        if forecast is None:
            return PageVerdict("wait", self._early(), self._at_work())
        rest = max(0, seconds(forecast.end[1]) - self._now)
        ends = f"ends in {duration(rest)}{self._forecast_money(forecast)}"
        tone, word = self._course(forecast)
        failed = f" {counted(digest.failed, 'task')} failed for good." if digest.failed else ""
        return PageVerdict(tone, f"{word}: {ends}.{failed}", self._at_work())

    def _course(self, forecast: RestForecast) -> tuple[Tone, str]:
        chance = forecast.chance
        if chance is not None and chance < LIKELY:
            return "bad", "Off course"
        if chance is not None and chance < 0.9:
            return "warn", "At risk"
        return ("warn" if self._digest.failed else "good"), "On course"

    def _early(self) -> str:
        state = self._state
        if not state.total:
            return "Waiting for work."
        if not state.machines:
            return f"Begins: {counted(state.total, 'task')}, no machine yet."
        booting = sum(machine.up is None for machine in state.machines.values())
        if booting == len(state.machines):
            return f"{counted(booting, 'machine')} boot{'s' if booting == 1 else ''}."
        return f"Too early to tell: {self._done()}{self._for_money()}."

    def _ended(self, digest: Digest) -> PageVerdict:
        word = _ENDED[digest.status or "done"]
        took = f" in {duration(digest.elapsed)}" if digest.status == "done" else ""
        text = f"{word}: {self._done()}{took}{self._for_money()}"
        bad = []
        if digest.failed:
            bad.append(f"{counted(digest.failed, 'task')} failed")
        if digest.blocked:
            bad.append(f"{digest.blocked:,} never began")
        text += f"; {', '.join(bad)}." if bad else "."
        tone: Tone = "good" if digest.status in ("done", "planned") else "warn"
        tone = "bad" if digest.status == "failed" else tone
        more = digest.why
        if digest.status == "planned" and digest.done:
            more = f"Choose a plan: bursar run {digest.run} with a choice."
        return PageVerdict(tone, text, more)

    def _done(self) -> str:
        digest = self._digest
        return f"{digest.done:,} of {counted(digest.total, 'task')} done"

    def _for_money(self) -> str:
        if self._digest.is_free:
            return ", free of charge"
        money = amount(self._digest.committed, self._currency)
        return f" for {money}{self._of_budget()}"

    def _of_budget(self) -> str:
        budget = self._total_budget
        return "" if budget is None else f" of {amount(budget, self._currency)}"

    @property
    def _total_budget(self) -> Money | None:
        """None: there is none, or it is one per interval, or users have such ones."""
        several = self._state.goal.accounts
        if self._digest.interval is not None or any(one.budget is None for one in several):
            return None
        is_renewed = any(one.budget is not None and one.budget.every for one in several)
        return None if is_renewed else self._digest.budget

    def _forecast_money(self, forecast: RestForecast) -> str:
        if self._digest.is_free:
            return ""
        cost = amount(Fraction(forecast.cost[1]), self._currency)
        return f", for {cost}{self._of_budget()}"

    def _resume(self) -> str:
        return (
            "" if self._digest.is_of_calls else f"Continue with: bursar resume {self._digest.run}"
        )

    def _at_work(self) -> str:
        state = self._state
        fleet = {name: count for name, count in state.fleet.items() if count}
        running = len(state.live_of)
        waiting = len(state.ready) + state.waiting
        machines = f"{format_fleet(fleet)} at work" if fleet else "No machine"
        return f"{machines}, {counted(running, 'task')} running, {waiting:,} waiting."

    # --- the tiles -------------------------------------------------------------------------------

    def tiles(self) -> list[PageTile]:
        return [self._tasks(), self._money(), self._time(), self._chance(), self._rate()]

    def _tasks(self) -> PageTile:
        digest, state = self._digest, self._state
        total = max(1, digest.total)
        running = len(state.live_of)
        bar = {
            "useful": digest.done / total,
            "failed": (digest.failed + digest.blocked) / total,
            "running": running / total,
        }
        to_go = digest.total - digest.settled - running
        parts = [f"{running:,} running", f"{to_go:,} to go"] if digest.status is None else []
        parts += [f"{digest.blocked:,} never began"] if digest.blocked else []
        parts += [f"{digest.cancelled:,} cancelled"] if digest.cancelled else []
        if digest.status is not None and to_go > 0:
            parts.append(f"{to_go:,} not done")
        alert = f"× {digest.failed:,} failed" if digest.failed else ""
        more = " · ".join(parts) or ("" if digest.failed else "none failed")
        unit = f"of {digest.total:,}"
        return PageTile("tasks", "Tasks done", f"{digest.done:,}", unit, more, alert, bar)

    def _money(self) -> PageTile:
        digest, currency, budget = self._digest, self._currency, self._total_budget
        if digest.is_free:
            return PageTile("money", "Committed", "free", "of charge", "nothing here costs money")
        committed = amount(digest.committed, currency)
        unit = "no budget" if budget is None else f"of {amount(budget, currency)}"
        if self._state.goal.accounts and budget is None:
            unit = "in all"
        more, bar = "", dict[str, float]()
        if digest.interval is not None and digest.budget is not None:
            now = amount(digest.interval.committed, currency)
            unit = "in all"
            cap = f"{amount(digest.budget, currency)} per {duration(digest.interval.every)}"
            more = f"{now} of {cap} in this interval"
        elif self._forecast is not None and digest.status is None:
            middle, high = (amount(Fraction(one), currency) for one in self._forecast.cost[1:])
            more = f"will be {middle}, P90 {high}"
        elif budget is not None:
            more = f"{amount(budget - digest.committed, currency)} not spent"
        if budget:
            bar = {"ink": min(1.0, digest.committed.nanos / budget.nanos)}
            if self._forecast is not None and digest.status is None:
                ahead = self._forecast.cost[1] * NANOS / budget.nanos
                bar["forecast"] = max(0.0, min(1.0, ahead) - bar["ink"])
        exact = f"{digest.committed} {currency}"
        return PageTile("money", "Committed", committed, unit, more, "", bar, exact)

    def _time(self) -> PageTile:
        state, digest, goal = self._state, self._digest, self._state.goal
        deadline = goal.deadline
        until = "no deadline" if deadline is None else f"deadline at {moment(deadline)}"
        if digest.status is not None or not self._is_live:
            promise = digest.promise
            unit = "" if promise is None else f"plan {duration(promise.makespan_p50)}"
            value = duration(digest.makespan if promise is not None else digest.elapsed)
            if promise is not None and digest.elapsed - digest.makespan >= SECOND:  # after a sample
                until = f"from the choice on; {until}"
            return PageTile("time", "Took", value, unit, until)
        if deadline is not None:
            left = deadline - self._now
            until = f"deadline in {duration(left)}" if left >= 0 else "past the deadline"
        if self._forecast is None:
            return PageTile("time", "Ends in", "–", "", until)
        middle, high = (max(0, seconds(one) - self._now) for one in self._forecast.end[1:])
        began = 0.0 if state.created is None else state.created.began
        clock = time.strftime("%H:%M:%S", time.localtime(began + self._forecast.end[1]))
        bar = dict[str, float]()
        if deadline:
            bar = {"ink": min(1.0, self._now / deadline)}
            bar["forecast"] = max(
                0.0, min(1.0, self._forecast.end[1] * SECOND / deadline) - bar["ink"]
            )
        more = f"at {clock} · {until}" if began else until
        unit = f"P90 {duration(high)}"
        return PageTile("time", "Ends in", duration(middle), unit, more, "", bar)

    def _chance(self) -> PageTile:
        digest, goal = self._digest, self._state.goal
        if digest.status is not None or not self._is_live:
            return self._promise(digest)
        has_both = goal.deadline is not None and goal.total_budget is not None
        what = "both" if has_both else "the deadline" if goal.deadline is not None else "the budget"
        label = f"Chance to keep {what}"
        if self._forecast is None or self._forecast.chance is None:
            why = "too early to tell" if self._forecast is None else "no limit is set"
            return PageTile("chance", label, "–", "", why)
        return PageTile(
            "chance",
            label,
            share(self._forecast.chance),
            "",
            f"by {counted(self._forecast.draws, 'simulation')} of what is left",
        )

    def _promise(self, digest: Digest) -> PageTile:
        promise = digest.promise
        if promise is None:
            value, of_money = share(self._useful), "of the money was useful"
            return PageTile("chance", "Useful", "–" if digest.is_free else value, "", of_money)
        cost = digest.committed - promise.committed_before
        at_most = (
            f"{duration(promise.makespan_upper)} and {amount(promise.cost_upper, self._currency)}"
        )
        if digest.settled < digest.total:
            return PageTile("chance", "Promise of the plan", "not judged", "", f"at most {at_most}")
        kept = digest.makespan <= promise.makespan_upper and cost <= promise.cost_upper
        value = "kept" if kept else "broken"
        return PageTile("chance", "Promise of the plan", value, "", f"at most {at_most}")

    def _rate(self) -> PageTile:
        digest, state, currency = self._digest, self._state, self._currency
        each = (
            f"{amount(Fraction(digest.committed.nanos, NANOS * digest.done), currency)} a task"
            if digest.done
            else "no task done yet"
        )
        if digest.is_free:
            return PageTile("rate", "Money per hour", "–", "", "free of charge")
        if digest.status is not None or not self._is_live:
            value = each.removesuffix(" a task") if digest.done else "–"
            over = f"over {counted(digest.done, 'task')} done"
            if digest.promise is not None:
                over = f"{share(self._useful)} of the money was useful"
            return PageTile("rate", "Money per task", value, "", over)
        rate = sum(
            (
                Fraction(machine.offer.price.nanos * HOUR, NANOS * machine.offer.billing)
                for machine in state.machines.values()
            ),
            Fraction(0),
        )
        more = f"{counted(len(state.machines), 'machine')} · {each}"
        return PageTile("rate", "Money per hour", amount(rate, currency), "/h", more)
