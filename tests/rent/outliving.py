"""A provider whose machines outlive the process that rented them, as those of a cloud do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bursar.engine.renter import Down, FoundMachine, RenterNews, RentOrder, Survey, Up
from bursar.model.market import Offer
from bursar.model.time import SECOND, Time

LEAD = SECOND // 10


@dataclass
class Instance:
    machine: int
    up: Time
    until: Time


class Provider:
    """What is rented, by token, no matter who rented it."""

    def __init__(self) -> None:
        self.instances: dict[str, Instance] = {}
        self.made = 0


class OutlivingRenter:
    """A process that rents at the provider; several may, one after the other."""

    def __init__(self, provider: Provider, mark: str, now: Callable[[], Time]) -> None:
        self._provider = provider
        self._mark = mark
        self._now = now
        self._mine: dict[int, str] = {}
        self._reported_up: set[int] = set()
        self._news: list[RenterNews] = []

    def open(self, wake: Callable[[], None]) -> None:
        pass

    def lead(self, offer: Offer) -> Time:
        return LEAD

    def rent(self, orders: Sequence[RentOrder]) -> None:
        for machine, offer, until, token in orders:
            self._mine[machine] = token
            if token not in self._provider.instances:
                self._provider.made += 1
                up = self._now() + offer.boot
                self._provider.instances[token] = Instance(machine, up, until)

    def extend(self, machine: int, until: Time) -> None:
        instance = self._provider.instances.get(self._mine.get(machine, ""))
        if instance is not None and self._now() <= instance.until:
            instance.until = until

    def release(self, machines: Sequence[int]) -> None:
        for machine in machines:
            self._end(machine, "released")

    def survey(self) -> Survey:
        now, found = self._now(), []
        for token, instance in self._provider.instances.items():
            if token.startswith(f"{self._mark}/") and now < instance.until:
                self._mine[instance.machine] = token
                if instance.up <= now:
                    self._reported_up.add(instance.machine)
                found.append(FoundMachine(instance.machine, instance.up <= now))
        return Survey(found)

    def poll(self) -> Sequence[RenterNews]:
        now = self._now()
        for machine, token in list(self._mine.items()):
            instance = self._provider.instances.get(token)
            if instance is None:
                self._end(machine, "lost")
            elif now >= instance.until:
                self._end(machine, "expired")
            elif machine not in self._reported_up and now >= instance.up:
                self._reported_up.add(machine)
                self._news.append(Up(machine))
        news, self._news = self._news, []
        return news

    def next_poll(self) -> Time | None:
        if self._news:
            return 0
        return self._now() + SECOND // 100 if self._mine else None

    def close(self) -> None:
        self.release(list(self._mine))

    def _end(self, machine: int, cause: str) -> None:
        token = self._mine.pop(machine, None)
        if token is not None:
            instance = self._provider.instances.pop(token, None)
            at = self._now() if instance is None else min(self._now(), instance.until)
            self._news.append(Down(machine, cause, at))
