"""Pools of unreliable machines: silent hosts, slow hosts, machines that are taken away.

Each is a behaviour over another one, which answers what the upper one leaves open; they can be
piled up. Nothing here depends on the order of calls: every attempt and every machine has draws of
its own, so that two policies with the same seed meet the same fate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

from bursar.model.time import Time
from bursar.simulate.world import Behaviour
from bursar.state.events import Outcome
from bursar.state.view import Machine

Draw = Callable[[Random], Time]
"""Draws a duration: a turnaround time, a life."""


def exponential(mean: Time) -> Draw:
    return lambda rng: 1 + round(rng.expovariate(1 / mean))


class Overlay:
    """A behaviour that leaves everything to the one below."""

    def __init__(self, below: Behaviour) -> None:
        self._below = below

    def attempt(
        self, task: int, attempt: int, machine: Machine, now: Time
    ) -> tuple[Time | None, Outcome]:
        return self._below.attempt(task, attempt, machine, now)

    def boot(self, machine: Machine) -> Time | None:
        return self._below.boot(machine)

    def life(self, machine: Machine) -> Time | None:
        return self._below.life(machine)

    def notice(self, machine: Machine) -> Time:
        return self._below.notice(machine)


class UnreliablePool(Overlay):
    """Attempts on unreliable offers by F(t, t') = F_s(t) gamma(t') (ExPERT, section 4.2).

    An attempt that is started at t' returns a result with probability gamma(t'), after a turnaround
    time drawn from F_s; else nothing is ever heard of it. Reliable offers are left to the behaviour
    below.
    """

    def __init__(
        self,
        below: Behaviour,
        *,
        reliability: float | Callable[[Time], float] = 1.0,
        turnaround: Draw | None = None,
        slowness: Callable[[Random], float] | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(below)
        self._reliability = reliability
        """gamma, for ever or by the time at which an attempt is started"""
        self._turnaround = turnaround
        """F_s; None: what the behaviour below says"""
        self._slowness = slowness
        """of a machine, drawn once: 2.0 takes twice the time; None: they are as they are offered"""
        self._seed = seed

    def attempt(
        self, task: int, attempt: int, machine: Machine, now: Time
    ) -> tuple[Time | None, Outcome]:
        if machine.offer.pool == "reliable":
            return super().attempt(task, attempt, machine, now)
        rng = Random(f"{self._seed}/attempt {attempt}")
        gamma = self._reliability(now) if callable(self._reliability) else self._reliability
        if rng.random() >= gamma:
            return None, "lost"
        if self._turnaround is None:
            runtime, outcome = super().attempt(task, attempt, machine, now)
        else:
            runtime, outcome = self._turnaround(rng), "success"
        if runtime is None or self._slowness is None:
            return runtime, outcome
        slow = self._slowness(Random(f"{self._seed}/speed {machine.id}"))
        return max(1, round(runtime * slow)), outcome


class MortalMachines(Overlay):
    """Machines live as long as is drawn for their offer, and their loss may be announced."""

    def __init__(
        self, below: Behaviour, lives: Mapping[str, Draw], *, notice: Time = 0, seed: int = 0
    ) -> None:
        super().__init__(below)
        self._lives = lives
        """by offer; others are left to the behaviour below"""
        self._notice = notice
        self._seed = seed

    def life(self, machine: Machine) -> Time | None:
        draw = self._lives.get(machine.offer.name)
        if draw is None:
            return super().life(machine)
        return max(1, draw(Random(f"{self._seed}/life {machine.id}")))

    def notice(self, machine: Machine) -> Time:
        known = machine.offer.name in self._lives
        return self._notice if known else super().notice(machine)


class LostTogether(Overlay):
    """Machines of one type in one zone are all taken away at the same moments.

    The moments are drawn for each kind, so that a machine lives for `mean_life` on average, as if
    it were alone.
    """

    def __init__(
        self, below: Behaviour, mean_life: Time, *, notice: Time = 0, seed: int = 0
    ) -> None:
        super().__init__(below)
        self._mean_life = mean_life
        self._notice = notice
        self._seed = seed
        self._moments: dict[str, tuple[Random, list[Time]]] = {}
        """by kind, what draws them, and those so far"""

    def life(self, machine: Machine) -> Time | None:
        offer = machine.offer
        if offer.pool == "reliable":
            return super().life(machine)
        kind = f"{offer.machine_type}/{offer.zone}"
        if kind not in self._moments:
            self._moments[kind] = Random(f"{self._seed}/together {kind}"), [0]
        rng, moments = self._moments[kind]
        while moments[-1] <= machine.rented:
            moments.append(moments[-1] + exponential(self._mean_life)(rng))
        return next(moment for moment in moments if moment > machine.rented) - machine.rented

    def notice(self, machine: Machine) -> Time:
        is_here = machine.offer.pool == "unreliable"
        return self._notice if is_here else super().notice(machine)
