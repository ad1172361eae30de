"""A policy as bad as policies get: it wants everything, all the time, with nonsense between."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from bursar.engine.roles import Placer, Provisioner, Replicator
from bursar.model.time import SECOND, Time
from bursar.state.actions import Cancel, Extend, Release, Rent, Start, Stop, Wake
from bursar.state.view import Machine, View


class Hostile(Provisioner, Placer, Replicator):
    """An entry for all three roles, to try a guard, an engine or a world with."""

    def __init__(self, seed: int) -> None:
        self._rng = Random(seed)

    def provision(
        self, view: View, now: Time, rng: Random
    ) -> Iterable[Rent | Release | Wake | Stop]:
        accounts = ["", "nobody", *view.ledger.accounts]
        for offer in view.market.offers:
            count, account = self._rng.choice([1, 1, 3, 0, -7, 10**12]), self._rng.choice(accounts)
            yield from (Rent(offer.name), Rent(offer.name, count, account))
            yield from (Rent(offer.name, account=account) for _ in range(2))
        yield Rent("no such offer")
        if view.machines and self._rng.random() < 0.3:
            yield Release(self._rng.choice(list(view.machines)), at_once=self._rng.random() < 0.5)
        yield Release(10**6)
        yield Wake(now + self._rng.randrange(-SECOND, 60 * SECOND))

    def renew(self, machine: Machine, view: View, now: Time) -> Extend | Release:
        return Extend(self._rng.choice([machine.id, machine.id, machine.id + 1]))

    def place(self, view: View, now: Time, rng: Random) -> Iterable[Start]:
        tasks = [*view.ready, 0, -5, 10**9]
        for machine in (*[*view.idle][:9], 77):
            yield Start(self._rng.choice(tasks), machine, measure=self._rng.random() < 0.1)

    def replicate(self, view: View, now: Time, rng: Random) -> Iterable[Start | Cancel | Wake]:
        for attempt in list(view.attempts.values())[:5]:
            yield from (Start(attempt.task, machine) for machine in [*view.idle][:5])
        yield from (Cancel(a) for a in [*view.attempts, 99] if self._rng.random() < 0.2)
