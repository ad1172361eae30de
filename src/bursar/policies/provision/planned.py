"""`planned`: the fleet of a plan that was chosen, for as long as it will do.

The user chose a fleet with its bounds, so it is rented and kept as it is. Every monitoring interval
it is checked, by what is known of run times by then, that its machines can do the tasks left within
the money and the deadline (section 2.2.3 of the BaTS thesis asks N_e <= N_p + Delta-N). Where they
cannot, `bats` takes over and decides again what the money is spent on.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Final

from bursar.beliefs.progress import Integers, Progress
from bursar.engine.roles import Provisioner
from bursar.model.fleet import Fleet
from bursar.model.time import Time
from bursar.policies.provision.bats_rolling import RollingBats, monitoring_interval
from bursar.policies.provision.fixed import Fixed
from bursar.state.actions import Extend, Release, Rent, Stop, Wake
from bursar.state.events import AnyEvent
from bursar.state.view import Machine, View

FOREVER: Final[Time] = 2**62


class Planned(Provisioner):
    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.progress = Progress()
        self._fixed = Fixed(fleet)
        self._bats = RollingBats(self.progress)
        self._next_look: Time = 0
        self.is_followed = True
        """False: the plan did not do, and `bats` has taken over"""

    def saw(self, event: AnyEvent, state: View) -> None:
        self.progress.saw(event, state)

    def provision(
        self, view: View, now: Time, rng: Random
    ) -> Iterable[Rent | Release | Wake | Stop]:
        if not self.is_followed:
            return self._bats.provision(view, now, rng)
        wishes = list(self._fixed.provision(view, now, rng))
        if not view.ready or now < self._next_look or any(isinstance(w, Rent) for w in wishes):
            return wishes
        self._next_look = now + monitoring_interval(view)
        if self._bats.keeps_course(view, now):
            return [*wishes, Wake(self._next_look)] if view.machines else wishes
        self.is_followed = False
        return self._bats.provision(view, now, rng)

    def renew(self, machine: Machine, view: View, now: Time) -> Extend | Release:
        way = self._fixed if self.is_followed else self._bats
        return way.renew(machine, view, now)

    @property
    def plans(self) -> int:
        """The first is that which was chosen."""
        return 0 if self.is_followed else 1 + self._bats.plans

    def stays_until(self, machine: Machine) -> Time:
        """Until when the plan keeps a machine, for the placer `fitting`."""
        return FOREVER if self.is_followed else self._bats.stays_until(machine)

    def expected_each(self, offer: str, elapsed: Integers) -> Integers | None:
        """`expected` of each that has run for so long."""
        return self.progress.expected_each(offer, elapsed)

    def expected(self, offer: str, elapsed: Time = 0) -> Time | None:
        """The run time of a task that has run for so long, for the placer `fitting`."""
        return self.progress.expected(offer, elapsed)
