"""Work that machines took away with them: which tasks, how often, and what it costs.

ExPERT's N (section 3) for fleets that follow demand: a task goes to unreliable machines, and after
so many losses to reliable ones. `ReliableRetries` lets any placer do so; autoscalers see to it that
reliable machines are there. Only where a market has machines of both pools is there a choice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from random import Random
from typing import Final

from bursar.engine.roles import Placer
from bursar.model.market import Market, Offer
from bursar.model.time import Time
from bursar.state.actions import Start
from bursar.state.attempts import CODES
from bursar.state.task_status import READY, RUNNING
from bursar.state.view import Machine, View

RETRIES: Final = 2
"""Losses of a task after which it goes to reliable machines: the N of ExPERT's strategies."""
_LOST: Final = CODES["lost"]


def has_both_pools(market: Market) -> bool:
    """Whether some machines are reliable and others are not."""
    return len({offer.pool for offer in market.offers}) > 1


class RepeatedLosses:
    """Tasks that unreliable machines lost often enough. Follows what changed: `look` first."""

    def __init__(self, most: int = RETRIES) -> None:
        self._most = most
        self._losses: Counter[int] = Counter()
        """by task that was lost, and less often than that"""
        self._enough: set[int] = set()
        """tasks that were lost so often, and some that have been settled since"""
        self._seen: int | None = None
        """the place in what changed from which on it is not known yet; None: nothing is"""

    def look(self, view: View) -> None:
        recent = view.changes.attempts
        before, self._seen = self._seen, recent.end
        changed = None if before is None else recent.since(before)
        if changed is None:  # too much has happened, or nothing was seen yet
            self._losses.clear()
            self._enough.clear()
        numbers = range(1, len(view.log) + 1) if changed is None else dict.fromkeys(changed)
        for number in numbers:
            if view.log.outcome[number] == _LOST and self._is_unreliable(number, view):
                self._count(view.log.task[number])
        self._enough = {task for task in self._enough if view.status[task] in (READY, RUNNING)}

    def _is_unreliable(self, attempt: int, view: View) -> bool:
        return view.market[view.offer_of(view.log.machine[attempt])].pool == "unreliable"

    def _count(self, task: int) -> None:
        self._losses[task] += 1
        if self._losses[task] >= self._most:
            del self._losses[task]
            self._enough.add(task)

    def __contains__(self, task: int) -> bool:
        return task in self._enough

    def __bool__(self) -> bool:
        return bool(self._enough)

    def of(self, account: str, view: View) -> list[int]:
        """Those of an account that are not done, the oldest first."""
        return sorted(one for one in self._enough if view.account_of(one) == account)


class ReliableRetries(Placer):
    """Another placer, but that tasks which were lost too often go to reliable machines.

    They go before others there, and wait for one while their account has any. Who decides where
    everything else goes is asked as always; tasks that must give way get the machines that these
    would have had. A placer that learns from events is not for it: it would see none.
    """

    def __init__(self, inner: Placer, most: int = RETRIES) -> None:
        self._inner = inner
        self.on_arrival, self.on_idle = inner.on_arrival, inner.on_idle
        self._lost = RepeatedLosses(most)

    def next_task(self, view: View, rng: Random) -> int | None:
        task = self._inner.next_task(view, rng)
        return None if task is None or task in self._lost else task

    def place(self, view: View, now: Time, rng: Random) -> Iterable[Start]:
        starts = list(self._inner.place(view, now, rng))
        self._lost.look(view)
        if not self._lost:
            return starts
        found: list[Start] = []
        for account in view.ledger.accounts:
            mine = [one for one in starts if view.machines[one.machine].account == account]
            lost = [task for task in self._lost.of(account, view) if task in view.ready]
            found += self._moved(mine, lost, account, view) if lost else mine
        return found

    def _moved(
        self, starts: list[Start], lost: list[int], account: str, view: View
    ) -> Iterator[Start]:
        """The starts of an account, with its lost tasks on reliable machines."""
        if not any(_is_safe(m) for m in view.machines.values() if m.account == account):
            yield from starts  # none is there, nor booting: what would it wait for
            return
        slots = [one.machine for one in starts]
        for number in _free_reliable(slots, account, view):
            if not lost:
                break
            yield Start(lost.pop(0), number)
            if number in slots:
                slots.remove(number)
        others = [one.task for one in starts if one.task not in self._lost]
        for task, number in zip(others, slots, strict=False):
            yield Start(task, number)


def _is_safe(machine: Machine) -> bool:
    return machine.offer.pool == "reliable" and not machine.leaving


def _free_reliable(slots: list[int], account: str, view: View) -> list[int]:
    """Free slots of reliable machines, first those that something was to begin on."""
    used = [number for number in slots if _is_safe(view.machines[number])]
    spare: list[int] = []
    for number in view.idle:
        machine = view.machines[number]
        if machine.account == account and _is_safe(machine):
            free = machine.offer.slots - len(machine.attempts) - used.count(number)
            spare += [number] * free
    return [*used, *spare]


def with_reliable(
    fleet: Mapping[str, int],
    slots: int,
    market: Market,
    most: Callable[[Offer], int | None],
) -> dict[str, int]:
    """The same fleet with so many reliable slots: unreliable machines make room for them."""
    found = dict(fleet)
    reliable = [offer for offer in market.offers if offer.pool == "reliable"]
    lacking = slots - sum(found.get(offer.name, 0) * offer.slots for offer in reliable)
    added = 0
    for offer in sorted(reliable, key=lambda one: one.price.nanos / (one.billing * one.slots)):
        there, limit = found.get(offer.name, 0), most(offer)
        more = max(0, -(-lacking // offer.slots))
        more = more if limit is None else min(more, max(0, limit - there))
        found[offer.name] = there + more
        lacking -= more * offer.slots
        added += more * offer.slots
    for offer in market.offers:
        if offer.pool == "unreliable":
            fewer = min(found.get(offer.name, 0), added // offer.slots)
            found[offer.name] = found.get(offer.name, 0) - fewer
            added -= fewer * offer.slots
    return found
